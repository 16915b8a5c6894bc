"""From an order of computation to a whole schedule: the sends and receives, written in between.

A rank receives right before it needs something and sends as soon as it has it. Sends return at
once, so only the order of the receives can deadlock. Per micro-batch each cut between two ranks
costs one activation and one gradient. What to look at: `print(*schedule.orders[1])`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from ddl_teach.networks.pipelines import instructions as do
from ddl_teach.networks.pipelines.schedule import Orders, Placement, Schedule, in_a_row


def with_messages(
    name: str, micro_batches: int, placement: Placement, computation: Orders
) -> Schedule:
    """The schedule that does this computation: `computation[rank]` is what a rank computes."""
    # Replicas add up their gradients, stage by stage, in the same order everywhere.
    holders = list(zip(*placement, strict=True)) if len(placement) > 1 else []
    orders: list[tuple[do.Word, ...]] = []
    for rank, order in enumerate(computation):
        sums = [do.SumReplicas(stage) for stage, ranks in enumerate(holders) if rank in ranks]
        orders.append((*_with_messages(order, placement), *sums, do.ApplyUpdate()))
    return Schedule(name, micro_batches, placement, tuple(orders))


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
    """The schedule of a function: `order(rank, ranks, micro_batches)` is what a rank computes."""
    words = [order(rank, ranks, micro_batches) for rank in range(ranks)]
    return written(order.__name__, words)


def _read(word: str, stage: int) -> do.Instruction:
    kinds = {kind.letter: kind for kind in do.Compute}
    match = re.fullmatch(r"([FBIW])(\d+)", word) if isinstance(word, str) else None
    if not match:
        passes = (
            "F3 is micro-batch 3 forward, B3 backward, I3 and W3 the halves of a backward pass"
        )
        raise ValueError(f"rank {stage}: {word!r} is no pass of a micro-batch. {passes}")
    return kinds[match[1]](stage, int(match[2]))


def _with_messages(
    order: Iterable[do.Instruction], placement: Placement
) -> Iterator[do.Instruction]:
    for word in order:
        stage, micro_batch = word.stage, word.micro_batch
        ranks = placement[micro_batch % len(placement)]
        before = stage > 0 and ranks[stage - 1] != ranks[stage]
        after = stage + 1 < len(ranks) and ranks[stage + 1] != ranks[stage]
        back = isinstance(word, do.Backward | do.BackwardInput)
        if isinstance(word, do.Forward) and before:
            yield do.ReceiveActivation(stage, micro_batch)
        if back and after:
            yield do.ReceiveGradient(stage, micro_batch)
        yield word
        if isinstance(word, do.Forward) and after:
            yield do.SendActivation(stage, micro_batch)
        if back and before:
            yield do.SendGradient(stage, micro_batch)
