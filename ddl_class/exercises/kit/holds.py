"""How much is held at once, of things that are each held for a while."""

from collections.abc import Iterable
from itertools import accumulate


def most_at_once(held: Iterable[tuple[float, float, float]]) -> float:
    """The largest sum of amounts at any time, of triples (begin, end, amount). What ends when
    another begins has made room for it."""
    changes = sorted(
        change for begin, end, amount in held for change in ((begin, amount), (end, -amount))
    )
    return max(accumulate(amount for _, amount in changes), default=0)
