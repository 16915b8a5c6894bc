"""What the numbers of a rule may be: checked once, where the rule is made.

A negative rate climbs, a momentum of 1 never forgets, and NaN spreads: none of this would raise an
error later. `layers` are offsets into a flat vector, from 0 to its size: (0, 2048, 2080) is a
matrix of 2048 weights and a bias of 32.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from ddl_runtime.core.arrays import Array
from ddl_runtime.core.checks import amount

States = Sequence[Array]
Rate = float | Callable[[int], float]
"""A number, or a function of the step; steps are counted from 1."""
SHARES = ("momentum", "memory", "betas")  # of what was there before, how much is kept: below 1


def at(rate: Rate, step: int) -> float:
    """What a rate is in this step."""
    if not callable(rate):
        return rate
    now = rate(step)
    if not 0 <= now < math.inf:
        wrong = f"the rate in step {step} is {now!r}, and must be zero or more and finite"
        raise ValueError(f"{wrong}: steps are counted from 1, so look at what rate gives there")
    return now


class Checked:
    """A rule, a frozen dataclass: one with a setting that cannot be is refused."""

    elementwise = True

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            what = f"{type(self).__name__}: {name}"
            if name == "layers":
                rises = all(begin < end for begin, end in pairwise(value))
                if len(value) < 2 or value[0] != 0 or not rises:
                    rising = "from 0 on and rising, and the size of the whole vector last"
                    raise ValueError(f"layers={tuple(value)}: give where they begin, {rising}")
            elif name == "betas":
                if not isinstance(value, tuple | list) or len(value) != 2:
                    raise TypeError(f"{what} are two numbers, as (0.9, 0.999), not {value!r}")
                for beta in value:
                    amount(beta, what, below=1)
            elif name != "rate" or not callable(value):
                example = ", or a function of the step" if name == "rate" else ""
                below = 1 if name in SHARES else math.inf
                amount(value, what, below=below, example=example)


def pieces(layers: Sequence[int], *vectors: Array) -> Iterator[tuple[Array, ...]]:
    """The parts of each of the vectors that belong to one layer, as views, layer by layer."""
    for vector in vectors:
        if len(vector) != layers[-1]:
            sizes = f"this vector has {len(vector)} numbers, but the layers end at {layers[-1]}"
            raise ValueError(f"{sizes}: give it the whole vector, or take an element-wise rule")
    for begin, end in pairwise(layers):
        yield tuple(vector[begin:end] for vector in vectors)


def norm(vector: Array) -> float:
    """The Euclidean length."""
    length: float = float((vector * vector).sum()) ** 0.5
    return length
