"""Peer: one training step of LeNet (batch 256) or simplecnn (batch 64) in PyTorch on the CPU, K models; measures speed.

A step is what fugue's is: take the batch's rows out of the data, forward, mean cross-entropy, backward, SGD with momentum 0.9.
Every way PyTorch has is tried in turn and the fastest counts: images as NCHW and channels last; for K > 1 the models one
after another, and all of them as one call of torch.func (vmap over stacked parameters, which turns convolutions into grouped ones).
Prints one JSON line a case: samples a second of all K together (median of the passes), and which way it was.
Needs: torch.   python3 torch_cpu.py [--threads 2] [--passes 3] [--ways nchw,nhwc,vmap] NET:K ...   (lenet:1 lenet:8 simplecnn:1 ...)
"""
import argparse
import copy
import json
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, stack_module_state, vmap

LR, MOMENTUM = 1e-3, 0.9


def lenet() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def simplecnn() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 8 * 8, 10))


# network, batch, rows of a pass (those of bench/kernels/bench_net.c), sample
NETS = {"lenet": (lenet, 256, 4096, (1, 28, 28)), "simplecnn": (simplecnn, 64, 1024, (3, 32, 32))}


def sgd(params) -> torch.optim.Optimizer:
    return torch.optim.SGD(params, lr=LR, momentum=MOMENTUM, fused=True)


def one_after_another(make, k, x, y, layout):
    models = [make().to(memory_format=layout) for _ in range(k)]
    optimizers = [sgd(m.parameters()) for m in models]

    def run(batches):
        for model, opt in zip(models, optimizers):
            for rows in batches:
                opt.zero_grad()
                F.cross_entropy(model(x[rows]), y[rows]).backward()
                opt.step()
    return run


def stacked(make, k, x, y, layout):
    models = [make() for _ in range(k)]
    params, _ = stack_module_state(models)
    base = copy.deepcopy(models[0]).to("meta")
    opt = sgd(params.values())
    gradient = vmap(grad(lambda p, a, b: F.cross_entropy(functional_call(base, p, (a,)), b)), in_dims=(0, None, None))

    def run(batches):
        for rows in batches:
            grads = gradient({n: p.detach() for n, p in params.items()}, x[rows], y[rows])
            for n, p in params.items():
                p.grad = grads[n]
            opt.step()
    return run


def rate(make, way, layout, k, batch, rows, sample, passes) -> float:
    torch.manual_seed(0)
    x = (2 * torch.rand(rows, *sample) - 1).contiguous(memory_format=layout)
    y = torch.randint(0, 10, (rows,))
    batches = torch.randperm(rows).split(batch)
    run = way(make, k, x, y, layout)
    run(batches)
    rates = []
    for _ in range(passes):
        start = time.perf_counter()
        run(batches)
        rates.append(k * rows / (time.perf_counter() - start))
    return statistics.median(rates)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--ways", default="nchw,nhwc,vmap")
    parser.add_argument("cases", nargs="+")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    ways = {"nchw": (one_after_another, torch.contiguous_format), "nhwc": (one_after_another, torch.channels_last),
            "vmap": (stacked, torch.contiguous_format)}
    for case in args.cases:
        net, k = case.split(":")
        k = int(k)
        make, batch, rows, sample = NETS[net]
        rates = {w: rate(make, *ways[w], k, batch, rows, sample, args.passes)
                 for w in args.ways.split(",") if w != "vmap" or k > 1}
        best = max(rates, key=rates.get)
        print(json.dumps({"peer": "torch-cpu", "net": net, "K": k, "threads": args.threads, "samples_per_s": round(rates[best]),
                          "way": best, "all": {w: round(r) for w, r in rates.items()}, "torch": torch.__version__}), flush=True)


if __name__ == "__main__":
    main()
