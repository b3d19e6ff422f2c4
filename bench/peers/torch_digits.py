"""Peer: one member of D01 in plain PyTorch on the CPU; what it measures is quality, the test accuracy to expect.

digits_cnn (conv 16 @ 3x3 pad 1, batch norm, relu, conv 32 @ 3x3 pad 1, batch norm, relu, max pool 2, dropout 0.25,
linear 64, relu, linear 10) on the 1797 digits of 8x8; pixels / 16; samples with index mod 5 = 4 are the test split
(1438 train, 359 test); AdamW 0.002, batch 64, 10 epochs, last partial batch kept.
Prints one JSON line per seed, then mean and standard deviation.
Needs: torch.   FUGUE_DATA_DIR=DATA_ROOT python3 torch_digits.py [SEED ...]      (default seeds 0..4)
"""
import json
import statistics
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from data_root import open_member

BATCH, EPOCHS, LR = 64, 10, 0.002


def digits_cnn() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1),
                         nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
                         nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10))


def accuracy(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    model.eval()
    with torch.no_grad():
        return float((model(x).argmax(1) == y).double().mean())


def main() -> None:
    with open_member("digits/digits.csv") as f:
        table = np.loadtxt(f, delimiter=",", dtype=np.int64)
    x = torch.from_numpy(table[:, :64].reshape(-1, 1, 8, 8).astype(np.float32) / 16)
    y = torch.from_numpy(table[:, 64])
    test = torch.arange(len(y)) % 5 == 4
    assert int(test.sum()) == 359 and len(y) == 1797
    tx, ty, x, y = x[test], y[test], x[~test], y[~test]
    scores = []
    for seed in map(int, sys.argv[1:] or range(5)):
        torch.manual_seed(seed)
        model = digits_cnn()
        opt = torch.optim.AdamW(model.parameters(), lr=LR)
        t = time.time()
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(x)).split(BATCH):
                opt.zero_grad()
                F.cross_entropy(model(x[rows]), y[rows]).backward()
                opt.step()
        s = time.time() - t
        scores.append(accuracy(model, tx, ty))
        print(json.dumps({"peer": "torch-digits", "seed": seed, "test_accuracy": round(scores[-1], 4),
                          "train_accuracy": round(accuracy(model, x, y), 4), "train_s": round(s, 2),
                          "samples_per_s": round(len(x) * EPOCHS / s)}), flush=True)
    sd = statistics.stdev(scores) if len(scores) > 1 else 0.0
    print(json.dumps({"peer": "torch-digits", "seeds": len(scores), "test_accuracy_mean": round(statistics.mean(scores), 4),
                      "test_accuracy_sd": round(sd, 4), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
