"""From an order of computation to a whole schedule: the sends and receives, written in between.

A rank receives right before it needs something and sends as soon as it has it. Sends return at
once, so only the order of the receives can deadlock. Per micro-batch each cut between two ranks
costs one activation and one gradient. What to look at: `print(*schedule.orders[1])`.
"""

from collections.abc import Iterable, Iterator, Set

from ddl_teach.networks.pipelines import instructions as do
from ddl_teach.networks.pipelines.schedule import Orders, Placement, Schedule


def with_messages(
    name: str,
    micro_batches: int,
    placement: Placement,
    computation: Orders,
    overlapped: Set[do.Instruction] = frozenset(),
) -> Schedule:
    """The schedule that does this computation: `computation[rank]` is what a rank computes.
    Forward passes that are `overlapped` are one with the backward pass after them."""
    # Replicas add up their gradients, stage by stage, in the same order everywhere.
    holders = list(zip(*placement, strict=True)) if len(placement) > 1 else []
    orders: list[tuple[do.Word, ...]] = []
    for rank, order in enumerate(computation):
        sums = [do.SumReplicas(stage) for stage, ranks in enumerate(holders) if rank in ranks]
        words = _with_messages(order, placement, overlapped)
        orders.append((*words, *sums, do.ApplyUpdate()))
    return Schedule(name, micro_batches, placement, tuple(orders), frozenset(overlapped))


def _with_messages(
    order: Iterable[do.Instruction], placement: Placement, overlapped: Set[do.Instruction]
) -> Iterator[do.Instruction]:
    together: list[do.Instruction] = []
    for word in order:
        together.append(word)
        if word not in overlapped:  # a pair needs what both need, and then sends what both made
            for each in together:
                yield from _message(each, placement, sends=False)
            yield from together
            for each in together:
                yield from _message(each, placement, sends=True)
            together = []


def _message(word: do.Instruction, placement: Placement, sends: bool) -> Iterator[do.Instruction]:
    """What is received for a pass, or sent after it, unless it stays on the rank."""
    ranks = placement[word.micro_batch % len(placement)]
    forward = isinstance(word, do.Forward)
    towards = 0 if isinstance(word, do.BackwardWeight) else 1 if forward else -1
    other = word.stage + towards if sends else word.stage - towards
    if 0 <= other < len(ranks) and ranks[other] != ranks[word.stage]:
        sent = do.SendActivation if forward else do.SendGradient
        received = do.ReceiveActivation if forward else do.ReceiveGradient
        yield (sent if sends else received)(word.stage, word.micro_batch)
