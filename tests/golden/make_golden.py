"""Writes the golden values of this folder: what PyTorch computes for fugue's networks, optimisers and operations.

What it writes (README.md of this folder is the manual: rules of inputs and weights, keys, tolerances):
    NET.json, NET_f64.json      mlp, mlp64, lenet, simplecnn, digits_cnn: logits, loss, gradients, three SGD steps
    optimisers.json             parameter vectors after each of five steps, float64 and float32 beside each other
    ops.json, ops_f64.json      single operations with inputs, outputs and gradients inline
    init_moments.json           how PyTorch initialises each tensor: distribution, bound, mean, standard deviation

How to run (a virtual environment outside the tree with `pip install torch`; the CPU is enough, a few seconds):
    python3 tests/golden/make_golden.py            writes into the folder of this script
    python3 tests/golden/make_golden.py --check    recomputes everything and compares with the committed files

The versions that made the committed files stand in each file under "made_with".  Values come from one thread of
PyTorch on the CPU with foreach=False, fused=False; another CPU may differ in the last digits of float32.
"""
import json
import math
import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = Path(__file__).resolve().parent
SEED, RNG_TEST = 7, 6  # RNG_TEST: enum rng_purpose of src/base/rng.h
ORDINAL_X, ORDINAL_TARGET, ORDINAL_GRAD, ORDINAL_OPS = 1000, 1001, 2000, 3000
MAX_BYTES = 60_000
TYPES = {"float32": torch.float32, "float64": torch.float64}
MADE_WITH = f"torch {torch.__version__}, numpy {np.__version__}, CPU, one thread"

# ---- random numbers: the formula of src/base/rng.h in numpy ----------------------------------------------------------


def philox(key: int, c0: int, c1: int, c2: int, c3: np.ndarray) -> np.ndarray:
    """Philox4x32-10 for an array of last counter words; result: shape (len(c3), 4), uint32 values in uint64."""
    low = np.uint64(0xFFFFFFFF)
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    c = [np.full(c3.shape, v, np.uint64) for v in (c0, c1, c2)] + [c3.astype(np.uint64)]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), b & low, (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), a & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, axis=1)


