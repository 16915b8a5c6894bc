"""The bytes that one rank sends round a ring, exactly: also where P does not divide the size.

A tensor is cut into P pieces of n_0, n_1, ... elements. On the way round

    reduce-scatter   rank r sends every piece but its own              n - n_r
    all-gather       rank r sends every piece but its neighbour's      n - n_(r+1)
    all-reduce       one after the other                               2 n - n_r - n_(r+1)

elements, which is (P-1)/P n, (P-1)/P n and 2 (P-1)/P n where all pieces are equal: the fewest that
are possible where only ranks add. Patarasuk and Yuan 2009. What to look at: the ledger of a run
says the same numbers, to the byte.
"""

from collections.abc import Sequence

from ddl_teach.theory.inputs import count


def even(elements: int, ranks: int) -> list[int]:
    """How many of the elements each rank gets; no two differ by more than one."""
    ranks = count("ranks", ranks)
    return [elements * (r + 1) // ranks - elements * r // ranks for r in range(ranks)]


def reduce_scatter(pieces: Sequence[int], rank: int, itemsize: int) -> int:
    """Bytes that this rank sends until each rank has the sum of its own piece."""
    return (sum(pieces) - pieces[rank]) * itemsize


def allgather(pieces: Sequence[int], rank: int, itemsize: int) -> int:
    """Bytes that this rank sends until all ranks have all pieces."""
    return (sum(pieces) - pieces[(rank + 1) % len(pieces)]) * itemsize


def allreduce(elements: int, ranks: int, rank: int, itemsize: int) -> int:
    """Bytes that this rank sends until all have the sum of tensors of `elements` elements."""
    pieces = even(elements, ranks)
    return reduce_scatter(pieces, rank, itemsize) + allgather(pieces, rank, itemsize)
