"""Divided convolution: the fastest pieces of a batch that fit into a memory limit.

With t(m) the time of the fastest method that runs m examples within the limit,

    T(0) = 0,        T(b) = min over m <= b of T(b - m) + t(m)

because the examples before the last piece are themselves divided in the best way.
Cost: B M comparisons for a batch of B examples and M offers, where all sizes allow 2^(B-1)
divisions.
Oyama, Ben-Nun, Hoefler and Matsuoka, "Accelerating deep learning frameworks with micro-batches",
2018.
The pieces are what these authors call micro-batches; a pipeline's micro-batches are others.
What to look at: the limit enters in one line. It decides which methods remain for which sizes.
"""

import math
from collections.abc import Iterable

Offer = tuple[str, int, float, int]
"""A method, how many examples it runs at once, its seconds, and its bytes of workspace."""


def divide(batch: int, offers: Iterable[Offer], limit: float) -> tuple[float, list[Offer]]:
    """Return the least seconds for `batch` examples, infinite if nothing fits, and the pieces."""
    fitting = [offer for offer in offers if offer[3] <= limit]
    least = [0.0] + [math.inf] * batch  # T(b)
    pieces: list[list[Offer]] = [[] for _ in least]
    for examples in range(1, batch + 1):
        for offer in fitting:
            size, seconds = offer[1], offer[2]
            if size <= examples and least[examples - size] + seconds < least[examples]:
                least[examples] = least[examples - size] + seconds
                pieces[examples] = [*pieces[examples - size], offer]
    return least[batch], pieces[batch]
