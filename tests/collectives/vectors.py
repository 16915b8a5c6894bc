"""Test data that every rank can make for all ranks, and what the collectives make of it."""

import functools
import hashlib
import itertools

import numpy as np
import torch

from ddl_runtime.core.arrays import as_bytes, combine, empty_like

NUMPY_TYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 longdouble "
    "complex64 complex128 clongdouble"
).split()
TORCH_TYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
    "complex32 complex64 complex128"
).split()
KINDS = [*(f"numpy {t}" for t in NUMPY_TYPES), *(f"torch {t}" for t in TORCH_TYPES)]
OPERATIONS = ("sum", "max", "min", "product")


def vector(kind, shape, rank, op="sum", seed=0):
    """Small whole numbers: exact in every type, whatever the order in which they are combined."""
    library, name = kind.split()
    rng = np.random.default_rng([seed, rank])
    values = rng.integers(-3, 4, shape)
    if op == "product":
        values = np.where(values < 0, -1, 1)
    if name.startswith("u") or name == "bool":
        values = np.abs(values)
    if "complex" in name or "clong" in name:
        values = values + 1j * rng.integers(-3, 4, shape) * (op != "product")
    return cast(values, library, name)


def cast(values, library, name):
    if library == "numpy":
        return np.asarray(values).astype(name)
    wide = np.complex128 if np.iscomplexobj(values) else np.float64
    return torch.from_numpy(np.asarray(values).astype(wide)).to(getattr(torch, name))


def special_vector(kind, rank, seed=0):
    """What floating point has in store: zeros of both signs, NaNs that differ, infinities."""
    library, name = kind.split()
    rng = np.random.default_rng([seed, rank])
    special = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0, 1e-7, 1 / 3, 6e-5, 30000.0]
    with np.errstate(over="ignore"):
        x = cast(rng.choice(special, 300), library, name)
    if name == "float64" and library == "numpy":  # NaNs with something in them
        payload = rng.integers(1, 2**51, 300).astype(np.uint64)
        x[::7] = (np.uint64(0x7FF8 << 48) | payload).view(np.float64)[::7]
    return x


def combined(xs, op):
    """All of them combined one after another, or None where the library has no such arithmetic."""
    try:
        return functools.reduce(functools.partial(_combine, op), xs)
    except (RuntimeError, TypeError, NotImplementedError):
        return None


@functools.lru_cache(maxsize=10_000)  # every rank asks, for every algorithm
def everybodys_combined(kind, shape, ranks, op):
    """What an all-reduce of everybody's `vector` must give; not to be written into."""
    return combined([vector(kind, shape, rank, op) for rank in range(ranks)], op)


def _combine(op, a, b):
    out = empty_like(a)
    combine(op, a, b, out)
    return out


def prefixes(xs, op):
    return list(itertools.accumulate(xs, functools.partial(_combine, op)))


def bits(*arrays):
    """A fingerprint of the exact contents."""
    digest = hashlib.sha256()
    for array in arrays:
        raw = as_bytes(array)
        if array.dtype in (np.longdouble, np.clongdouble) and np.finfo(np.longdouble).nmant == 63:
            raw = raw.reshape(-1, 16)[:, :10]  # the other six bytes of each number are padding
        digest.update(raw.tobytes())
    return digest.hexdigest()


def same(x, y):
    return x.shape == y.shape and x.dtype == y.dtype and bool((x == y).all())


def first(a, b):
    """Associative but not commutative: whoever combines in another order is found out."""
    return a
