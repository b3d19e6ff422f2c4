"""Further single operations (ops_GROUP.json): the rest of what the nine models and the three tasks need."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from ops import Case
from rules import MADE_WITH, classes


def take_ids(c: Case, name: str, ids: torch.Tensor) -> torch.Tensor:
    c.put(name, ids)
    return ids


def draw_ids(c: Case, name: str, n: int, *shape: int) -> torch.Tensor:
    c.drawn += 1
    return take_ids(c, name, classes(c.base + c.drawn - 1, math.prod(shape), n).reshape(shape))


def valid_mask(lengths: list[int], length: int) -> torch.Tensor:
    """1 where a position is valid, 0 where it is padding."""
    return (torch.arange(length) < torch.tensor(lengths)[:, None]).long()


# ---- convolution -----------------------------------------------------------------------------------------------------


def conv(i: int, dtype: torch.dtype, x: tuple, w: tuple, stride: tuple = (1, 1), padding: tuple = (0, 0),
         dilation: tuple = (1, 1), groups: int = 1, bias: bool = True) -> dict:
    c = Case(i, dtype, "conv2d", stride=stride, padding=padding, dilation=dilation, groups=groups)
    xt, wt = c.draw("x", *x), c.draw("weight", *w)
    bt = c.draw("bias", w[0]) if bias else None
    return c.finish(F.conv2d(xt, wt, bt, stride, padding, dilation, groups))


CONV = [
    (conv, dict(x=(1, 2, 7, 5), w=(2, 2, 3, 3), padding=(2, 2), dilation=(2, 2))),
    (conv, dict(x=(1, 2, 8, 6), w=(2, 2, 3, 2), stride=(2, 1), padding=(1, 3), dilation=(3, 2))),
    (conv, dict(x=(1, 4, 4, 3), w=(6, 2, 3, 3), padding=(1, 1), groups=2)),
    (conv, dict(x=(2, 6, 4, 3), w=(3, 2, 1, 1), groups=3, bias=False)),
    (conv, dict(x=(1, 3, 4, 3), w=(3, 1, 3, 3), padding=(1, 1), groups=3, bias=False)),
    (conv, dict(x=(1, 3, 7, 5), w=(3, 1, 5, 5), stride=(2, 2), padding=(2, 2), groups=3)),
    (conv, dict(x=(1, 2, 4, 5), w=(6, 1, 3, 3), padding=(1, 1), groups=2)),  # channel multiplier 3
    (conv, dict(x=(2, 2, 5, 6), w=(2, 2, 2, 3), stride=(2, 3), padding=(0, 2))),
    (conv, dict(x=(1, 3, 8, 5), w=(2, 3, 4, 1), stride=(3, 1), padding=(1, 0))),
    (conv, dict(x=(1, 1, 5, 4), w=(2, 1, 1, 5), padding=(0, 2), bias=False)),
    (conv, dict(x=(1, 2, 7, 7), w=(1, 2, 7, 7), stride=(2, 2), padding=(3, 3), bias=False)),
    (conv, dict(x=(3, 2, 1, 1), w=(2, 2, 3, 3), padding=(1, 1), bias=False)),  # one pixel, most taps padded
    (conv, dict(x=(1, 2, 4, 5), w=(1, 2, 7, 7), padding=(3, 3), bias=False)),  # spatial attention's
]

# ---- norms and activations -------------------------------------------------------------------------------------------


def layer_norm(i: int, dtype: torch.dtype, shape: tuple, eps: float, scale: float = 1.0) -> dict:
    c = Case(i, dtype, "layer_norm", eps=eps)
    xt = c.draw("x", *shape, scale=scale, plus=0.25)
    wt, bt = c.draw("weight", shape[-1], plus=1.0), c.draw("bias", shape[-1])
    return c.finish(F.layer_norm(xt, shape[-1:], wt, bt, eps))


def batch_norm(i: int, dtype: torch.dtype, shape: tuple, eps: float, momentum: float) -> dict:
    c = Case(i, dtype, "batch_norm", momentum=momentum, eps=eps)
    ch = shape[1]
    xt, wt, bt = c.draw("x", *shape, plus=0.25), c.draw("weight", ch, scale=0.5, plus=1.0), c.draw("bias", ch)
    mean, var = torch.zeros(ch, dtype=dtype), torch.ones(ch, dtype=dtype)
    row = c.finish(F.batch_norm(xt, mean, var, wt, bt, training=True, momentum=momentum, eps=eps))
    c.put("running_mean", mean)
    c.put("running_var", var)
    with torch.no_grad():
        c.put("out_eval", F.batch_norm(xt, mean, var, wt, bt, training=False, eps=eps))
    return row


ACTIVATIONS = {"gelu": F.gelu, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "sigmoid": torch.sigmoid,
               "tanh": torch.tanh}


def activation(i: int, dtype: torch.dtype, name: str, scale: float, edges: bool) -> dict:
    """edges: the values where hardswish and hardsigmoid bend, and both far ends, before the drawn ones."""
    c = Case(i, dtype, name)
    x = c.draw("x", 3, 7, scale=scale).detach()
    if edges:
        x.view(-1)[:8] = torch.tensor([-3.0, 3.0, 0.0, -2.984375, 2.984375, -3.015625, 3.015625, -100.0], dtype=dtype)
        x.view(-1)[8] = 100.0
    c.put("x", x)
    c.inputs["x"] = x.requires_grad_()
    if name == "hardsigmoid" and dtype == torch.float64:  # PyTorch's own has a float 1/6 in its gradient
        return c.finish(F.relu6(x + 3.0) / 6.0)
    return c.finish(ACTIVATIONS[name](x))


NORM = [
    (layer_norm, dict(shape=(3, 7), eps=1e-5)),
    (layer_norm, dict(shape=(2, 3, 5), eps=1e-5)),
    (layer_norm, dict(shape=(2, 8), eps=1e-12)),
    (layer_norm, dict(shape=(2, 6), eps=1e-5, scale=0.015625)),  # variance near eps
    (layer_norm, dict(shape=(3, 1), eps=1e-5)),  # one value: x - mean is 0
    (batch_norm, dict(shape=(4, 3, 2, 3), eps=1e-3, momentum=0.01)),  # MobileNetV3's
    (batch_norm, dict(shape=(5, 4, 1, 1), eps=1e-3, momentum=0.01)),
    *[(activation, dict(name=n, scale=s, edges=e)) for n in ACTIVATIONS for s, e in ((1.0, False), (6.0, True))],
]

# ---- pooling ---------------------------------------------------------------------------------------------------------


def avg_pool(i: int, dtype: torch.dtype, x: tuple, kernel: tuple, stride: tuple, padding: tuple, include: bool) -> dict:
    c = Case(i, dtype, "avg_pool2d", kernel=kernel, stride=stride, padding=padding, count_include_pad=include)
    return c.finish(F.avg_pool2d(c.draw("x", *x), kernel, stride, padding, count_include_pad=include))


def max_pool(i: int, dtype: torch.dtype, x: tuple, kernel: tuple, stride: tuple, padding: tuple) -> dict:
    c = Case(i, dtype, "max_pool2d", kernel=kernel, stride=stride, padding=padding)
    return c.finish(F.max_pool2d(c.draw("x", *x), kernel, stride, padding))


def adaptive(i: int, dtype: torch.dtype, kind: str, x: tuple, out: tuple, ties: bool = False) -> dict:
    c = Case(i, dtype, f"adaptive_{kind}_pool2d", output=out, ties=ties)
    xt = c.draw_levels("x", *x) if ties else c.draw("x", *x)
    return c.finish(F.adaptive_avg_pool2d(xt, out) if kind == "avg" else F.adaptive_max_pool2d(xt, out))


SIZES = (((2, 2, 7, 5), (3, 2)), ((1, 2, 2, 2), (7, 7)), ((2, 3, 5, 4), (1, 1)), ((1, 2, 7, 7), (7, 7)),
         ((1, 1, 3, 8), (5, 3)), ((2, 1, 1, 1), (2, 3)))
POOL = [
    *[(avg_pool, dict(x=(2, 2, 6, 5), kernel=(2, 2), stride=(2, 2), padding=(0, 0), include=True))],
    *[(avg_pool, dict(x=(1, 2, 7, 6), kernel=(3, 3), stride=(2, 2), padding=(1, 1), include=y)) for y in (True, False)],
    *[(avg_pool, dict(x=(1, 2, 5, 7), kernel=(2, 3), stride=(1, 2), padding=(1, 0), include=y)) for y in (True, False)],
    (max_pool, dict(x=(1, 2, 6, 7), kernel=(3, 2), stride=(1, 3), padding=(1, 0))),
    (max_pool, dict(x=(2, 1, 4, 5), kernel=(2, 2), stride=(1, 1), padding=(1, 1))),
    *[(adaptive, dict(kind=k, x=x, out=out)) for k in ("avg", "max") for x, out in SIZES],
    (adaptive, dict(kind="max", x=(1, 2, 5, 5), out=(2, 3), ties=True)),
]

# ---- combining tensors -----------------------------------------------------------------------------------------------


def binary(i: int, dtype: torch.dtype, op: str, a: tuple, b: tuple) -> dict:
    c = Case(i, dtype, op)
    at, bt = c.draw("a", *a), c.draw("b", *b)
    return c.finish(at + bt if op == "add" else at * bt)


def concatenate(i: int, dtype: torch.dtype, shapes: list[tuple]) -> dict:
    c = Case(i, dtype, "concatenate", axis=1)
    return c.finish(torch.cat([c.draw(f"x{j}", *s) for j, s in enumerate(shapes)], 1))


def channel_mean_max(i: int, dtype: torch.dtype, x: tuple) -> dict:
    """(N, C, H, W) to (N, 2, H, W): mean, then maximum over the channels. No ties (amax would share the gradient)."""
    c = Case(i, dtype, "channel_mean_max")
    xt = c.draw("x", *x)
    top = xt.detach().sort(1, descending=True).values
    assert x[1] == 1 or bool((top[:, 0] > top[:, 1]).all()), "ties: choose another case"
    return c.finish(torch.stack([xt.mean(1), xt.amax(1)], 1))


def flatten(i: int, dtype: torch.dtype, x: tuple) -> dict:
    return (c := Case(i, dtype, "flatten")).finish(c.draw("x", *x).flatten(1))


COMBINE = [
    *[(binary, dict(op=op, a=(2, 3, 4, 3), b=b)) for op in ("add", "mul")
      for b in ((2, 3, 4, 3), (2, 3, 1, 1), (2, 1, 4, 3))],
    (binary, dict(op="add", a=(3, 5), b=(3, 5))),
    (binary, dict(op="mul", a=(1, 4, 1, 1), b=(1, 4, 1, 1))),
    (concatenate, dict(shapes=[(2, 2, 3, 2), (2, 3, 3, 2)])),
    (concatenate, dict(shapes=[(1, 1, 2, 3), (1, 4, 2, 3), (1, 2, 2, 3)])),
    (channel_mean_max, dict(x=(2, 3, 3, 2))),
    (channel_mean_max, dict(x=(1, 1, 3, 3))),
    (flatten, dict(x=(2, 3, 2, 3))),
]

# ---- tokens and attention --------------------------------------------------------------------------------------------


def embedding(i: int, dtype: torch.dtype, vocab: int, d: int, ids: tuple, padding: int | None, scale: float) -> dict:
    c = Case(i, dtype, "embedding", padding_idx=padding, scale=scale)
    wt, idt = c.draw("weight", vocab, d), draw_ids(c, "ids", vocab, *ids)
    return c.finish(F.embedding(idt, wt, padding_idx=padding) * scale)


def positions(i: int, dtype: torch.dtype, table: int, d: int, batch: int, length: int) -> dict:
    """x + the first `length` rows of a learned table."""
    c = Case(i, dtype, "positions", offset=False)
    xt, wt = c.draw("x", batch, length, d), c.draw("weight", table, d)
    return c.finish(xt + wt[:length])


def positions_offset(i: int, dtype: torch.dtype, table: int, d: int, length: int, lengths: list[int], pad: int) -> dict:
    """RoBERTa's: position = running count of valid tokens + padding id; padded ones use row `pad`, without gradient."""
    c = Case(i, dtype, "positions", offset=True, padding_idx=pad)
    xt, wt = c.draw("x", len(lengths), length, d), c.draw("weight", table, d)
    mask = take_ids(c, "valid", valid_mask(lengths, length))
    place = take_ids(c, "positions", torch.cumsum(mask, 1) * mask + pad)
    return c.finish(xt + F.embedding(place, wt, padding_idx=pad))


