"""A step with sharded states that only takes time: for networks that nobody's memory holds.

Layers are phantoms. For each one its time passes, then its gradients are summed and parted, and
its weights put together once more: in stages 1 and 2 after the update, in stage 3 before it is
needed, forwards and backwards. Nothing hides behind anything, so the order is of no consequence.
What to look at: the bytes are those of `theory.memory.sent`; stage 3 sends half as much again.
"""

from collections.abc import Sequence

from ddl_teach.collectives import ring
from ddl_teach.comm import Comm, Phantom


def step(
    comm: Comm, weights: Sequence[int], stage: int, seconds: float, itemsize: int = 2
) -> None:
    """One step of `weights[k]` weights in layer k, each of which computes for so many seconds."""
    for numbers in weights:
        layer = Phantom(numbers * itemsize, itemsize)
        comm.work(seconds=seconds)
        ring.reduce_scatter(comm, layer)
        for _ in range(2 if stage == 3 else 1):
            ring.allgather(comm, layer)
