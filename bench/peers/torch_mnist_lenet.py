"""Peer: LeNet on real MNIST in plain PyTorch on the CPU; what it measures is quality, the test accuracy to expect.

LeNet (conv 6 @ 5x5, relu, max pool 2, conv 16 @ 5x5, relu, max pool 2, linear 120, relu, 84, relu, 10), bytes / 255,
SGD 0.01 with momentum 0.9, batch 256, 3 epochs, last partial batch kept; accuracy over the 10,000 test images.
Prints one JSON line per seed, then mean and standard deviation.
Needs: torch.   FUGUE_DATA_DIR=DATA_ROOT python3 torch_mnist_lenet.py [SEED ...]      (default seeds 0..2)
"""
import json
import statistics
import struct
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from data_root import open_member

BATCH, EPOCHS, LR, MOMENTUM = 256, 3, 0.01, 0.9


def load(part: str) -> tuple[torch.Tensor, torch.Tensor]:
    """IDX: big-endian magic, count (images: rows, columns), then bytes."""
    with open_member(f"MNIST/raw/{part}-images-idx3-ubyte") as f:
        magic, n, rows, cols = struct.unpack(">4I", f.read(16))
        assert magic == 0x803 and (rows, cols) == (28, 28)
        x = np.frombuffer(f.read(), np.uint8).reshape(n, 1, rows, cols)
    with open_member(f"MNIST/raw/{part}-labels-idx1-ubyte") as f:
        magic, n_labels = struct.unpack(">2I", f.read(8))
        assert magic == 0x801 and n_labels == n
        y = np.frombuffer(f.read(), np.uint8)
    return torch.from_numpy(x.astype(np.float32) / 255), torch.from_numpy(y.astype(np.int64))


def lenet() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def main() -> None:
    x, y = load("train")
    tx, ty = load("t10k")
    scores = []
    for seed in map(int, sys.argv[1:] or range(3)):
        torch.manual_seed(seed)
        model = lenet()
        opt = torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM)
        t = time.time()
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(x)).split(BATCH):
                opt.zero_grad()
                F.cross_entropy(model(x[rows]), y[rows]).backward()
                opt.step()
        s = time.time() - t
        with torch.no_grad():
            right = sum(int((model(a).argmax(1) == b).sum()) for a, b in zip(tx.split(1000), ty.split(1000)))
        scores.append(right / len(ty))
        print(json.dumps({"peer": "torch-mnist-lenet", "seed": seed, "test_accuracy": round(scores[-1], 4),
                          "train_s": round(s, 2), "samples_per_s": round(len(x) * EPOCHS / s)}), flush=True)
    sd = statistics.stdev(scores) if len(scores) > 1 else 0.0
    print(json.dumps({"peer": "torch-mnist-lenet", "seeds": len(scores), "test_accuracy_mean": round(statistics.mean(scores), 4),
                      "test_accuracy_sd": round(sd, 4), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
