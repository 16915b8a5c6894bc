"""What micro-batches cost on this machine: every method, every size, each of the three passes.

An offer's seconds are those of a piece among its like: a few pieces in a row, as a division will
run them, over different examples; the median of several rounds in which all contestants take
turns. Its workspace is counted, not believed: the most that was allocated, less the result where
that is the layer's own. Which sizes are tried is a policy, as in mu-cuDNN (Oyama, Ben-Nun, Hoefler
& Matsuoka 2018): "powers_of_two", "all", or "undivided", which is the whole batch alone. What to
look at: measuring takes many times as long as one step of training, once, and then every step
gains.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ddl_measure.allocations import peak_allocation
from ddl_measure.repetitions import side_by_side
from ddl_teach.operators.convolution.methods import METHODS, find
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.micro_batches.divided import Divided
from ddl_teach.operators.micro_batches.offers import DivisibleBatch, Offer, sizes_of
from ddl_teach.operators.micro_batches.operator import PASSES
from ddl_teach.operators.micro_batches.planning import DivisionPlan, decide
from ddl_teach.operators.micro_batches.transform import ConvolutionNode, sites

ROW = 4  # pieces that are measured in a row


def measure(
    problem: Convolution,
    *,
    name: str = "convolution",
    methods: Sequence[str] = tuple(METHODS),
    sizes: str | Iterable[int] = "powers_of_two",
    passes: Sequence[str] = PASSES,
    repetitions: int = 3,
    dtype: torch.dtype = torch.float32,
) -> dict[str, DivisibleBatch]:
    """A job for each pass, with an offer for every size of every method that can."""
    refusals = {method: find(method).refusal(problem, dtype) for method in methods}
    able = [method for method in methods if not refusals[method]]
    tensors = _tensors(problem, dtype)
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
    known: dict[ConvolutionNode, dict[str, DivisibleBatch]] = {}
    jobs = {}
    for site in sites(network, *example, keep=keep):
        key = ConvolutionNode("", site.problem, site.dtype)
        if key not in known:
            known[key] = measure(site.problem, dtype=site.dtype, **measuring)
        jobs[site.name] = {
            direction: DivisibleBatch(
                f"{site.name}, {direction}", job.batch, job.offers, job.refusals
            )
            for direction, job in known[key].items()
        }
    return decide(jobs, limit, together)


def _on(
    direction: str, problem: Convolution, tensors: Any, method: str, size: int, examples: int
) -> Any:
    """One pass of so many examples, in pieces of one size."""
    cut = (one[:examples] if of_examples else one for one, of_examples in tensors[direction])
    run = getattr(Divided(f"{method}:{size}*1"), direction)
    return run(*cut, replace(problem, batch=examples))


def _workspace(run: Callable[[int], Any], problem: Convolution, size: int) -> int:
    """The bytes that one piece takes; a piece's own result is copied into the layer's."""
    kept = run(size).nbytes if size == problem.batch else 0
    return peak_allocation(lambda: run(size)) - kept


def _tensors(problem: Convolution, dtype: torch.dtype) -> dict[str, tuple]:
    """For each pass its two tensors, and whether each has a row for every example."""
    generator = torch.Generator().manual_seed(0)
    x, weight, gradient = (
        torch.randn(shape, generator=generator, dtype=dtype)
        for shape in (problem.x_shape, problem.weight_shape, problem.output_shape)
    )
    return {
        "forward": ((x, True), (weight, False)),
        "input_gradient": ((gradient, True), (weight, False)),
        "weight_gradient": ((x, True), (gradient, True)),
    }
