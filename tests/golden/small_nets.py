"""The networks of the first fixtures (NET.json): layers, weights, three SGD steps, default initialisers."""
import math
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F

from rules import MADE_WITH, ORDINAL_TARGET, ORDINAL_X, classes, numbers, symmetric


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
