"""Peer: the E05 job in plain PyTorch on the CPU; what it measures is quality, the train R2 fugue's members must reach.

mlp 8-128-64-1 on California housing (20,640 rows; features (x - mean) / (sd with ddof 1 + 1e-7) over the whole set,
target in 100 k$), Adam 1e-3, batch 256, 20 epochs, last partial batch kept, R2 over the whole set after training.
Prints one JSON line per seed, then mean and standard deviation.  Its seconds include no data reading.
Needs: torch.   FUGUE_DATA_DIR=DATA_ROOT python3 torch_cal_housing.py [SEED ...]      (default seeds 0..4)
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

BATCH, EPOCHS, LR = 256, 20, 1e-3


def load() -> tuple[torch.Tensor, torch.Tensor]:
    """Raw columns: longitude, latitude, age, rooms, bedrooms, population, households, income, value."""
    with open_member("CaliforniaHousing/cal_housing.data") as f:
        raw = np.loadtxt(f, delimiter=",")
    lon, lat, age, rooms, bedrooms, people, homes, income, value = raw.T
    x = np.stack([income, age, rooms / homes, bedrooms / homes, people, people / homes, lat, lon], axis=1)
    x = (x - x.mean(0)) / (x.std(0, ddof=1) + 1e-7)
    return torch.from_numpy(x).float(), torch.from_numpy(value / 1e5).float()[:, None]


def train(seed: int, x: torch.Tensor, y: torch.Tensor) -> float:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(8, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), lr=LR)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x)).split(BATCH):
            opt.zero_grad()
            F.mse_loss(model(x[rows]), y[rows]).backward()
            opt.step()
    with torch.no_grad():
        p = model(x).double()
    y = y.double()
    return float(1 - ((p - y) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def main() -> None:
    x, y = load()
    scores = []
    for seed in map(int, sys.argv[1:] or range(5)):
        t = time.time()
        scores.append(train(seed, x, y))
        s = time.time() - t
        print(json.dumps({"peer": "torch-cal-housing", "seed": seed, "train_r2": round(scores[-1], 4), "train_s": round(s, 2),
                          "samples_per_s": round(len(x) * EPOCHS / s)}), flush=True)
    sd = statistics.stdev(scores) if len(scores) > 1 else 0.0
    print(json.dumps({"peer": "torch-cal-housing", "seeds": len(scores), "train_r2_mean": round(statistics.mean(scores), 4),
                      "train_r2_sd": round(sd, 4), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
