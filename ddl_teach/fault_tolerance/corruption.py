"""Silent corruption: what finds a bit that flipped in a rank's gradient, or in a sum.

    check            finds                              bytes a rank   time
    other_copies     copies that are not alike          8 P            reads x once
    sum_gap          a wrong sum, above rounding        16 P           reads x twice
    replays_differ   a wrong gradient, any bit          16 P           a gradient more
    outliers         a gradient that is far too long    8 P            reads x once

To replay one step in k costs 1/k of the time, and a fault that lasts is noticed k/2 steps late.
Ma et al., "Understanding silent data corruption in LLM training", ACL 2025.
What to look at: a check for equal bits has no false alarms, but ranks must compute in one order.
"""

import numpy as np

from ddl_runtime.core.arrays import Array, as_bytes, type_name
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm
from ddl_teach.theory.rounding import find_format


def flip(x: Array, place: int, bit: int) -> None:
    """Flip a bit of a number on the host: bit 0 is the smallest, the last one is the sign."""
    raw = as_bytes(x)
    size = len(raw) // len(x)
    if not (0 <= place < len(x) and 0 <= bit < 8 * size):
        raise ValueError(f"there is no bit {bit} of number {place}: {len(x)} have {8 * size} bits")
    raw[place * size + bit // 8] ^= np.uint8(1 << bit % 8)  # the lowest byte comes first


def fingerprint(x: Array) -> np.uint64:
    """The sum of all its bits as words of eight bytes, modulo 2^64: one wrong bit changes it."""
    host = x.detach().cpu().contiguous() if hasattr(x, "detach") else np.ascontiguousarray(x)
    raw = as_bytes(host).tobytes()
    return np.uint64(np.frombuffer(raw + bytes(-len(raw) % 8), np.uint64).sum())


def other_copies(comm: Comm, x: Array) -> list[int]:
    """The ranks whose bits are not those of most ranks; all ranks if no bits are of most."""
    _, kinds = np.unique(_of_all(comm, fingerprint(x)), return_inverse=True)
    counts = np.bincount(kinds)
    if 2 * counts.max() <= comm.size:
        return list(range(comm.size))
    return np.flatnonzero(kinds != counts.argmax()).tolist()


@np.errstate(all="ignore")
def checksums(x: Array) -> tuple[float, float]:
    """The sum and the sum of magnitudes, in float64: take them before an all-reduce in place."""
    numbers = _in_float64(x)
    return float(numbers.sum()), float(np.abs(numbers).sum())


@np.errstate(all="ignore")
def sum_gap(comm: Comm, before: tuple[float, float], total: Array) -> tuple[float, float]:
    """How far the sum of all `checksums` is from that of the `total`, and how far rounding goes at
    the worst: above it, or where it is no number, something is wrong."""
    sums, sizes = (float(_of_all(comm, np.float64(part)).sum()) for part in before)
    numbers = _in_float64(total)
    last_place = 2 * find_format(type_name(total)).unit_roundoff
    rounding = comm.size * last_place + len(numbers) * float(np.finfo(float).eps)
    return abs(float(numbers.sum()) - sums), rounding * sizes


def replays_differ(comm: Comm, own: Array, again: Array) -> list[int]:
    """The ranks whose gradient `own` is not `again`: their right neighbours have computed that
    from the same weights and samples. Either of the two may be wrong; of a rank that always is,
    both sides differ."""
    prints = _of_all(comm, fingerprint(own))
    wrong = _of_all(comm, np.float64(prints[comm.rank - 1] != fingerprint(again)))
    return np.flatnonzero(np.roll(wrong, -1)).tolist()


@np.errstate(all="ignore")
def outliers(comm: Comm, own: Array, factor: float) -> list[int]:
    """The ranks whose gradient's norm is above `factor` times the median, or is no number."""
    norms = _of_all(comm, np.float64(np.linalg.norm(_in_float64(own))))
    return np.flatnonzero(~(norms <= factor * np.nanmedian(norms))).tolist()


def _of_all(comm: Comm, own: np.generic) -> np.ndarray:
    numbers = np.full(comm.size, own)
    ring.allgather(comm, numbers)
    return numbers


def _in_float64(x: Array) -> np.ndarray:
    numbers = x.detach().double().cpu().numpy() if hasattr(x, "detach") else x.astype(float)
    return numbers.ravel()  # type: ignore[no-any-return]
