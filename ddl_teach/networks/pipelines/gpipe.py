"""GPipe: all micro-batches forward, then all backward.

Cost: (m + P - 1) (F + B): a rank is idle for (P-1) (F + B), a share of (P-1) / (m + P - 1) of the
time, so more micro-batches make the bubble small. But every rank keeps the activations of all m.
Huang et al., "GPipe", 2019.
What to look at: the moment when all ranks hold everything, just before the first backward.
"""

from collections.abc import Iterator

from ddl_teach.networks.pipelines.instructions import Backward, Forward, Instruction
from ddl_teach.networks.pipelines.messages import with_messages
from ddl_teach.networks.pipelines.schedule import Schedule, in_a_row


def gpipe(ranks: int, micro_batches: int) -> Schedule:
    """All forward, then all backward; stage r on rank r."""
    orders = [order(rank, micro_batches) for rank in range(ranks)]
    return with_messages("GPipe", micro_batches, in_a_row(ranks), orders)


def order(stage: int, micro_batches: int) -> Iterator[Instruction]:
    """What a stage computes."""
    for micro_batch in range(micro_batches):
        yield Forward(stage, micro_batch)
    for micro_batch in range(micro_batches):
        yield Backward(stage, micro_batch)
