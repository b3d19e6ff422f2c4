"""The nine models as PyTorch, torchvision and transformers define them, each with the arguments that scale it.

The order of `ordered_parameters` is the order of the forward pass and gives each tensor its ordinal (README.md).
"""
import math
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision
from transformers import XLMRobertaConfig, XLMRobertaForSequenceClassification

import small_nets


def mlp(n_in: int = 8, n_out: int = 1) -> nn.Module:
    return small_nets.mlp(n_in, n_out)


def vision(name: str, classes: int) -> nn.Module:
    """torchvision's network, its last linear layer replaced (so initialised as nn.Linear is), dropout off."""
    m = getattr(torchvision.models, name)(weights=None)
    if hasattr(m, "fc"):
        m.fc = nn.Linear(m.fc.in_features, classes)
    else:
        m.classifier[-1] = nn.Linear(m.classifier[-1].in_features, classes)
    replace_hardsigmoid(m)
    return no_dropout(m)


class ExactHardsigmoid(nn.Module):
    """PyTorch's double hardsigmoid has the float 1/6 = 0.16666667163372 in its backward pass; this has the double's."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu6(x + 3.0) / 6.0


def replace_hardsigmoid(m: nn.Module) -> None:
    for name, child in m.named_children():
        if isinstance(child, nn.Hardsigmoid):
            setattr(m, name, ExactHardsigmoid())
        replace_hardsigmoid(child)


def no_dropout(m: nn.Module) -> nn.Module:
    for layer in m.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0
    return m


class LM(nn.Module):
    """Causal language model: post-norm encoder layers, learned positions, final layer norm, head tied to `tok`."""

    def __init__(self, vocab: int, seq: int, d: int, heads: int, ff: int, layers: int):
        super().__init__()
        self.d, self.tok, self.pos = d, nn.Embedding(vocab, d), nn.Embedding(seq, d)
        layer = nn.TransformerEncoderLayer(d, heads, ff, 0.0, batch_first=True, activation="gelu")
        self.enc, self.norm = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False), nn.LayerNorm(d)
        mask = torch.triu(torch.full((seq, seq), float("-inf")), 1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.tok(x) * math.sqrt(self.d) + self.pos(torch.arange(x.shape[1]))
        return F.linear(self.norm(self.enc(h, mask=self.mask, is_causal=True)), self.tok.weight)


def transformer(layers: int = 6, d_model: int = 384, heads: int = 8, ff: int = 1536, vocab: int = 6500,
                length: int = 128) -> nn.Module:
    return LM(vocab, length, d_model, heads, ff, layers)


class Classifier(nn.Module):
    """Hugging Face's XLM-R with a plain call: ids and mask in, logits out; names as its state_dict's."""

    def __init__(self, config: XLMRobertaConfig):
        super().__init__()
        self.net = XLMRobertaForSequenceClassification(config)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.net(input_ids=ids, attention_mask=mask).logits


def xlm_roberta(layers: int = 12, width: int = 768, heads: int = 12, ff: int = 3072, vocab: int = 250002,
                positions: int = 514, classes: int = 2) -> nn.Module:
    # layer_norm_eps: 1e-5 as in the published config.json of xlm-roberta-base; the class's own default is 1e-12.
    return Classifier(XLMRobertaConfig(
        vocab_size=vocab, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=ff,
        max_position_embeddings=positions, type_vocab_size=1, num_labels=classes, layer_norm_eps=1e-5,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager"))


class CBAM(nn.Module):
    """Channel attention (reduction 16, average and max through one MLP), then spatial (7x7 over mean and max)."""

    def __init__(self, c: int):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(c, c // 16, bias=False), nn.ReLU(), nn.Linear(c // 16, c, bias=False))
        self.conv = nn.Conv2d(2, 1, 7, padding=3, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x * torch.sigmoid(self.mlp(x.mean((2, 3))) + self.mlp(x.amax((2, 3))))[:, :, None, None]
        return x * torch.sigmoid(self.conv(torch.stack([x.mean(1), x.amax(1)], 1)))


class VggCbam(nn.Module):
    """VGG16 under torchvision's own names, `cbam1`..`cbam5` between its numbered layers: its weights load by name."""

    def __init__(self, divisor: int, classes: int):
        super().__init__()
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        place, c_in = 0, 3
        for block, (full, n) in enumerate(((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))):
            c = full // divisor
            for _ in range(n):
                layers[str(place)] = nn.Conv2d(c_in, c, 3, padding=1)
                layers[str(place + 1)] = nn.ReLU()
                place, c_in = place + 2, c
            layers[str(place)] = nn.MaxPool2d(2)
            layers[f"cbam{block + 1}"] = CBAM(c)
            place += 1
        hidden = 4096 // divisor
        self.features, self.avgpool = nn.Sequential(layers), nn.AdaptiveAvgPool2d(7)
        self.classifier = nn.Sequential(nn.Linear(c_in * 49, hidden), nn.ReLU(), nn.Dropout(0.0),
                                        nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(0.0),
                                        nn.Linear(hidden, classes))
        for name, layer in self.named_modules():  # as torchvision's VGG, its last linear layer replaced
            if isinstance(layer, nn.Conv2d) and "cbam" not in name:
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(layer.bias)
            elif name in ("classifier.0", "classifier.3"):
                nn.init.normal_(layer.weight, 0, 0.01)
                nn.init.zeros_(layer.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


def vgg16_cbam(divisor: int = 1, classes: int = 10) -> nn.Module:
    return VggCbam(divisor, classes)


FULL = {  # model at its real size: (make, exact number of parameters as the peers count them)
    "mlp": (mlp, 9_473),
    "lenet": (small_nets.lenet, 44_426),
    "simplecnn": (small_nets.simplecnn, 60_362),
    "resnet18": (lambda: vision("resnet18", 10), 11_181_642),
    "resnet50": (lambda: vision("resnet50", 10), 23_528_522),
    "mobilenet_v3_small": (lambda: vision("mobilenet_v3_small", 10), 1_528_106),
    "transformer": (transformer, 13_192_704),
    "xlm_roberta": (xlm_roberta, 278_045_186),
    "vgg16_cbam": (vgg16_cbam, 134_378_292),
}


def ordered_parameters(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Names and tensors in order of the forward pass, which is named_parameters() for all but XLM-R.

    transformers 5 registers XLM-R's head first and its positions last; the forward order is the one its older versions
    and published files have.
    """
    rows = [(n.removeprefix("net."), t) for n, t in model.named_parameters()]
    first = ["word_embeddings", "position_embeddings", "token_type_embeddings", "embeddings.LayerNorm", "encoder"]
    if isinstance(model, Classifier):
        rows.sort(key=lambda row: next((i for i, part in enumerate(first) if part in row[0]), len(first)))
    return rows


def ordered_buffers(model: nn.Module) -> list[tuple[str, torch.Tensor]]:
    """Running statistics; num_batches_tracked, masks and position tables are left out."""
    return [(n, t) for n, t in model.named_buffers() if n.endswith(("running_mean", "running_var"))]


def counts() -> dict:
    """Parameters at full size, held against shared knowledge of the peers; the 100-class variants beside them."""
    out = {}
    with torch.device("meta"):
        for name, (make, expected) in FULL.items():
            n = sum(t.numel() for t in make().parameters())
            assert n == expected, f"{name}: {n} parameters, expected {expected}"
            out[name] = n
        for name in ("resnet18", "resnet50", "mobilenet_v3_small"):
            out[f"{name}?classes=100"] = sum(t.numel() for t in vision(name, 100).parameters())
        out["mlp?inputs=64&outputs=10"] = sum(t.numel() for t in mlp(64, 10).parameters())
    return out


def tensor_lists() -> dict:
    """Each full model's tensors in order: [name, dimension, dimension, ...]."""
    out = {}
    with torch.device("meta"):
        for name, (make, _) in FULL.items():
            m = make()
            out[name] = {"parameters": [[n, *t.shape] for n, t in ordered_parameters(m)]}
            if ordered_buffers(m):
                out[name]["buffers"] = [[n, *t.shape] for n, t in ordered_buffers(m)]
    return out


