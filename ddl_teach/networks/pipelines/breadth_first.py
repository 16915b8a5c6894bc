"""Breadth-first: several thin stages a rank, and all micro-batches through one before the next.

With v thin stages a rank the bubble is that of interleaved 1F1B, (P-1) (F + B) / v, as long as
there are P micro-batches. A rank works at one stage for m passes on end: sharded weights are
gathered twice a stage and a step, and messages have m passes to hide behind. Price: GPipe's
memory, the activations of all m micro-batches.
Lamy-Poirier, "Breadth-first pipeline parallelism", MLSys 2023.
What to look at: rank 0 comes to its second stage when micro-batch 0 has been through all ranks.
"""

from collections.abc import Iterator

from ddl_teach.networks.pipelines.instructions import Backward, Forward, Instruction
from ddl_teach.networks.pipelines.messages import with_messages
from ddl_teach.networks.pipelines.schedule import Schedule, in_loops


def breadth_first(ranks: int, micro_batches: int, stages_per_rank: int = 2) -> Schedule:
    """GPipe over thin stages; stage s on rank s mod `ranks`."""
    placement = in_loops(ranks, stages_per_rank)
    orders = [order(rank, ranks, micro_batches, stages_per_rank) for rank in range(ranks)]
    return with_messages("breadth-first", micro_batches, placement, orders)


def order(
    rank: int, ranks: int, micro_batches: int, stages_per_rank: int
) -> Iterator[Instruction]:
    """What a rank computes: the way there, and exactly the same way back."""
    stages = range(rank, ranks * stages_per_rank, ranks)
    there = [(stage, micro_batch) for stage in stages for micro_batch in range(micro_batches)]
    yield from (Forward(*turn) for turn in there)
    yield from (Backward(*turn) for turn in reversed(there))