def words(ordinal: int, n: int) -> np.ndarray:
    """rng_u32_at(SEED, RNG_TEST, ordinal, epoch 0, step 0, index) for index 0..n-1."""
    return philox(SEED, RNG_TEST << 24 | ordinal, 0, 0, np.arange((n + 3) // 4)).reshape(-1)[:n]


def unit(ordinal: int, n: int) -> np.ndarray:
    """[0, 1) with 24 bits, as rng_unit."""
    return (words(ordinal, n) >> np.uint64(8)).astype(np.float64) / 16777216.0


def symmetric(ordinal: int, shape: tuple[int, ...], dtype: torch.dtype, scale: float = 1.0) -> torch.Tensor:
    """(2u - 1) * scale, computed in double and rounded once to dtype."""
    v = (2.0 * unit(ordinal, math.prod(shape)) - 1.0) * scale
    return torch.from_numpy(v).reshape(shape).to(dtype)


def classes(ordinal: int, rows: int, n_classes: int) -> torch.Tensor:
    return torch.from_numpy(np.floor(unit(ordinal, rows) * n_classes).astype(np.int64))


# ---- writing: one line a leaf, the shortest digits that give the same number back -----------------------------------


def number(v: float, single: bool) -> float:
    """The double whose repr is the shortest that reads back as the same float (single) or double."""
    return float(str(np.float32(v))) if single else float(v)


def numbers(t: torch.Tensor) -> list[float]:
    flat = t.detach().contiguous().reshape(-1)
    return [number(v, t.dtype == torch.float32) for v in flat.tolist()]


def dump(value: object, depth: int = 0, levels: int = 3) -> str:
    """JSON with containers opened down to `levels`, everything deeper on one line."""
    if depth >= levels or not value or not isinstance(value, (dict, list)) or (
            isinstance(value, list) and not isinstance(value[0], dict)):
        return json.dumps(value, allow_nan=False, separators=(", ", ": ") if depth < levels else (",", ":"))
    pad = " " * (depth + 1)
    if isinstance(value, dict):
        parts = [f"{pad}{json.dumps(k)}: {dump(v, depth + 1, levels)}" for k, v in value.items()]
        return "{\n" + ",\n".join(parts) + "\n" + " " * depth + "}"
    return "[\n" + ",\n".join(pad + dump(v, depth + 1, levels) for v in value) + "\n" + " " * depth + "]"


# ---- networks --------------------------------------------------------------------------------------------------------


def net(*layers: tuple[str, nn.Module]) -> nn.Sequential:
    return nn.Sequential(OrderedDict(layers))


def mlp(n_in: int, n_out: int) -> nn.Sequential:
    return net(("fc1", nn.Linear(n_in, 128)), ("relu1", nn.ReLU()), ("fc2", nn.Linear(128, 64)), ("relu2", nn.ReLU()),
               ("fc3", nn.Linear(64, n_out)))


def lenet() -> nn.Sequential:
    return net(("conv1", nn.Conv2d(1, 6, 5)), ("relu1", nn.ReLU()), ("pool1", nn.MaxPool2d(2)),
               ("conv2", nn.Conv2d(6, 16, 5)), ("relu2", nn.ReLU()), ("pool2", nn.MaxPool2d(2)),
               ("flatten", nn.Flatten()), ("fc1", nn.Linear(256, 120)), ("relu3", nn.ReLU()),
               ("fc2", nn.Linear(120, 84)), ("relu4", nn.ReLU()), ("fc3", nn.Linear(84, 10)))


def simplecnn() -> nn.Sequential:
    return net(("conv1", nn.Conv2d(3, 32, 3, padding=1)), ("relu1", nn.ReLU()), ("pool1", nn.MaxPool2d(2)),
               ("conv2", nn.Conv2d(32, 64, 3, padding=1)), ("relu2", nn.ReLU()), ("pool2", nn.MaxPool2d(2)),
               ("flatten", nn.Flatten()), ("fc", nn.Linear(4096, 10)))


def digits_cnn(dropout: float = 0.25) -> nn.Sequential:
    return net(("conv1", nn.Conv2d(1, 16, 3, padding=1)), ("bn1", nn.BatchNorm2d(16)), ("relu1", nn.ReLU()),
               ("conv2", nn.Conv2d(16, 32, 3, padding=1)), ("bn2", nn.BatchNorm2d(32)), ("relu2", nn.ReLU()),
               ("pool", nn.MaxPool2d(2)), ("dropout", nn.Dropout(dropout)), ("flatten", nn.Flatten()),
               ("fc1", nn.Linear(512, 64)), ("relu3", nn.ReLU()), ("fc2", nn.Linear(64, 10)))


NETS = {  # name: (make, shape of one input, batch, outputs, task, parameter count)
    "mlp": (lambda: mlp(8, 1), (8,), 7, 1, "mse", 9_473),
    "mlp64": (lambda: mlp(64, 10), (64,), 7, 10, "cross_entropy", 17_226),
    "lenet": (lenet, (1, 28, 28), 5, 10, "cross_entropy", 44_426),
    "simplecnn": (simplecnn, (3, 32, 32), 5, 10, "cross_entropy", 60_362),
    "digits_cnn": (lambda: digits_cnn(0.0), (1, 8, 8), 5, 10, "cross_entropy", 38_378),
}


def is_batch_norm_weight(model: nn.Module, name: str) -> bool:
    layer, leaf = name.rsplit(".", 1)
    return leaf == "weight" and isinstance(model.get_submodule(layer), nn.BatchNorm2d)


def set_weights(model: nn.Module) -> None:
    """Parameter number p of model.parameters() from ordinal p: README.md, "Weights"."""
    with torch.no_grad():
        for p, (name, t) in enumerate(model.named_parameters()):
            shape = tuple(t.shape)
            scale = 1.0 / math.sqrt(math.prod(shape[1:])) if len(shape) >= 2 else 0.1
            v = symmetric(p, shape, torch.float64, scale)
            t.copy_(1.0 + v if is_batch_norm_weight(model, name) else v)


def sample_indices(n: int, count: int = 32) -> list[int]:
    """All of a small tensor, else `count` indices evenly spread, first and last included."""
    return list(range(n)) if n <= count else [i * (n - 1) // (count - 1) for i in range(count)]


def summary(name: str, t: torch.Tensor) -> dict:
    flat = t.detach().contiguous().reshape(-1)
    index = sample_indices(flat.numel())
    wide = flat.double()
    return {"name": name, "shape": list(t.shape), "norm": float(wide.norm()), "sum": float(wide.sum()),
            "index": index, "value": numbers(flat[index])}


def net_values(name: str, dtype: torch.dtype) -> dict:
    make, shape, batch, n_out, task, count = NETS[name]
    model = make().to(dtype).train()
    set_weights(model)
    assert sum(t.numel() for t in model.parameters()) == count, name
    x = symmetric(ORDINAL_X, (batch, *shape), dtype)
    if task == "mse":
        target, loss_of = symmetric(ORDINAL_TARGET, (batch, n_out), dtype), F.mse_loss
    else:
        target, loss_of = classes(ORDINAL_TARGET, batch, n_out), F.cross_entropy
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False, fused=False)

    losses, first = [], {}
    for step in range(3):
        opt.zero_grad()
        logits = model(x)
        loss = loss_of(logits, target)
        loss.backward()
        losses += numbers(loss)
        if step == 0:
            first = {"logits": [numbers(row) for row in logits],
                     "gradients": [summary(n, t.grad) for n, t in model.named_parameters()]}
            norms = [[n, numbers(t)] for n, t in model.named_buffers() if not n.endswith("num_batches_tracked")]
        opt.step()
    model.eval()
    with torch.no_grad():
        after = model(x)
    out = {"net": name, "dtype": str(dtype).removeprefix("torch."), "made_with": MADE_WITH, "batch": batch,
           "input_shape": list(shape), "outputs": n_out, "loss_function": task,
           "optimiser": {"name": "sgd", "lr": 0.1, "momentum": 0.9, "steps": 3},
           "x_first": numbers(x.reshape(-1)[:4]), "targets": numbers(target) if task == "mse" else target.tolist(),
           "logits": first["logits"], "loss": losses[0], "losses": losses, "gradients": first["gradients"],
           "weights_after": [summary(n, t) for n, t in model.named_parameters()],
           "eval_logits_after": [numbers(row) for row in after]}
    if norms:
        out["running_after_1"] = dict(norms)
        out["running_after_3"] = {n: numbers(t) for n, t in model.named_buffers() if n in dict(norms)}
    return out


# ---- optimisers ------------------------------------------------------------------------------------------------------

SGD, ADAM, ADAMW = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
OPTIMISERS = {  # name: (class, arguments beside lr, foreach and fused)
    "sgd": (SGD, {}),
    "sgd_momentum": (SGD, {"momentum": 0.9}),
    "sgd_nesterov": (SGD, {"momentum": 0.9, "nesterov": True}),
    "sgd_dampening": (SGD, {"momentum": 0.9, "dampening": 0.1}),
    "sgd_weight_decay": (SGD, {"weight_decay": 0.01}),
    "sgd_momentum_weight_decay": (SGD, {"momentum": 0.9, "weight_decay": 0.01}),
    "sgd_nesterov_weight_decay": (SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    "sgd_dampening_weight_decay": (SGD, {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    "adam": (ADAM, {}),
    "adam_weight_decay": (ADAM, {"weight_decay": 0.01}),
    "adam_amsgrad": (ADAM, {"amsgrad": True}),
    "adam_betas_eps": (ADAM, {"betas": (0.8, 0.95), "eps": 1e-6}),
    "adam_short_memory": (ADAM, {"betas": (0.8, 0.5)}),
    "adam_short_memory_amsgrad": (ADAM, {"betas": (0.8, 0.5), "amsgrad": True}),
    "adamw": (ADAMW, {}),
    "adamw_weight_decay": (ADAMW, {"weight_decay": 0.1}),
    "adamw_amsgrad": (ADAMW, {"amsgrad": True}),
    "adamw_short_memory_amsgrad": (ADAMW, {"betas": (0.8, 0.5), "amsgrad": True}),
}
N_VECTOR, N_STEPS = 10, 5


def optimiser_steps(cls: type, lr: float, args: dict, dtype: torch.dtype) -> list[list[float]]:
    p = nn.Parameter(symmetric(0, (N_VECTOR,), dtype))
    opt = cls([p], lr=lr, foreach=False, fused=False, **args)
    after = []
    for step in range(N_STEPS):
        p.grad = symmetric(ORDINAL_GRAD + step, (N_VECTOR,), dtype)
        opt.step()
        after.append(numbers(p))
    return after


def optimiser_values() -> dict:
    variants = []
    for name, (cls, args) in OPTIMISERS.items():
        lr = 0.1 if cls is SGD else 0.01
        if cls is SGD:
            full = {"momentum": 0.0, "dampening": 0.0, "nesterov": False, "weight_decay": 0.0}
        else:
            full = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01 if cls is ADAMW else 0.0, "amsgrad": False}
        group = cls([nn.Parameter(torch.zeros(1))], lr=lr, **args).param_groups[0]
        full |= args
        assert all(group[k] == v for k, v in full.items()), f"{name}: defaults of this PyTorch differ"
        variants.append({"name": name, "optimiser": cls.__name__.lower(), "lr": lr, **full,
                         "after_f64": optimiser_steps(cls, lr, args, torch.float64),
                         "after": optimiser_steps(cls, lr, args, torch.float32)})
    by = {v["name"]: v["after_f64"] for v in variants}
    assert by["adam_short_memory"] != by["adam_short_memory_amsgrad"], "amsgrad made no difference: useless fixture"
    return {"made_with": MADE_WITH, "start": numbers(symmetric(0, (N_VECTOR,), torch.float32)),
            "gradients": [numbers(symmetric(ORDINAL_GRAD + s, (N_VECTOR,), torch.float32)) for s in range(N_STEPS)],
            "variants": variants}


# ---- initialisers ----------------------------------------------------------------------------------------------------


def init_values() -> dict:
    """Analytic moments of PyTorch's default initialisers, held against what PyTorch really draws (50 networks)."""
    nets = []
    torch.manual_seed(0)
    for name in ("mlp", "lenet", "simplecnn", "digits_cnn"):
        samples = [dict(NETS[name][0]().named_parameters()) for _ in range(50)]
        model, tensors = NETS[name][0](), []
        for pname, t in model.named_parameters():
            layer = model.get_submodule(pname.rsplit(".", 1)[0])
            seen = torch.stack([s[pname].detach() for s in samples]).double()
            row = {"name": pname, "shape": list(t.shape)}
            if isinstance(layer, nn.BatchNorm2d):
                v = 1.0 if pname.endswith("weight") else 0.0
                row |= {"distribution": "constant", "fan_in": 0, "bound": 0.0, "mean": v, "std": 0.0}
                assert bool((seen == v).all()), pname
            else:
                fan_in = math.prod(layer.weight.shape[1:])
                b = 1.0 / math.sqrt(fan_in)
                row |= {"distribution": "uniform", "fan_in": fan_in, "bound": b, "mean": 0.0, "std": b / math.sqrt(3.0)}
                n = seen.numel()
                assert float(seen.abs().max()) <= b * (1 + 1e-6), pname
                assert abs(float(seen.mean())) < 5 * row["std"] / math.sqrt(n), pname
                # The standard deviation of a uniform sample's variance is sqrt(4/5) var / sqrt(n).
                assert abs(float(seen.var()) / row["std"]**2 - 1) < 5 * math.sqrt(0.8 / n), pname
            tensors.append(row)
        nets.append({"net": name, "tensors": tensors})
    return {"made_with": MADE_WITH, "nets": nets}


# ---- single operations -----------------------------------------------------------------------------------------------


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


# ---- everything ------------------------------------------------------------------------------------------------------


def all_files() -> dict[str, tuple[dict, int]]:
    """file name: (content, levels of its layout)."""
    files = {"optimisers.json": (optimiser_values(), 3), "init_moments.json": (init_values(), 4)}
    for suffix, dtype in (("", torch.float32), ("_f64", torch.float64)):
        files[f"ops{suffix}.json"] = (op_values(dtype), 3)
        for name in NETS:
            files[f"{name}{suffix}.json"] = (net_values(name, dtype), 2)
    return files


def worst(a: object, b: object) -> float:
    """Largest relative difference of two trees of the same shape (absolute below 1); inf where they differ in kind."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return max((worst(a[k], b[k]) for k in a if k != "made_with"), default=0.0)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return max((worst(x, y) for x, y in zip(a, b)), default=0.0)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) / max(1.0, abs(b))
    return 0.0 if a == b else math.inf


def main() -> int:
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    # Known answer of Random123 (kat_vectors: philox4x32 10, all zero) before anything is made from the formula.
    assert [hex(v) for v in philox(0, 0, 0, 0, np.zeros(1))[0]] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]
    check, bad = "--check" in sys.argv[1:], 0
    for name, (content, levels) in all_files().items():
        text = dump(content, levels=levels) + "\n"
        assert len(text) < MAX_BYTES, f"{name}: {len(text)} bytes"
        assert json.loads(text) == json.loads(json.dumps(content)), name
        if check:
            off = worst(json.loads(text), json.loads((HERE / name).read_text()))
            limit = 1e-12 if "_f64" in name else 1e-5
            bad += off > limit
            print(f"{name}: largest difference {off:.1e} ({'ok' if off <= limit else f'over {limit:.0e}'})")
        else:
            (HERE / name).write_text(text)
            print(f"{name}: {len(text)} bytes")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
