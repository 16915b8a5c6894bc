"""From an order of computation to a whole schedule: the sends and receives, written in between.

A rank receives right before it needs something and sends as soon as it has it. Sends return at
once, so two neighbours that send to each other at the same time do not block one another; what can
deadlock is only the order of the receives. Per micro-batch each cut between two ranks costs one
activation and one gradient.
What to look at: `print(*schedule.orders[1])`, once with and once without messages.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from ddl_teach.networks.pipelines.instructions import (
    ApplyUpdate,
    Backward,
    BackwardInput,
    Compute,
    Forward,
    Instruction,
    ReceiveActivation,
    ReceiveGradient,
    SendActivation,
    SendGradient,
    SumReplicas,
    Word,
)
from ddl_teach.networks.pipelines.schedule import Orders, Placement, Schedule, in_a_row


def with_messages(
    name: str, micro_batches: int, placement: Placement, computation: Orders
) -> Schedule:
    """The schedule that does this computation: `computation[rank]` is what a rank computes."""
    orders = tuple(
        (*_with_messages(order, placement), *_at_the_end(rank, placement))
        for rank, order in enumerate(computation)
    )
    return Schedule(name, micro_batches, placement, orders)


def written(name: str, texts: Sequence[Sequence[str]]) -> Schedule:
    """A schedule from what each rank computes, in words such as F0, B0, I0, W0; stage r on rank r.

    >>> print(written("mine", [["F0", "B0"], ["F0", "B0"]]))
    mine: 2 ranks, 1 micro-batches
      rank 0  F0  B0
      rank 1  F0  B0
    """
    computation = [[_read(word, rank) for word in words] for rank, words in enumerate(texts)]
    numbers = [word.micro_batch for words in computation for word in words]
    return with_messages(name, 1 + max(numbers, default=0), in_a_row(len(texts)), computation)


def schedule_of(
    order: Callable[[int, int, int], Sequence[str]], ranks: int, micro_batches: int
) -> Schedule:
    """The same from a function: `order(rank, ranks, micro_batches)` is what a rank computes."""
    words = [order(rank, ranks, micro_batches) for rank in range(ranks)]
    return written(order.__name__, words)


def _read(word: str, stage: int) -> Instruction:
    kinds = {kind.letter: kind for kind in Compute}
    found = re.fullmatch(r"([FBIW])(\d+)", word) if isinstance(word, str) else None
    if not found:
        raise ValueError(
            f"rank {stage}: {word!r} is no pass of a micro-batch. F3 is micro-batch 3 forward, B3 "
            "backward, I3 and W3 are the two halves of a backward pass"
        )
    return kinds[found[1]](stage, int(found[2]))


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
    yield ApplyUpdate()
