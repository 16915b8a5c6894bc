"""Silent corruption: a rank computes or adds wrongly, and nothing says so. Four checks.

    same copies    all ranks must hold the same bits after an all-reduce; exact, 8 bytes a rank
    same sum       the sum of all ranks' checksums is the checksum of the sum, up to rounding
    replay         the right neighbour computes a gradient again: exact, and costs a gradient
    outlier        a gradient's norm is far above the median of all ranks'

Cost: 8 or 16 bytes to each other rank, but a replay sends its gradient, and computes one more.
Huang and Abraham, "Algorithm-based fault tolerance for matrix operations", 1984 (same sum).
What to look at: the first two cannot see what went wrong before the sum. The third can, but it
cannot say which of two ranks is wrong.
"""

import numpy as np

from ddl_teach import Comm


def flip(x: np.ndarray, place: int, bit: int) -> None:
    """Flip a bit of a number of x: bit 0 is the smallest, the last one is the sign."""
    words = x.view(np.dtype(f"u{x.itemsize}"))
    words[place] ^= words.dtype.type(1 << bit)


def of_all(comm: Comm, own: np.ndarray) -> np.ndarray:
    """Return the `own` of all ranks as rows, on all ranks."""
    rows = np.array([own] * comm.size)
    for distance in range(1, comm.size):
        source = (comm.rank - distance) % comm.size
        comm.sendrecv(own, (comm.rank + distance) % comm.size, rows[source], source)
    return rows


def other_copies(comm: Comm, x: np.ndarray) -> list[int]:
    """The ranks whose bits of x are not those of most ranks; all, if no bits are of most."""
    prints = of_all(comm, np.array([x.view(np.uint64).sum()]))[:, 0].tolist()
    most = max(prints, key=prints.count)
    if 2 * prints.count(most) <= comm.size:
        return list(range(comm.size))
    return [rank for rank, its in enumerate(prints) if its != most]


def sum_gap(comm: Comm, own: np.ndarray, total: np.ndarray) -> tuple[float, float]:
    """How far the sum of checksums is from the checksum of the sum, and how far rounding goes."""
    sums, sizes = of_all(comm, np.array([own.sum(), np.abs(own).sum()])).sum(axis=0).tolist()
    return abs(float(total.sum()) - sums), (comm.size + len(own)) * np.finfo(float).eps * sizes


def replays_differ(comm: Comm, own: np.ndarray, again: np.ndarray) -> list[int]:
    """The ranks whose gradient `own` is not `again`, what the right neighbour computes of it."""
    left = np.empty_like(own)
    comm.sendrecv(own, (comm.rank + 1) % comm.size, left, (comm.rank - 1) % comm.size)
    differs = of_all(comm, np.array([left.tobytes() != again.tobytes()]))[:, 0]
    return sorted((int(rank) - 1) % comm.size for rank in np.flatnonzero(differs))


def outliers(comm: Comm, own: np.ndarray, factor: float) -> list[int]:
    """The ranks whose gradient's norm is above `factor` times the median; or is no number."""
    norms = of_all(comm, np.array([np.linalg.norm(own)]))[:, 0]
    return np.flatnonzero(~(norms <= factor * np.nanmedian(norms))).tolist()
