"""Single operations: the cases of ops.json, and the class every case is made with."""
import math

import numpy as np
import torch
import torch.nn.functional as F

from rules import MADE_WITH, ORDINAL_OPS, classes, numbers, unit


class Case:
    """One operation: draws its tensors from its own ordinals and collects inputs, outputs and gradients."""

    def __init__(self, number_of_case: int, dtype: torch.dtype, op: str, **attributes: object):
        self.base, self.drawn, self.dtype = ORDINAL_OPS + 10 * number_of_case, 0, dtype
        self.row: dict = {"op": op, **attributes}
        self.inputs: dict[str, torch.Tensor] = {}

    def put(self, name: str, t: torch.Tensor) -> None:
        flat = numbers(t) if t.is_floating_point() else t.reshape(-1).tolist()
        self.row[name] = {"shape": list(t.shape), "value": flat}

    def draw(self, name: str, *shape: int, scale: float = 1.0, plus: float = 0.0) -> torch.Tensor:
        """Multiples of 1/64 in [-1, 1), times scale: short in the file, exact in both types."""
        v = np.floor(unit(self.base + self.drawn, math.prod(shape)) * 128.0) / 64.0 - 1.0
        t = torch.from_numpy(v * scale + plus).reshape(shape).to(torch.float32).to(self.dtype)
        return self.take(name, t)

    def draw_levels(self, name: str, *shape: int) -> torch.Tensor:
        """Values -1, 0, 1: many ties and zeros."""
        t = classes(self.base + self.drawn, math.prod(shape), 3).reshape(shape).to(self.dtype) - 1.0
        return self.take(name, t)

    def take(self, name: str, t: torch.Tensor) -> torch.Tensor:
        self.drawn += 1
        self.put(name, t)
        if name != "grad_out":
            self.inputs[name] = t.requires_grad_()
        return t

    def finish(self, out: torch.Tensor) -> dict:
        """Gradients of sum(out * grad_out), or of out itself where it is one number."""
        self.put("out", out)
        if out.dim() == 0:
            out.backward()
        else:
            out.backward(self.draw("grad_out", *out.shape))
        for name, t in self.inputs.items():
            self.put("grad_" + name, t.grad)
        return self.row


def conv_case(i: int, dtype: torch.dtype, x: tuple, w: tuple, stride: int, padding: int, bias: bool) -> dict:
    c = Case(i, dtype, "conv2d", stride=stride, padding=padding)
    xt, wt = c.draw("x", *x), c.draw("weight", *w)
    bt = c.draw("bias", w[0]) if bias else None
    return c.finish(F.conv2d(xt, wt, bt, stride=stride, padding=padding))


def linear_case(i: int, dtype: torch.dtype, rows: int, n_in: int, n_out: int, bias: bool) -> dict:
    c = Case(i, dtype, "linear")
    xt, wt = c.draw("x", rows, n_in), c.draw("weight", n_out, n_in)
    return c.finish(F.linear(xt, wt, c.draw("bias", n_out) if bias else None))


def batch_norm_case(i: int, dtype: torch.dtype, shape: tuple) -> dict:
    c = Case(i, dtype, "batch_norm", momentum=0.1, eps=1e-5)
    ch = shape[1]
    xt = c.draw("x", *shape, plus=0.25)
    wt, bt = c.draw("weight", ch, scale=0.1, plus=1.0), c.draw("bias", ch, scale=0.1)
    mean, var = torch.zeros(ch, dtype=dtype), torch.ones(ch, dtype=dtype)
    out = F.batch_norm(xt, mean, var, wt, bt, training=True, momentum=0.1, eps=1e-5)
    row = c.finish(out)
    c.put("running_mean", mean)
    c.put("running_var", var)
    with torch.no_grad():
        c.put("out_eval", F.batch_norm(xt, mean, var, wt, bt, training=False, eps=1e-5))
    return row


def pool_case(i: int, dtype: torch.dtype, shape: tuple, kernel: int, stride: int, padding: int, ties: bool) -> dict:
    c = Case(i, dtype, "max_pool2d", kernel=kernel, stride=stride, padding=padding, ties=ties)
    xt = c.draw_levels("x", *shape) if ties else c.draw("x", *shape)
    return c.finish(F.max_pool2d(xt, kernel, stride, padding))


def cross_entropy_case(i: int, dtype: torch.dtype, rows: int, n: int, scale: float) -> dict:
    c = Case(i, dtype, "cross_entropy")
    xt = c.draw("x", rows, n, scale=scale)
    target = classes(c.base + c.drawn, rows, n)
    c.put("target", target)
    return c.finish(F.cross_entropy(xt, target))


def mse_case(i: int, dtype: torch.dtype, rows: int, n: int) -> dict:
    c = Case(i, dtype, "mse")
    xt = c.draw("x", rows, n)
    target = c.draw("target", rows, n)
    del c.inputs["target"]
    return c.finish(F.mse_loss(xt, target.detach()))


def relu_case(i: int, dtype: torch.dtype, shape: tuple) -> dict:
    c = Case(i, dtype, "relu")
    return c.finish(F.relu(c.draw_levels("x", *shape)))


OPS = [  # case number = place in this list
    (conv_case, dict(x=(2, 3, 5, 4), w=(3, 3, 3, 3), stride=1, padding=1, bias=True)),
    (conv_case, dict(x=(3, 2, 5, 4), w=(3, 2, 3, 3), stride=2, padding=1, bias=False)),
    (conv_case, dict(x=(1, 1, 9, 7), w=(3, 1, 5, 5), stride=1, padding=0, bias=True)),
    (conv_case, dict(x=(1, 3, 6, 7), w=(2, 3, 3, 3), stride=2, padding=0, bias=True)),
    (conv_case, dict(x=(2, 3, 3, 3), w=(5, 3, 1, 1), stride=1, padding=0, bias=True)),
    (conv_case, dict(x=(1, 2, 5, 6), w=(3, 2, 3, 3), stride=3, padding=2, bias=False)),
    (linear_case, dict(rows=5, n_in=7, n_out=3, bias=True)),
    (linear_case, dict(rows=3, n_in=5, n_out=9, bias=False)),
    (batch_norm_case, dict(shape=(3, 3, 3, 3))),
    (batch_norm_case, dict(shape=(5, 3, 1, 1))),
    (pool_case, dict(shape=(2, 3, 7, 5), kernel=2, stride=2, padding=0, ties=False)),
    (pool_case, dict(shape=(1, 3, 7, 6), kernel=3, stride=2, padding=1, ties=False)),
    (pool_case, dict(shape=(2, 3, 7, 5), kernel=2, stride=2, padding=0, ties=True)),
    (pool_case, dict(shape=(1, 3, 7, 6), kernel=3, stride=2, padding=1, ties=True)),
    (cross_entropy_case, dict(rows=5, n=7, scale=1.0)),
    (cross_entropy_case, dict(rows=3, n=5, scale=100.0)),
    (mse_case, dict(rows=7, n=1)),
    (mse_case, dict(rows=5, n=3)),
    (relu_case, dict(shape=(3, 7))),
]


def op_values(dtype: torch.dtype) -> dict:
    return {"dtype": str(dtype).removeprefix("torch."), "made_with": MADE_WITH,
            "cases": [{"case": i, **make(i, dtype, **args)} for i, (make, args) in enumerate(OPS)]}
