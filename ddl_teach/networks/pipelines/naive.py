"""Naive: a micro-batch goes all the way forward and all the way back, then the next one enters.

Cost: of P ranks one computes at a time: m (P (F + B)) for m micro-batches of F forward and B
backward on each rank, a bubble of (P-1)/P. It keeps one micro-batch's activations, no more.
"""

from collections.abc import Iterator

from ddl_teach.networks.pipelines.instructions import Backward, Forward, Instruction
from ddl_teach.networks.pipelines.messages import with_messages
from ddl_teach.networks.pipelines.schedule import Schedule, in_a_row


def naive(ranks: int, micro_batches: int) -> Schedule:
    """One micro-batch at a time; stage r on rank r."""
    orders = [order(rank, micro_batches) for rank in range(ranks)]
    return with_messages("naive", micro_batches, in_a_row(ranks), orders)


def order(stage: int, micro_batches: int) -> Iterator[Instruction]:
    """What a stage computes."""
    for micro_batch in range(micro_batches):
        yield Forward(stage, micro_batch)
        yield Backward(stage, micro_batch)
