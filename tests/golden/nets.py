"""Fixtures of whole networks (nets/NAME.json): three SGD steps in float64, and how far float32 lies from it."""
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

import models
import small_nets
from rules import (MADE_WITH, ORDINAL_TARGET, ORDINAL_X, classes, decode, digits, fill, numbers, sparse_spread, spread,
                   summed, symmetric)


@dataclass(frozen=True)
class Net:
    """One fixture. gain: factor on weights of 2 and more dimensions; norm_bias: centre of norms' biases (README.md)."""
    model: str
    args: dict
    make: Callable[[], nn.Module]
    input: dict
    outputs: int
    batch: int
    lr: float
    loss: str = "cross_entropy"
    gain: float = 1.0
    norm_bias: float = 0.0
    samples: int = 64
    full: bool = False  # made and checked only with --full


def image(*shape: int) -> dict:
    return {"kind": "values", "shape": list(shape)}


def token_ids(vocab: int, length: int) -> dict:
    return {"kind": "tokens", "vocabulary": vocab, "length": length}


def padded(vocab: int, length: int, lengths: list[int]) -> dict:
    return {"kind": "padded_tokens", "vocabulary": vocab, "length": length, "valid": lengths, "padding_id": 1}


SMALL_LM = dict(layers=2, d_model=64, heads=4, ff=128, vocab=200, length=16)
SMALL_XLM = dict(layers=2, width=64, heads=4, ff=256, vocab=1000, positions=40, classes=2)

NETS = {
    "mlp": Net("mlp", {}, models.mlp, image(8), 1, 7, 0.1, loss="mse"),
    "lenet": Net("lenet", {}, small_nets.lenet, image(1, 28, 28), 10, 5, 0.1),
    "simplecnn": Net("simplecnn", {}, small_nets.simplecnn, image(3, 32, 32), 10, 5, 0.1),
    "resnet18": Net("resnet18", {}, lambda: models.vision("resnet18", 10), image(3, 32, 32), 10, 8, 0.0005),
    "resnet50": Net("resnet50", {}, lambda: models.vision("resnet50", 10), image(3, 32, 32), 10, 8, 0.001,
                    norm_bias=1.0),
    "mobilenet_v3_small": Net("mobilenet_v3_small", {}, lambda: models.vision("mobilenet_v3_small", 10),
                              image(3, 32, 32), 10, 8, 0.01),
    "transformer_small": Net("transformer", SMALL_LM, lambda: models.transformer(**SMALL_LM), token_ids(200, 16), 200,
                             3, 0.1),
    "xlm_roberta_small": Net("xlm_roberta", SMALL_XLM, lambda: models.xlm_roberta(**SMALL_XLM),
                             padded(1000, 24, [24, 17, 9]), 2, 3, 0.02, gain=2.0),
    "vgg16_cbam_small": Net("vgg16_cbam", {"divisor": 4}, lambda: models.vgg16_cbam(4), image(3, 64, 64), 10, 3, 0.02,
                            gain=3.0),
    "transformer": Net("transformer", {}, models.transformer, token_ids(6500, 128), 6500, 2, 0.1, samples=16,
                       full=True),
    "xlm_roberta": Net("xlm_roberta", {}, models.xlm_roberta, padded(250002, 64, [64, 41]), 2, 2, 0.01, samples=6,
                       full=True),
    "vgg16_cbam": Net("vgg16_cbam", {}, models.vgg16_cbam, image(3, 224, 224), 10, 2, 0.01, gain=2.5, samples=16,
                      full=True),
    "vgg16_cbam_64": Net("vgg16_cbam", {}, models.vgg16_cbam, image(3, 64, 64), 10, 2, 0.01, gain=2.5, samples=16,
                         full=True),
}
RUNNING_SAMPLES = 16


def set_weights(model: nn.Module, net: Net) -> None:
    for ordinal, (name, t) in enumerate(models.ordered_parameters(model)):
        layer = model.get_submodule((("net." if isinstance(model, models.Classifier) else "") + name).rsplit(".", 1)[0])
        if t.dim() >= 2:
            fill(t, ordinal, net.gain / math.sqrt(math.prod(t.shape[1:])))
        else:
            norm = isinstance(layer, (nn.BatchNorm2d, nn.LayerNorm))
            fill(t, ordinal, 0.1, (1.0 if name.endswith("weight") else net.norm_bias) if norm else 0.0)


def inputs_of(net: Net, dtype: torch.dtype) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Arguments of the model's call, and targets."""
    kind, b = net.input["kind"], net.batch
    if kind == "values":
        x = [symmetric(ORDINAL_X, (b, *net.input["shape"]), dtype)]
        if net.loss == "mse":
            return x, symmetric(ORDINAL_TARGET, (b, net.outputs), dtype)
        return x, classes(ORDINAL_TARGET, b, net.outputs)
    vocab, length = net.input["vocabulary"], net.input["length"]
    ids = classes(ORDINAL_X, b * length, vocab).reshape(b, length)
    if kind == "tokens":
        return [ids], classes(ORDINAL_TARGET, b * length, vocab).reshape(b, length)
    # XLM-R: <s> = 0 first, ordinary ids from 3, padding 1 beyond each row's valid length.
    ids = 3 + classes(ORDINAL_X, b * length, vocab - 3).reshape(b, length)
    ids[:, 0] = 0
    mask = (torch.arange(length) < torch.tensor(net.input["valid"])[:, None]).long()
    return [torch.where(mask == 1, ids, net.input["padding_id"]), mask], classes(ORDINAL_TARGET, b, net.outputs)


