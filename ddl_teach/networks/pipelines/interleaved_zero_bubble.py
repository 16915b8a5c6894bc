"""Interleaved zero bubble: thin stages as in interleaved 1F1B, and split backward passes as in H1.

A gradient of the input comes back in half the time of a whole backward pass. So a rank runs only
one step more ahead for each rank behind it; rank r puts off r gradients of weights. With v thin
stages a rank the bubble is (P-1) (F + I - W) / v. This needs P micro-batches, and a W that takes
no longer than F or I. Every rank keeps the activations of P micro-batches, as with H1. Qi, Wan,
Huang and Lin, "Zero bubble pipeline parallelism", ICLR 2024, over the stages of Narayanan et al.,
SC 2021; the order is the one that torch has.
What to look at: late ranks end with a row of W, as in H1.
"""

from collections.abc import Iterator

from ddl_teach.networks.pipelines.instructions import (
    BackwardInput,
    BackwardWeight,
    Forward,
    Instruction,
)
from ddl_teach.networks.pipelines.interleaved import steps_before_last, turns
from ddl_teach.networks.pipelines.messages import with_messages
from ddl_teach.networks.pipelines.schedule import Schedule, in_loops


def interleaved_zero_bubble(ranks: int, micro_batches: int, stages_per_rank: int = 2) -> Schedule:
    """H1 over thin stages; stage s on rank s mod `ranks`."""
    placement = in_loops(ranks, stages_per_rank)
    orders = [order(rank, ranks, micro_batches, stages_per_rank) for rank in range(ranks)]
    return with_messages("interleaved zero bubble", micro_batches, placement, orders)


def order(
    rank: int, ranks: int, micro_batches: int, stages_per_rank: int
) -> Iterator[Instruction]:
    """What a rank computes: every W is put off until `rank` others wait too."""
    there = turns(rank, ranks, micro_batches, stages_per_rank)
    back = turns(rank, ranks, micro_batches, stages_per_rank, back=True)
    ahead = steps_before_last(ranks, micro_batches, stages_per_rank) + ranks - 1 - rank
    yield from (Forward(*turn) for turn in there[:ahead])
    for step, turn in enumerate(back):
        yield from (Forward(*later) for later in there[step + ahead : step + ahead + 1])
        yield BackwardInput(*turn)
        if step >= rank:
            yield BackwardWeight(*back[step - rank])
    yield from (BackwardWeight(*turn) for turn in back[max(0, len(back) - rank) :])
