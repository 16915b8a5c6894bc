"""Interleaved 1F1B: each rank holds several thin stages, so that the pipeline fills faster.

With v thin stages a rank, stage s is on rank s mod P. A micro-batch comes by v times, and the
first one is through a thin stage in 1/v of the time: the bubble is (P-1) (F + B) / v. Price: v
times the messages, and activations of P + (P-1)/v micro-batches on rank 0 instead of P.
Narayanan, Shoeybi, Casper et al., "Efficient large-scale language model training on GPU clusters
using Megatron-LM", SC 2021.
What to look at: micro-batches go through in groups of P, one thin stage after the other. Where P
does not divide m, there are m // P groups, as equal as can be.
"""

from collections.abc import Iterator
from itertools import pairwise

from ddl_teach.networks.pipelines.instructions import Backward, Forward, Instruction
from ddl_teach.networks.pipelines.messages import with_messages
from ddl_teach.networks.pipelines.schedule import Schedule, in_loops


def interleaved(ranks: int, micro_batches: int, stages_per_rank: int = 2) -> Schedule:
    """1F1B over thin stages; stage s on rank s mod `ranks`."""
    placement = in_loops(ranks, stages_per_rank)
    orders = [order(rank, ranks, micro_batches, stages_per_rank) for rank in range(ranks)]
    return with_messages("interleaved 1F1B", micro_batches, placement, orders)


def order(
    rank: int, ranks: int, micro_batches: int, stages_per_rank: int
) -> Iterator[Instruction]:
    """What a rank computes."""
    there = turns(rank, ranks, micro_batches, stages_per_rank)
    back = turns(rank, ranks, micro_batches, stages_per_rank, back=True)
    # Two steps more for each rank behind this one: the way there, and the way back.
    ahead = steps_before_last(ranks, micro_batches, stages_per_rank) + 2 * (ranks - 1 - rank)
    yield from (Forward(*turn) for turn in there[:ahead])
    for step, turn in enumerate(back):
        yield from (Forward(*later) for later in there[step + ahead : step + ahead + 1])
        yield Backward(*turn)


def turns(
    rank: int, ranks: int, micro_batches: int, stages_per_rank: int, back: bool = False
) -> list[tuple[int, int]]:
    """The stages of a rank with the micro-batches that pass through them, forward or back."""
    stages = range(rank, ranks * stages_per_rank, ranks)
    count = groups(ranks, micro_batches)
    edges = [group * micro_batches // count for group in range(count + 1)]
    return [
        (stage, micro_batch)
        for first, end in pairwise(edges)
        for stage in (reversed(stages) if back else stages)
        for micro_batch in range(first, end)
    ]


def groups(ranks: int, micro_batches: int) -> int:
    """The number of groups in which micro-batches go through, each of at least `ranks`."""
    return max(1, micro_batches // max(1, ranks))


def steps_before_last(ranks: int, micro_batches: int, stages_per_rank: int) -> int:
    """The forward passes of a largest group before its first one through a rank's last stage."""
    return (stages_per_rank - 1) * -(-micro_batches // groups(ranks, micro_batches))
