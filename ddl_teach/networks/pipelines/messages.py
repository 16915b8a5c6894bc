"""From an order of computation to a whole schedule: the sends and receives, written in between.

A rank receives right before it needs something and sends as soon as it has it. Sends return at
once, so two neighbours that send to each other at the same time do not block one another; what can
deadlock is only the order of the receives. Per micro-batch each cut between two ranks costs one
activation and one gradient.
What to look at: `print(*schedule.orders[1])`, once with and once without messages.
"""

from __future__ import annotations

from collections.abc import Iterator

from ddl_teach.networks.pipelines.instructions import (
    Backward,
    BackwardInput,
    Forward,
    Instruction,
    ReceiveActivation,
    ReceiveGradient,
    SendActivation,
    SendGradient,
    SumReplicas,
    Update,
    Word,
)
from ddl_teach.networks.pipelines.schedule import Orders, Placement, Schedule


def with_messages(
    name: str, micro_batches: int, placement: Placement, computation: Orders
) -> Schedule:
    """The schedule that does this computation: `computation[rank]` is what a rank computes."""
    orders = tuple(
        (*_with_messages(order, placement), *_at_the_end(rank, placement))
        for rank, order in enumerate(computation)
    )
    return Schedule(name, micro_batches, placement, orders)


def _with_messages(order: Iterator[Instruction], placement: Placement) -> Iterator[Instruction]:
    for word in order:
        stage, micro_batch = word.stage, word.micro_batch
        ranks = placement[micro_batch % len(placement)]
        before = stage > 0 and ranks[stage - 1] != ranks[stage]
        after = stage + 1 < len(ranks) and ranks[stage + 1] != ranks[stage]
        back = isinstance(word, Backward | BackwardInput)
        if isinstance(word, Forward) and before:
            yield ReceiveActivation(stage, micro_batch)
        if back and after:
            yield ReceiveGradient(stage, micro_batch)
        yield word
        if isinstance(word, Forward) and after:
            yield SendActivation(stage, micro_batch)
        if back and before:
            yield SendGradient(stage, micro_batch)


def _at_the_end(rank: int, placement: Placement) -> Iterator[Word]:
    """Replicas add up their gradients, stage by stage, in the same order everywhere."""
    if len(placement) > 1:
        for stage, holders in enumerate(zip(*placement, strict=True)):
            if rank in holders:
                yield SumReplicas(stage)
    yield Update()