def attention_core(i: int, dtype: torch.dtype, batch: int, heads: int, length: int, d: int, causal: bool,
                   lengths: list[int] | None) -> dict:
    """softmax(q k^T / sqrt(d) + masks) v on (N, heads, S, d)."""
    c = Case(i, dtype, "attention_core", heads=heads, causal=causal)
    q, k, v = (c.draw(n, batch, heads, length, d, scale=2.0) for n in "qkv")
    allowed = torch.ones(batch, 1, length, length, dtype=torch.bool)
    if lengths:
        allowed = allowed & take_ids(c, "valid", valid_mask(lengths, length)).bool()[:, None, None, :]
    if causal:
        allowed = allowed & torch.ones(length, length, dtype=torch.bool).tril()
    scores = (q @ k.transpose(2, 3) / math.sqrt(d)).masked_fill(~allowed, -math.inf)
    return c.finish(scores.softmax(-1) @ v)


def self_attention(i: int, dtype: torch.dtype, batch: int, heads: int, length: int, e: int, causal: bool,
                   lengths: list[int] | None) -> dict:
    """nn.MultiheadAttention, batch first: packed in_proj (query, key, value rows), out_proj."""
    c = Case(i, dtype, "multi_head_attention", heads=heads, causal=causal)
    xt = c.draw("x", batch, length, e)
    names = ("in_proj_weight", 3 * e, e), ("in_proj_bias", 3 * e), ("out_proj.weight", e, e), ("out_proj.bias", e)
    own = {n: c.draw(n, *s) for n, *s in names}
    m = nn.MultiheadAttention(e, heads, batch_first=True).to(dtype)
    mask = torch.triu(torch.ones(length, length, dtype=torch.bool), 1) if causal else None
    padded = None
    if lengths:
        padded = take_ids(c, "valid", valid_mask(lengths, length)) == 0
    kw = {"key_padding_mask": padded, "attn_mask": mask, "need_weights": False}
    return c.finish(torch.func.functional_call(m, own, (xt, xt, xt), kw)[0])


