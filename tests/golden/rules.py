"""The rules of numbers (README.md): Philox inputs and weights, samples of tensors, how numbers are written."""
import json
import math
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
SEED, RNG_TEST = 7, 6  # RNG_TEST: enum rng_purpose of src/base/rng.h
ORDINAL_X, ORDINAL_TARGET, ORDINAL_GRAD, ORDINAL_OPS = 1000, 1001, 2000, 3000
TYPES = {"": torch.float32, "_f64": torch.float64}  # by ending of the file's name
MADE_WITH = f"torch {torch.__version__}, numpy {np.__version__}, CPU, one thread"


def philox(key: int, c0: int, c1: int, c2: int, c3: np.ndarray) -> np.ndarray:
    """Philox4x32-10 for an array of last counter words; result: shape (len(c3), 4), uint32 values in uint64."""
    low = np.uint64(0xFFFFFFFF)
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    c = [np.full(c3.shape, v, np.uint64) for v in (c0, c1, c2)] + [c3.astype(np.uint64)]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), b & low, (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), a & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, axis=1)


def words(ordinal: int, n: int) -> np.ndarray:
    """rng_u32_at(SEED, RNG_TEST, ordinal, epoch 0, step 0, index) for index 0..n-1."""
    return philox(SEED, RNG_TEST << 24 | ordinal, 0, 0, np.arange((n + 3) // 4)).reshape(-1)[:n]


def unit(ordinal: int, n: int) -> np.ndarray:
    """[0, 1) with 24 bits, as rng_unit."""
    return (words(ordinal, n) >> np.uint64(8)).astype(np.float64) / 16777216.0


def symmetric(ordinal: int, shape: tuple[int, ...], dtype: torch.dtype, scale: float = 1.0) -> torch.Tensor:
    """(2u - 1) * scale, computed in double and rounded once to dtype."""
    v = (2.0 * unit(ordinal, math.prod(shape)) - 1.0) * scale
    return torch.from_numpy(v).reshape(shape).to(dtype)


def fill(t: torch.Tensor, ordinal: int, scale: float, plus: float = 0.0) -> None:
    """t = plus + (2u - 1) * scale in place, for tensors too large for one numpy expression."""
    flat, chunk = t.detach().view(-1), 1 << 20
    for at in range(0, flat.numel(), chunk):
        n = min(chunk, flat.numel() - at)
        block = philox(SEED, RNG_TEST << 24 | ordinal, 0, 0, np.arange(at // 4, at // 4 + (n + 3) // 4))
        u = (block.reshape(-1)[:n] >> np.uint64(8)).astype(np.float64) / 16777216.0
        flat[at:at + n] = torch.from_numpy(plus + (2.0 * u - 1.0) * scale)


def classes(ordinal: int, rows: int, n_classes: int) -> torch.Tensor:
    return torch.from_numpy(np.floor(unit(ordinal, rows) * n_classes).astype(np.int64))


def number(v: float, single: bool) -> float:
    """The double whose repr is the shortest that reads back as the same float (single) or double."""
    return float(str(np.float32(v))) if single else float(v)


def numbers(t: torch.Tensor) -> list[float]:
    flat = t.detach().contiguous().reshape(-1)
    return [number(v, t.dtype == torch.float32) for v in flat.tolist()]


def dump(value: object, depth: int = 0, levels: int = 3) -> str:
    """JSON with containers opened down to `levels`, everything deeper on one line."""
    if depth >= levels or not value or not isinstance(value, (dict, list)) or (
            isinstance(value, list) and not isinstance(value[0], dict)):
        return json.dumps(value, allow_nan=False, separators=(", ", ": ") if depth < levels else (",", ":"))
    pad = " " * (depth + 1)
    if isinstance(value, dict):
        parts = [f"{pad}{json.dumps(k)}: {dump(v, depth + 1, levels)}" for k, v in value.items()]
        return "{\n" + ",\n".join(parts) + "\n" + " " * depth + "}"
    return "[\n" + ",\n".join(pad + dump(v, depth + 1, levels) for v in value) + "\n" + " " * depth + "]"


# ---- samples: six base-64 digits each, a third of the length of decimal digits --------------------------------------

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
DIGIT_OF = {c: i for i, c in enumerate(DIGITS)}
WIDTH, BITS = 6, 35  # digits a sample; magnitude bits: an error of 2^-36 of the power of two above the largest sample


def encode(values: list[float]) -> list:
    """[exponent e, digits]: each value v as the integer nearest to v * 2^(35 - e), plus 2^35, in six digits."""
    e = max((math.frexp(v)[1] for v in values if v), default=0)
    text = ""
    for v in values:
        q = min(round(math.ldexp(v, BITS - e)), (1 << BITS) - 1) + (1 << BITS)
        text += "".join(DIGITS[q >> shift & 63] for shift in range(6 * (WIDTH - 1), -1, -6))
    return [e, text]


def decode(e: int, text: str) -> list[float]:
    out = []
    for at in range(0, len(text), WIDTH):
        q = 0
        for c in text[at:at + WIDTH]:
            q = q * 64 + DIGIT_OF[c]
        out.append(math.ldexp(q - (1 << BITS), e - BITS))
    return out


def spread(n: int, count: int) -> list[int]:
    """All indices of a small tensor, else `count` evenly spread ones, first and last included."""
    return list(range(n)) if n <= count else [j * (n - 1) // (count - 1) for j in range(count)]


def sparse_spread(gradient: torch.Tensor, count: int) -> list[int] | None:
    """Indices where the gradient is mostly zero (embeddings): three quarters of them among its other elements."""
    flat = gradient.detach().reshape(-1)
    n, most = flat.numel(), count * 3 // 4
    even = spread(n, count)
    if n <= count or int((flat[even] == 0).sum()) <= count // 2:
        return None
    used = flat.nonzero().reshape(-1)
    chosen = {int(used[j]) for j in spread(used.numel(), most)} | set(spread(n, count - most))
    return sorted(chosen)


def digits(v: float, n: int = 13) -> float:
    return float(f"{v:.{n}g}")


def summed(t: torch.Tensor, index: list[int]) -> list:
    """[norm, sum, exponent, samples]; norm and sum over all elements in double."""
    flat = t.detach().reshape(-1)
    return [digits(float(torch.linalg.vector_norm(flat, dtype=torch.float64))),
            digits(float(flat.sum(dtype=torch.float64))), *encode(flat[index].double().tolist())]
