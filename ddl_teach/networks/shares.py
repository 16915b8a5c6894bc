"""Who owns what of an axis: neighbouring ranks own neighbouring parts, as even as can be.

Of `total` rows, columns, heads or images rank r of P owns those from total r / P on, rounded down;
no two ranks differ by more than one, and any rank can tell what any other owns.
"""

from ddl_teach.collectives.blocks import chunk_start
from ddl_teach.comm import Comm


def share(total: int, ranks: int, rank: int) -> range:
    """What of 0, 1, ..., total - 1 this rank owns; nothing where ranks outnumber what there is."""
    return range(chunk_start(total, rank, ranks), chunk_start(total, rank + 1, ranks))


def own_slice(total: int, comm: Comm) -> slice:
    """What the caller owns, as an index."""
    mine = share(total, comm.size, comm.rank)
    return slice(mine.start, mine.stop)