def tied(i: int, dtype: torch.dtype, vocab: int, d: int, ids: tuple) -> dict:
    """One matrix as embedding (times sqrt(d)) and as head: its gradient is the sum of both uses."""
    c = Case(i, dtype, "tied_embedding_linear", scale=math.sqrt(d))
    wt, idt = c.draw("weight", vocab, d), draw_ids(c, "ids", vocab, *ids)
    return c.finish(F.linear(F.embedding(idt, wt) * math.sqrt(d), wt))


ATTENTION = [
    (embedding, dict(vocab=7, d=3, ids=(2, 5), padding=None, scale=1.0)),
    (embedding, dict(vocab=5, d=4, ids=(3, 6), padding=1, scale=2.0)),
    (positions, dict(table=6, d=3, batch=2, length=4)),
    (positions_offset, dict(table=8, d=3, length=5, lengths=[5, 3], pad=1)),
    *[(attention_core, dict(batch=2, heads=2, length=4, d=2, causal=y, lengths=z))
      for y in (False, True) for z in (None, [4, 2])],
    (attention_core, dict(batch=1, heads=1, length=1, d=2, causal=True, lengths=None)),
    *[(self_attention, dict(batch=2, heads=2, length=4, e=4, causal=y, lengths=z))
      for y in (False, True) for z in (None, [4, 2])],
    (tied, dict(vocab=5, d=3, ids=(2, 4))),
]

