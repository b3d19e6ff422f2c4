"""Writes the golden values of this folder: what PyTorch computes for fugue's networks, optimisers and operations.

README.md is the manual: rules of inputs and weights, files, keys, tolerances.  The modules beside this script:
    rules.py         Philox, samples of tensors, how numbers are written
    small_nets.py    NET.json and init_moments.json: the small networks, everything inline
    models.py        the nine models; counts.json, model_tensors.json
    nets.py          nets/NAME.json: the nine models trained for three steps
    ops.py, ops_more.py     ops.json and ops_GROUP.json: single operations
    optimisers.py    optimisers.json, clipping.json, schedules.json
    initialisers.py  init_moments_models.json

How to run (in a virtual environment outside the tree: `pip install torch torchvision transformers`; the CPU is enough):
    python3 tests/golden/make_golden.py              writes everything but the full-size fixtures
    python3 tests/golden/make_golden.py --check      recomputes the same and compares with the committed files
    ... --full                                       the full-size ones too (transformer, VGG16-CBAM, XLM-R; 8 GB)
    ... NAME.json nets/NAME.json                     these files only

The versions that made the committed files stand in each file under "made_with".  Values come from one thread of
PyTorch on the CPU with foreach=False, fused=False; another CPU may differ in the last digits of float32.
"""
import json
import math
import sys
from collections.abc import Callable

import numpy as np
import torch

import initialisers
import models
import nets
import ops
import ops_more
import optimisers
import small_nets
from rules import HERE, MADE_WITH, TYPES, decode, dump, philox

MAX_BYTES = {"nets": 220_000, "": 75_000}  # by folder


def one_file(group: str) -> dict:
    single, double = (ops_more.group_values(group, t) for t in TYPES.values())
    off = worst(single["cases"], double["cases"])
    assert off <= 3e-7, f"{group}: float32 and float64 differ by {off:.1e}"
    return double | {"dtype": "both"}


def all_files(full: bool) -> dict[str, tuple[Callable[[], dict], int]]:
    """file name: (make its content, levels of its layout)."""
    files: dict = {"optimisers.json": (optimisers.optimiser_values, 3),
                   "clipping.json": (optimisers.clipping_values, 3),
                   "schedules.json": (optimisers.schedule_values, 3), "init_moments.json": (small_nets.init_values, 4),
                   "counts.json": (lambda: {"made_with": MADE_WITH, "parameters": models.counts()}, 3),
                   "model_tensors.json": (lambda: {"made_with": MADE_WITH, "models": models.tensor_lists()}, 3),
                   "init_moments_models.json": (lambda: initialisers.moments(full), 4)}
    for suffix, dtype in TYPES.items():
        files[f"ops{suffix}.json"] = (lambda d=dtype: ops.op_values(d), 3)
        for name in small_nets.NETS:
            files[f"{name}{suffix}.json"] = (lambda n=name, d=dtype: small_nets.net_values(n, d), 2)
        for group in ops_more.GROUPS:
            if group not in ops_more.ONE_FILE:
                files[f"ops_{group}{suffix}.json"] = (lambda g=group, d=dtype: ops_more.group_values(g, d), 3)
    for group in ops_more.ONE_FILE:
        files[f"ops_{group}.json"] = (lambda g=group: one_file(g), 3)
    for name, net in nets.NETS.items():
        if full or not net.full:
            files[f"nets/{name}.json"] = (lambda n=net: nets.fixture(n), 2)
    return files


def is_summary(a: object) -> bool:
    return isinstance(a, list) and len(a) == 4 and isinstance(a[3], str)


def worst(a: object, b: object) -> float:
    """Largest relative difference of two trees of the same shape (absolute below 1); inf where they differ in kind.

    A summary [norm, sum, exponent, samples] is compared relative to its norm.
    """
    if is_summary(a) and is_summary(b):
        scale = max(b[0], 1e-9)
        pairs = list(zip(decode(a[2], a[3]), decode(b[2], b[3]), strict=True)) + [(a[0], b[0]), (a[1], b[1])]
        return max(abs(x - y) for x, y in pairs) / scale
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return max((worst(a[k], b[k]) for k in a if k != "made_with" and "float32" not in k), default=0.0)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return max((worst(x, y) for x, y in zip(a, b)), default=0.0)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) / max(1.0, abs(b))
    return 0.0 if a == b else math.inf


def limit_of(name: str) -> float:
    """Summaries are rounded to 13 digits and 36 bits; float64 rounding grows over three steps of a deep network."""
    return 2e-10 if name.startswith("nets/") else 1e-12 if "_f64" in name or "moments_models" in name else 1e-5


def show(name: str, tensor: str) -> None:
    """Prints one tensor of a nets/ file in plain numbers."""
    row = next(r for r in json.loads((HERE / name).read_text())["tensors"] if r["name"] == tensor)
    for what in ("gradient", "weight"):
        norm, total, e, text = row[what]
        print(f"{what}: norm {norm!r}, sum {total!r}, samples {decode(e, text)}")


def main(args: list[str]) -> int:
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    # Known answer of Random123 (kat_vectors: philox4x32 10, all zero) before anything is made from the formula.
    known = [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]
    assert philox(0, 0, 0, 0, np.zeros(1))[0].tolist() == known
    if args[:1] == ["--show"]:
        show(*args[1:3])
        return 0
    check, only, bad = "--check" in args, [a for a in args if not a.startswith("--")], 0
    files = all_files("--full" in args or any(nets.NETS[n].full for n in nets.NETS if f"nets/{n}.json" in only))
    for name, (make, levels) in files.items():
        if only and name not in only:
            continue
        content = make()
        text = dump(content, levels=levels) + "\n"
        assert len(text) < MAX_BYTES[name.rpartition("/")[0]], f"{name}: {len(text)} bytes"
        assert json.loads(text) == json.loads(json.dumps(content)), name
        if check:
            off, limit = worst(json.loads(text), json.loads((HERE / name).read_text())), limit_of(name)
            bad += off > limit
            print(f"{name}: largest difference {off:.1e} ({'ok' if off <= limit else f'over {limit:.0e}'})", flush=True)
        else:
            (HERE / name).parent.mkdir(exist_ok=True)
            (HERE / name).write_text(text)
            print(f"{name}: {len(text)} bytes", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