def loss_of(net: Net, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    if net.loss == "mse":
        return F.mse_loss(logits, target)
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), target.reshape(-1))


def train(net: Net, dtype: torch.dtype, indices: dict[str, list[int]] | None, steps: int = 3) -> dict:
    """Three steps; summaries of everything the fixture holds. indices: of an earlier run, so that samples coincide."""
    model = net.make().to(dtype).train()
    set_weights(model, net)
    x, target = inputs_of(net, dtype)
    names = models.ordered_parameters(model)
    opt = torch.optim.SGD(model.parameters(), lr=net.lr, momentum=0.9, foreach=False, fused=False)
    out: dict = {"losses": [], "index": indices or {}, "x": x, "target": target,
                 "first": {n: numbers(t.reshape(-1)[:4]) for n, t in (names[0], names[1], names[-1])}}
    for step in range(steps):
        opt.zero_grad()
        logits = model(*x)
        loss = loss_of(net, logits, target)
        loss.backward()
        out["losses"] += numbers(loss)
        if step == 0:
            out["logits"] = summed(logits, spread(logits.numel(), net.samples))
            out["shape"] = list(logits.shape)
            for n, t in names:
                if indices is None:
                    out["index"][n] = sparse_spread(t.grad, net.samples)
            out["gradient"] = {n: summed(t.grad, at(out, n, t, net.samples)) for n, t in names}
        opt.step()
    out["weight"] = {n: summed(t, at(out, n, t, net.samples)) for n, t in names}
    out["shapes"] = {n: list(t.shape) for n, t in names}
    out["running"] = {n: summed(t, spread(t.numel(), RUNNING_SAMPLES)) for n, t in models.ordered_buffers(model)}
    model.eval()
    with torch.no_grad():
        after = model(*x)
    out["eval"] = summed(after, spread(after.numel(), net.samples))
    return out


def at(out: dict, name: str, t: torch.Tensor, samples: int) -> list[int]:
    return out["index"].get(name) or spread(t.numel(), samples)


def distance(a: list, b: list, floor: float = 0.0) -> float:
    """Of two summaries: ||samples a - samples b|| and |norm a - norm b| over max(the same of b, floor); the larger."""
    va, vb = (torch.tensor(decode(s[2], s[3]), dtype=torch.float64) for s in (a, b))
    by_samples = float((va - vb).norm()) / max(float(vb.norm()), floor, 1e-300)
    return max(by_samples, abs(a[0] - b[0]) / max(b[0], floor, 1e-300))


def fixture(net: Net) -> dict:
    wide = train(net, torch.float64, None)
    single = train(net, torch.float32, wide["index"])
    total = math.sqrt(sum(g[0]**2 for g in wide["gradient"].values()))
    tensors = []
    for n, g in wide["gradient"].items():
        row = {"name": n, "shape": wide["shapes"][n]}
        if wide["index"].get(n):
            row["index"] = wide["index"][n]
        w = wide["weight"][n]
        row |= {"gradient": g, "weight": w, "float32": [digits(distance(single["gradient"][n], g, 1e-3 * total), 2),
                                                        digits(distance(single["weight"][n], w), 2)]}
        tensors.append(row)
    out = {"model": net.model, "arguments": net.args, "dtype": "float64", "made_with": MADE_WITH, "batch": net.batch,
           "input": net.input, "outputs": net.outputs, "gain": net.gain, "norm_bias": net.norm_bias,
           "loss_function": net.loss,
           "optimiser": {"name": "sgd", "lr": net.lr, "momentum": 0.9, "steps": 3},
           "parameters": sum(math.prod(s) for s in wide["shapes"].values()),
           "x_first": wide["x"][0].reshape(-1)[:4].tolist(), "targets_first": wide["target"].reshape(-1)[:8].tolist(),
           "initial_first": wide["first"], "samples": net.samples, "logits_shape": wide["shape"],
           "logits": wide["logits"], "losses": wide["losses"],
           "losses_float32": single["losses"], "eval_logits_after": wide["eval"], "all_gradients_norm": digits(total),
           "float32_worst": {
               "logits": digits(distance(single["logits"], wide["logits"]), 2),
               "losses": digits(max(abs(a - b) / abs(b) for a, b in zip(single["losses"], wide["losses"])), 2),
               "eval_logits_after": digits(distance(single["eval"], wide["eval"]), 2),
               "gradient": max(r["float32"][0] for r in tensors), "weight": max(r["float32"][1] for r in tensors)},
           "tensors": tensors}
    if wide["running"]:
        out["running_samples"] = RUNNING_SAMPLES
        out["float32_worst"]["running"] = digits(max(distance(single["running"][n], r)
                                                     for n, r in wide["running"].items()), 2)
        out["running_after"] = [{"name": n, "summary": r} for n, r in wide["running"].items()]
    return out
