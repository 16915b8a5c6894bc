"""Interleaved 1F1B: each rank holds several thin stages, so that the pipeline fills faster.

With v thin stages a rank, stage s is on rank s mod P. A micro-batch comes by v times, and the
first one is through a thin stage in 1/v of the time: the bubble is (P-1) (F + B) / v. Price: v
times the messages, and activations of P + (P-1)/v micro-batches on rank 0 instead of P.
Narayanan, Shoeybi, Casper et al., "Efficient large-scale language model training on GPU clusters
using Megatron-LM", SC 2021.
What to look at: micro-batches go through in groups of P, one thin stage after the other.
"""

from collections.abc import Iterator

from ddl_teach.networks.pipelines.instructions import Backward, Forward, Instruction
from ddl_teach.networks.pipelines.messages import with_messages
from ddl_teach.networks.pipelines.schedule import Schedule


def interleaved(ranks: int, micro_batches: int, stages_per_rank: int = 2) -> Schedule:
    """1F1B over thin stages; stage s on rank s mod `ranks`."""
    if stages_per_rank < 1:
        raise ValueError(f"stages_per_rank must be at least 1, not {stages_per_rank}")
    if ranks > 0 and micro_batches % ranks:
        next_one = micro_batches + -micro_batches % ranks
        groups = f"{micro_batches} micro-batches are no multiple of {ranks} ranks"
        raise ValueError(f"an interleaved pipeline takes groups: {groups}. Take {next_one}.")
    placement = (tuple(range(ranks)) * stages_per_rank,)
    orders = [order(rank, ranks, micro_batches, stages_per_rank) for rank in range(ranks)]
    return with_messages("interleaved 1F1B", micro_batches, placement, orders)


def order(
    rank: int, ranks: int, micro_batches: int, stages_per_rank: int
) -> Iterator[Instruction]:
    """What a rank computes."""

    def turn(step: int) -> tuple[int, int]:
        """Which of the rank's stages has its turn in a step, and which micro-batch."""
        group, within = divmod(step, ranks * stages_per_rank)
        return within // ranks, group * ranks + within % ranks

    def forward(step: int) -> Instruction:
        own, micro_batch = turn(step)
        return Forward(own * ranks + rank, micro_batch)

    def backward(step: int) -> Instruction:
        own, micro_batch = turn(step)
        return Backward((stages_per_rank - 1 - own) * ranks + rank, micro_batch)

    steps = micro_batches * stages_per_rank
    # Two steps more for each rank behind this one: the way there, and the way back.
    ahead = min((stages_per_rank - 1) * ranks + 2 * (ranks - 1 - rank), steps)
    for step in range(ahead):
        yield forward(step)
    for step in range(steps):
        if step + ahead < steps:
            yield forward(step + ahead)
        yield backward(step)