# ---- losses ----------------------------------------------------------------------------------------------------------


def cross_entropy(i: int, dtype: torch.dtype, x: tuple, smoothing: float, ignore: int | None = None,
                  scale: float = 3.0) -> dict:
    """The last dimension of x holds the logits; the mean runs over targets that are not `ignore`."""
    c = Case(i, dtype, "cross_entropy", label_smoothing=smoothing, ignore_index=ignore)
    xt, target = c.draw("x", *x, scale=scale), draw_ids(c, "target", x[-1], *x[:-1])
    if ignore is not None and ignore < 0:
        target.view(-1)[::3] = ignore
        c.put("target", target)
    assert ignore is None or 0 < int((target == ignore).sum()) < target.numel()
    return c.finish(F.cross_entropy(xt.reshape(-1, x[-1]), target.reshape(-1), label_smoothing=smoothing,
                                    ignore_index=-100 if ignore is None else ignore))


LOSS = [
    (cross_entropy, dict(x=(5, 7), smoothing=0.1)),
    (cross_entropy, dict(x=(3, 2), smoothing=0.1, scale=40.0)),
    (cross_entropy, dict(x=(2, 5, 6), smoothing=0.0)),
    (cross_entropy, dict(x=(2, 5, 6), smoothing=0.1)),
    (cross_entropy, dict(x=(2, 6, 5), smoothing=0.0, ignore=-100)),
    (cross_entropy, dict(x=(2, 6, 4), smoothing=0.1, ignore=0)),
]

# Groups whose float32 results are their float64 results rounded (asserted to 3e-7): one file for both types.
ONE_FILE = {"conv", "pool", "combine"}
GROUPS = {"conv": CONV, "norm": NORM, "pool": POOL, "combine": COMBINE, "attention": ATTENTION, "loss": LOSS}


def group_values(group: str, dtype: torch.dtype) -> dict:
    first = 100 * (1 + list(GROUPS).index(group))  # case numbers, and with them the drawn values, of their own
    return {"dtype": str(dtype).removeprefix("torch."), "made_with": MADE_WITH,
            "cases": [{"case": i, **make(first + i, dtype, **args)} for i, (make, args) in enumerate(GROUPS[group])]}
