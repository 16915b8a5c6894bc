"""Points of convolutions: the time of every method, for a size and a limit of workspace.

Under a limit each method does the batch in pieces, the largest power of two that fits (mu-cuDNN:
Oyama, Ben-Nun, Hoefler and Matsuoka 2018); one that does not fit with a single example is not
allowed. So the limit is part of the question: a method that wins where there is room may lose
where there is little. Whole batches are run, in their pieces, side by side.
What to look at: a problem with several limits is one group. Its points are repetitions of each
other, more or less, and must be held out together.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from ddl_measure.repetitions import side_by_side
from ddl_teach.operators.convolution.methods import METHODS, find
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.divided_batches import divided
from ddl_teach.search.choosing.points import Chooser, Points
from ddl_teach.theory.convolution_cost import cost
from ddl_teach.theory.convolution_time import Rates

SHAPE = ("batch", "in_channels", "size", "out_channels", "kernel")
NAMES = (*SHAPE, "limit")
MIB = 2**20
LIMITS = (MIB // 4, 4 * MIB, 64 * MIB)


def problem_of(question: Sequence[float]) -> Convolution:
    """The convolution of a question: square images, padded so that they keep their size."""
    batch, inputs, size, outputs, kernel = (int(number) for number in question[:5])
    around = (kernel // 2, kernel // 2)
    return Convolution(batch, inputs, size, size, outputs, (kernel, kernel), padding=around)


def drawn(count: int, seed: int = 0, most: float = 2e8) -> list[tuple[int, ...]]:
    """`count` shapes drawn at random, each of at most `most` multiplications."""
    random, problems = np.random.default_rng(seed), {}
    while len(problems) < count:
        shape = tuple(
            int(random.choice(options))
            for options in ((4, 8, 16), (4, 16, 64, 128), (7, 14, 28, 56), (4, 16, 64, 128),
                            (1, 3, 5, 7))
        )  # fmt: skip
        if cost("direct", problem_of(shape)).product.multiplications <= most:
            problems[shape] = None
    return [*problems]


def piece(problem: Convolution, method: str, limit: float) -> int:
    """The most examples that a method can do at a time within the limit; 0 if not even one."""
    if find(method).refusal(problem, torch.float32):
        return 0
    size = 2 ** (problem.batch.bit_length() - 1)
    while size:
        if find(method).workspace(replace(problem, batch=size), torch.float32) <= limit:
            return size
        size //= 2
    return 0


def measured(
    shapes: Sequence[Sequence[int]],
    limits: Sequence[int] = LIMITS,
    *,
    methods: Sequence[str] = tuple(METHODS),
    repetitions: int = 10,
) -> Points:
    """Points of every shape and limit, forward; where no method fits there is no point."""
    questions, seconds = [], []
    for shape in shapes:
        problem = problem_of(shape)
        x, weight = torch.randn(problem.x_shape), torch.randn(problem.weight_shape)
        pieces = {
            (name, limit): piece(problem, name, limit) for name in methods for limit in limits
        }
        runs = {
            (name, size): partial(divided.Divided(f"{name}:{size}*1").forward, x, weight, problem)
            for (name, _), size in pieces.items()
            if size
        }
        with torch.inference_mode():
            taken = side_by_side(runs, repetitions=repetitions)
        never = np.full(repetitions, np.inf)
        for limit in limits:
            times = [taken.get((name, pieces[name, limit]), never) for name in methods]
            if np.isfinite(times).any():
                questions.append((*shape, limit))
                seconds.append(times)
    return Points(NAMES, np.array(questions, float), tuple(methods), np.array(seconds))


def counted(points: Points) -> np.ndarray:
    """What each method takes: operations of products and of transforms, bytes moved, pieces."""
    table = np.zeros((len(points), len(points.choices), 4))
    for (place, number), name in np.ndenumerate(np.tile(points.choices, (len(points), 1))):
        problem, limit = problem_of(points.questions[place]), points.questions[place, -1]
        size = piece(problem, name, limit)
        if size:
            each, pieces = cost(name, replace(problem, batch=size)), problem.batch / size
            amounts = each.product.total, each.transforms.total, 4 * each.moved, 1.0
            table[place, number] = np.multiply(amounts, pieces)
    return table


def by_rates(rates: Rates) -> Chooser:
    """The choices of a processor's three rates, measured apart."""
    seconds = np.array([1 / rates.product, 1 / rates.transform, 1 / rates.bandwidth, 0.0])
    return lambda points: counted(points) @ seconds
