"""What pieces of a batch cost on this machine: every method, every size, each of the three passes.

An offer's seconds are those of a piece among its like: a few pieces in a row, as a division will
run them, over different examples; the median of several rounds in which all contestants take
turns. Its workspace is counted, not believed: the most that was allocated, less the result where
that is the layer's own. Which sizes are tried is a policy, as in mu-cuDNN (Oyama, Ben-Nun, Hoefler
& Matsuoka 2018): "powers_of_two", "all", or "undivided", which is the whole batch alone. What to
look at: measuring takes many times as long as one step of training, once, and then every step
gains.
A plan promises that no pass of any convolution needs more than its limit. `rooms_of` counts it
while a whole network runs: torch hands every operator to a *dispatch mode*, forwards and
backwards, and this one counts each allocation inside of a divided convolution.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from ddl_measure.allocations import peak_allocation
from ddl_measure.repetitions import side_by_side
from ddl_teach.operators.convolution.methods import METHODS, find
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.divided_batches.divided import PASSES, Divided
from ddl_teach.operators.divided_batches.offers import DivisibleBatch, Offer, sizes_of
from ddl_teach.operators.divided_batches.planning import DivisionPlan, decide
from ddl_teach.operators.divided_batches.transform import sites

ROW = 4  # pieces that are measured in a row
READS = {"forward": ("x", "weight"), "input_gradient": ("gradient", "weight"),
         "weight_gradient": ("x", "gradient")}  # fmt: skip
ENDINGS = ("", "_input_gradient", "_weight_gradient")
OPERATORS = {
    getattr(torch.ops.ddl_teach, f"divided_convolution{ending}").default: direction
    for ending, direction in zip(ENDINGS, PASSES, strict=True)
}


def measure(
    problem: Convolution, *, name: str = "convolution", methods: Sequence[str] = tuple(METHODS),
    sizes: str | Iterable[int] = "powers_of_two", passes: Sequence[str] = PASSES,
    repetitions: int = 3, dtype: torch.dtype = torch.float32,
) -> dict[str, DivisibleBatch]:  # fmt: skip
    """A job for each pass, with an offer for every size of every method that can."""
    refusals = {method: find(method).refusal(problem, dtype) for method in methods}
    able = [method for method in methods if not refusals[method]]
    generator = torch.Generator().manual_seed(0)
    shapes = problem.x_shape, problem.weight_shape, problem.output_shape
    tensors = {
        which: torch.randn(shape, generator=generator, dtype=dtype)
        for which, shape in zip(("x", "weight", "gradient"), shapes, strict=True)
    }
    jobs = {}
    for direction in passes:
        runs = {
            (method, size): partial(_on, direction, problem, tensors, method, size)
            for method in able
            for size in sizes_of(sizes, problem.batch)
        }
        rows = {(method, size): min(problem.batch // size, ROW) for method, size in runs}
        in_a_row = {key: partial(run, rows[key] * key[1]) for key, run in runs.items()}
        seconds = side_by_side(in_a_row, repetitions=repetitions)
        offers = tuple(
            Offer(
                *key, float(np.median(seconds[key])) / rows[key], _workspace(run, problem, key[1])
            )
            for key, run in runs.items()
        )
        refused = {method: why for method, why in refusals.items() if why}
        jobs[direction] = DivisibleBatch(f"{name}, {direction}", problem.batch, offers, refused)
    return jobs


def plan(
    network: nn.Module,
    *example: Tensor,
    limit: float,
    together: bool = False,
    keep: Collection[str] = (),
    **measuring: Any,
) -> DivisionPlan:
    """Measure the network's convolutions on inputs like `example`, and divide each of them.

    `limit` bytes are for each pass alone, or for all of them `together`. `keep` names convolutions
    that stay as they are; what else is given goes to `measure`. Convolutions of the same
    sizes are measured once.
    """
    measured = cache(lambda problem, dtype: measure(problem, dtype=dtype, **measuring))
    jobs = {
        site.name: {
            direction: replace(job, name=f"{site.name}, {direction}")
            for direction, job in measured(site.problem, site.dtype).items()
        }
        for site in sites(network, *example, keep=keep)
    }
    return decide(jobs, limit, together)


def _on(
    direction: str, problem: Convolution, tensors: Mapping[str, Tensor], method: str, size: int,
    examples: int,
) -> Any:  # fmt: skip
    """One pass of `examples` examples, in pieces of one size."""
    parts = (
        tensors[name] if name == "weight" else tensors[name][:examples]
        for name in READS[direction]
    )
    run = getattr(Divided(f"{method}:{size}*1"), direction)
    return run(*parts, replace(problem, batch=examples))


def _workspace(run: Callable[[int], Any], problem: Convolution, size: int) -> int:
    """The bytes that one piece takes; a piece's own result is copied into the layer's."""
    kept = run(size).nbytes if size == problem.batch else 0
    return peak_allocation(lambda: run(size)) - kept


@dataclass(frozen=True)
class Room:
    """One pass of one convolution: the most bytes that it held beside its result."""

    direction: str  # one of PASSES
    shapes: tuple[tuple[int, ...], ...]  # of its two tensors
    nbytes: int


def rooms_of(work: Callable[[], Any]) -> list[Room]:
    """The rooms of all divided convolutions that `work` runs, in order: a step, for instance."""
    with _Counting() as counting:
        work()
    return counting.rooms


class _Counting(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.rooms: list[Room] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: tuple = (), keywords: Any = None
    ) -> Any:
        if function not in OPERATORS:
            return function(*arguments, **(keywords or {}))
        results: list[Any] = []  # kept here, so that a result is still held when all is counted
        most = peak_allocation(lambda: results.append(function(*arguments, **(keywords or {}))))
        shapes = tuple(tuple(array.shape) for array in arguments[:2])
        self.rooms.append(Room(OPERATORS[function], shapes, most - results[0].nbytes))
        return results[0]
