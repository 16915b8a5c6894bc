"""A grid of ranks: every rank has a coordinate on each of four axes.

Ranks are numbered with tensor running fastest, then context, then data, then pipeline: whoever
talks most sits closest together, on one node if it fits, and the ends of the pipeline, which talk
least, sit farthest apart (Narayanan et al., 2021).
What to look at: how few grids there are. P = 2^k has (k+1)(k+2)(k+3)/6 of them, 286 for 1,024.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from ddl_teach.theory.inputs import count

AXES = ("tensor", "context", "data", "pipeline")  # the fastest running first


@dataclass(frozen=True)
class Place:
    """Where a rank sits."""

    data: int = 0
    pipeline: int = 0
    tensor: int = 0
    context: int = 0


@dataclass(frozen=True)
class Grid:
    """How many ranks there are along each axis."""

    data: int = 1
    pipeline: int = 1
    tensor: int = 1
    context: int = 1

    def __post_init__(self) -> None:
        for axis in AXES:
            count(axis, getattr(self, axis))

    @property
    def ranks(self) -> int:
        return prod(getattr(self, axis) for axis in AXES)

    @property
    def replicas(self) -> int:
        """Ranks that hold the same weights: those along data and context."""
        return self.data * self.context

    def stride(self, axis: str) -> int:
        """From a rank to its neighbour along this axis."""
        return prod(getattr(self, faster) for faster in AXES[: AXES.index(axis)])

    def place(self, rank: int) -> Place:
        """Where this rank sits."""
        if not 0 <= rank < self.ranks:
            raise ValueError(f"{self} has the ranks 0 to {self.ranks - 1}, not {rank}")
        return Place(**{
            axis: rank // self.stride(axis) % getattr(self, axis) for axis in AXES
        })  # fmt: skip

    def rank(self, place: Place) -> int:
        """Who sits there."""
        return sum(getattr(place, axis) * self.stride(axis) for axis in AXES)

    def axis_between(self, rank: int, other: int) -> str | None:
        """The axis along which two ranks are neighbours or more; None if on more than one."""
        one, two = self.place(rank), self.place(other)
        differ = [axis for axis in AXES if getattr(one, axis) != getattr(two, axis)]
        return differ[0] if len(differ) == 1 else None

    def __str__(self) -> str:
        sizes = [
            f"{axis} {getattr(self, axis)}" for axis in ("data", "pipeline", "tensor", "context")
        ]
        return " x ".join(size for size in sizes if not size.endswith(" 1")) or "one rank"


def every(ranks: int) -> Iterator[Grid]:
    """All grids of so many ranks."""
    for tensor in divisors(ranks):
        for context in divisors(ranks // tensor):
            for data in divisors(ranks // tensor // context):
                yield Grid(data, ranks // tensor // context // data, tensor, context)


def divisors(number: int) -> list[int]:
    """All whole numbers that divide it."""
    return [one for one in range(1, count("ranks", number) + 1) if number % one == 0]
