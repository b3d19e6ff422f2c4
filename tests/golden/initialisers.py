"""How PyTorch, torchvision and transformers draw the first weights of the nine models: moments, held against draws."""
import math

import torch
import torch.nn as nn

import models
import nets
import small_nets
from rules import MADE_WITH, digits

N_DRAWS, ERRORS = 20, 4.0  # networks drawn; standard errors allowed

# rule: (formula, relative standard error of a sample variance times sqrt(n))
RULES = {
    "zeros": ("0", 0.0),
    "ones": ("1", 0.0),
    "default_uniform": ("uniform(-b, b), b = 1 / sqrt(fan_in); std = b / sqrt(3); fan_in of a bias is its weight's",
                        math.sqrt(0.8)),
    "xavier_uniform": ("uniform(-b, b), b = sqrt(6 / (rows + columns)); std = b / sqrt(3)", math.sqrt(0.8)),
    "kaiming_normal_fan_out": ("normal(0, sqrt(2 / fan_out)), fan_out = dimension 0 * kh * kw, groups not considered",
                               math.sqrt(2)),
    "normal_0.01": ("normal(0, 0.01)", math.sqrt(2)),
    "normal_0.02": ("normal(0, 0.02)", math.sqrt(2)),
    "normal_0.02_padding_row_zero": ("normal(0, 0.02), row 1 zero; mean and std are those of the other rows",
                                     math.sqrt(2)),
    "normal_1": ("normal(0, 1)", math.sqrt(2)),
}


def default_uniform(layer: nn.Module) -> tuple[str, float]:
    return "default_uniform", 1.0 / math.sqrt(3.0 * math.prod(layer.weight.shape[1:]))


def rule_of(kind: str, layer: nn.Module, name: str, t: torch.Tensor) -> tuple[str, float]:
    """(rule, standard deviation) of one tensor."""
    weight = name.endswith("weight")
    if isinstance(layer, (nn.BatchNorm2d, nn.LayerNorm)):
        return ("ones", 0.0) if weight else ("zeros", 0.0)
    if kind == "xlm_roberta":
        if not weight:
            return "zeros", 0.0
        with_padding = isinstance(layer, nn.Embedding) and layer.padding_idx is not None
        return "normal_0.02_padding_row_zero" if with_padding else "normal_0.02", 0.02
    if kind == "transformer":
        if isinstance(layer, nn.Embedding):
            return "normal_1", 1.0
        if name.endswith("in_proj_weight"):
            return "xavier_uniform", math.sqrt(2.0 / sum(t.shape))
        return ("zeros", 0.0) if name.endswith(("in_proj_bias", "out_proj.bias")) else default_uniform(layer)
    if kind in ("resnet18", "resnet50", "mobilenet_v3_small", "vgg16_cbam") and "cbam" not in name:
        if isinstance(layer, nn.Conv2d):
            fan_out = layer.weight.shape[0] * math.prod(layer.weight.shape[2:])
            return ("kaiming_normal_fan_out", math.sqrt(2.0 / fan_out)) if weight else ("zeros", 0.0)
        last = "classifier.3" if kind == "mobilenet_v3_small" else "classifier.6"
        if name.startswith("classifier") and not name.startswith(last):
            return ("normal_0.01", 0.01) if weight else ("zeros", 0.0)
    return default_uniform(layer)


def layer_of(model: nn.Module, name: str) -> nn.Module:
    return model.get_submodule((("net." if isinstance(model, models.Classifier) else "") + name).rsplit(".", 1)[0])


def verify(kind: str, make) -> float:
    """Draws N_DRAWS networks; every tensor's mean and variance within ERRORS standard errors. Worst seen, in those."""
    sums: dict[str, list[float]] = {}
    worst = 0.0
    for _ in range(N_DRAWS):
        model = make()
        for name, t in models.ordered_parameters(model):
            rule, std = rule_of(kind, layer_of(model, name), name, t)
            flat = t.detach()
            if rule == "normal_0.02_padding_row_zero":
                assert not bool(flat[1].any()), f"{kind} {name}: padding row is not zero"
                flat = torch.cat([flat[:1], flat[2:]])
            flat = flat.reshape(-1)
            if std == 0.0:
                assert bool((flat == float(rule == "ones")).all()), f"{kind} {name}: not {rule}"
                continue
            if "uniform" in rule:
                assert float(flat.abs().max()) <= std * math.sqrt(3.0) * (1 + 1e-6), f"{kind} {name}: beyond its bound"
            s = sums.setdefault(name, [0, 0.0, 0.0, std, RULES[rule][1]])
            s[0] += flat.numel()
            s[1] += float(flat.sum(dtype=torch.float64))
            s[2] += float(torch.linalg.vector_norm(flat, dtype=torch.float64))**2
    for name, (n, total, squares, std, factor) in sums.items():
        mean_off = abs(total / n) / (std / math.sqrt(n))
        var_off = abs(squares / n / std**2 - 1.0) / (factor / math.sqrt(n))
        text = f"{kind} {name}: mean off by {mean_off:.1f}, variance by {var_off:.1f} standard errors"
        assert max(mean_off, var_off) < ERRORS, text
        worst = max(worst, mean_off, var_off)
    return worst


def moments(full: bool) -> dict:
    """Moments of every tensor at full size; draws at full size with `full`, else scaled ones of the large models."""
    scaled = {"transformer": nets.NETS["transformer_small"].make, "xlm_roberta": nets.NETS["xlm_roberta_small"].make,
              "vgg16_cbam": nets.NETS["vgg16_cbam_small"].make}
    kinds = {k: make for k, (make, _) in models.FULL.items()} | {"digits_cnn": small_nets.digits_cnn}
    torch.manual_seed(1)
    for kind, make in kinds.items():
        worst = verify(kind, make if full else scaled.get(kind, make))
        print(f"  initial weights of {kind}: {N_DRAWS} draws, worst {worst:.2f} standard errors", flush=True)
    out = []
    with torch.device("meta"):
        for kind, make in kinds.items():
            model, rows = make(), []
            for name, t in models.ordered_parameters(model):
                rule, std = rule_of(kind, layer_of(model, name), name, t)
                rows.append([name, rule, digits(std, 10)])
            out.append({"model": kind, "tensors": rows})
    return {"made_with": MADE_WITH, "rules": {k: v[0] for k, v in RULES.items()}, "models": out}
