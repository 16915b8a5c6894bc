"""A column-row pair without its numbers: the same work and the same messages, for ranks that
nobody has.

Forwards on P ranks: 16 tokens width^2 / P operations, as the middle is four times as wide, and an
all-reduce of tokens x width numbers. `theory.split_layers.pair_time` says how long that takes.
What to look at: the work shrinks with every rank, the sum does not.
"""

from ddl_teach.collectives import rabenseifner
from ddl_teach.comm import Comm, Phantom


def pair(comm: Comm, tokens: int, width: int, itemsize: int = 2) -> None:
    """One forward pass of the pair."""
    comm.work(flops=16 * tokens * width**2 / comm.size)
    rabenseifner.allreduce(comm, Phantom(tokens * width * itemsize, itemsize))
