"""The part of an axis that each rank owns: neighbours own neighbouring, almost equal parts.

Of `total` rows, columns, heads or images rank r of P owns those from total r / P on, rounded down;
no two ranks differ by more than one, and any rank can compute what any other owns.
"""

from ddl_teach.collectives.blocks import chunk_start
from ddl_teach.comm import Comm


def share(total: int, ranks: int, rank: int) -> range:
    """The part of 0, 1, ..., total - 1 that this rank owns; it is empty if there are too few."""
    return range(chunk_start(total, rank, ranks), chunk_start(total, rank + 1, ranks))


def own_slice(total: int, comm: Comm) -> slice:
    """The part of an axis of length `total` that the calling rank owns, as an index."""
    mine = share(total, comm.size, comm.rank)
    return slice(mine.start, mine.stop)
