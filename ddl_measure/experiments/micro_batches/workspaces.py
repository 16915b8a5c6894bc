"""What the divided convolutions of a whole network really took, while it ran.

A plan promises that no pass of any convolution needs more than its limit. Here the promise is
counted: torch hands every operator that runs to a *dispatch mode*, forwards and backwards, and
this one counts each allocation inside of a divided convolution. What to look at: the largest of
them beside the limit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ddl_measure.allocations import peak_allocation
from ddl_teach.operators.micro_batches import operator

ENDINGS = ("", "_input_gradient", "_weight_gradient")
NAMES = {
    getattr(torch.ops.ddl_teach, f"micro_batched_convolution{ending}").default: direction
    for ending, direction in zip(ENDINGS, operator.PASSES, strict=True)
}


@dataclass(frozen=True)
class Room:
    """One pass of one convolution: the most bytes that it held beside its result."""

    direction: str  # of operator.PASSES
    shapes: tuple[tuple[int, ...], ...]  # of its two tensors
    nbytes: int


def rooms_of(work: Callable[[], Any]) -> list[Room]:
    """The rooms of all divided convolutions that `work` runs, in order: a step, for instance."""
    with _Counting() as counting:
        work()
    return counting.found


class _Counting(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Room] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: tuple = (), keywords: Any = None
    ) -> Any:
        if function not in NAMES:
            return function(*arguments, **(keywords or {}))
        results: list[Any] = []  # kept here, so that a result is still held when all is counted
        most = peak_allocation(lambda: results.append(function(*arguments, **(keywords or {}))))
        shapes = tuple(tuple(one.shape) for one in arguments[:2])
        self.found.append(Room(NAMES[function], shapes, most - results[0].nbytes))
        return results[0]
