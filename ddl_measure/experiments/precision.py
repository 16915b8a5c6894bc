"""Short numbers: how far sums are off, and a small network in half precision.

What to look at of sums: the sum in order leaves the ground where the total reaches 2^p times a
term; a sum that needs no more than one or two roundings stays there.
Two hidden layers of tanh learn a curve. The network counts in millimetres and the loss in metres,
so every gradient carries a factor of 10^-3. In float32 nothing would show it; in float16 nearly
all gradients are zero. Products are those of a GPU's matrix units: terms of 16 bits, summed in
float32, rounded once. The weights are one vector of float32, of which the network sees a rounded
copy. Plain NumPy, so that every rounding can be seen.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import torch

from ddl_teach.operators.arrays import Array
from ddl_teach.operators.precision.compensated import kahan, neumaier
from ddl_teach.operators.precision.in_order import in_order, wider
from ddl_teach.operators.precision.loss_scaling import LossScale, unscale
from ddl_teach.operators.precision.numbers import relative_error
from ddl_teach.operators.precision.pairwise import pairwise
from ddl_teach.theory import rounding

Sum = Callable[[Array], Array]
Curves = dict[str, tuple[Sequence[int], np.ndarray]]

SUMS: Mapping[str, Sum] = MappingProxyType(
    {"in_order": in_order, "pairwise": pairwise, "kahan": kahan, "neumaier": neumaier,
     "wider": wider}
)  # fmt: skip
MILLI = 1e-3
SHAPES = (2, 24), (24, 24), (24, 1)
SIZES = (1.5, 0.3, 0.2)  # of the first weights of each layer
RATE = 50_000.0

Step = Callable[[np.ndarray, np.ndarray, float, int, int, float], tuple[np.ndarray, float, int]]
"""(weights, gradient, scale, good, interval, rate) -> (weights, next scale, next good)"""


def sum_errors(ways: Mapping[str, Sum], terms: Sequence[int]) -> Curves:
    """The largest relative error of each way, for 8 sums of numbers between 0 and 1 in float16."""
    generator = np.random.default_rng(0)
    samples = [generator.random((count, 8)).astype(np.float16) for count in terms]
    return {
        name: (terms, np.array([relative_error(way(x), x).max() for x in samples]))
        for name, way in ways.items()
    }


def sum_bounds(names: Iterable[str], terms: Sequence[int]) -> Curves:
    """What theory promises in float16, for the ways of these names."""
    formulas = {"in_order": rounding.in_order, "pairwise": rounding.pairwise,
                "neumaier": rounding.compensated, "wider": rounding.wider}  # fmt: skip
    return {
        name: (terms, np.array([formulas[name](count, "float16") for count in terms]))
        for name in names
    }


@dataclass(frozen=True)
class RegressionTask:
    """What is to be learned, and the weights to begin with."""

    x: np.ndarray  # float16
    y: np.ndarray  # metres
    weights: np.ndarray  # one vector of float32


@dataclass(frozen=True)
class PrecisionRun:
    """What happened in each step."""

    losses: list[float]
    scales: list[float]
    weights: np.ndarray  # after the last


def make_task() -> RegressionTask:
    """A wave of a millimetre, and random weights."""
    generator = np.random.default_rng(1)
    x = generator.uniform(-1, 1, (256, 2))
    y = MILLI * np.sin(2 * x[:, :1] + 3 * x[:, 1:])
    weights = [
        generator.normal(0, size, rows * columns)
        for size, (rows, columns) in zip(SIZES, SHAPES, strict=True)
    ]
    return RegressionTask(_half(x), y, np.concatenate(weights).astype(np.float32))


def loss_and_gradient(
    task: RegressionTask, weights: np.ndarray, scale: float
) -> tuple[float, np.ndarray]:
    """The loss, and the gradient of loss * scale in float16; infinite where it is too large."""
    ends = itertools.accumulate(rows * columns for rows, columns in SHAPES[:-1])
    layers = zip(np.split(weights, [*ends]), SHAPES, strict=True)
    w0, w1, w2 = (_half(part.reshape(shape)) for part, shape in layers)
    with np.errstate(over="ignore", invalid="ignore"):
        h0 = np.tanh(_product(task.x, w0))
        h1 = np.tanh(_product(h0, w1))
        wrong = MILLI * _product(h1, w2).astype(np.float32) - task.y
        out = _half(2 * MILLI * scale / len(task.x) * wrong)  # from the mean of squares
        inside1 = _product(out, w2.T) * (1 - h1 * h1)
        inside0 = _product(inside1, w1.T) * (1 - h0 * h0)
        parts = _product(task.x.T, inside0), _product(h0.T, inside1), _product(h1.T, out)
    return float(np.mean(wrong**2)), np.concatenate([part.ravel() for part in parts])


def scaled_step(
    weights: np.ndarray, gradient: np.ndarray, scale: float, good: int, interval: int, rate: float
) -> tuple[np.ndarray, float, int]:
    """One step of gradient descent with a dynamic scale, as `loss_scaling` has it."""
    [wide], finite = unscale([torch.from_numpy(gradient)], scale)
    after = LossScale(scale, interval=interval, good_steps=good).after(finite)
    moved = weights - rate * wide.numpy() if finite else weights
    return moved, after.scale, after.good_steps


def torchs_step(task: RegressionTask, interval: int) -> Step:
    """The same left to torch.amp.GradScaler and torch.optim.SGD, which keep the weights."""
    master = torch.nn.Parameter(torch.from_numpy(task.weights.copy()))
    optimizer = torch.optim.SGD([master], lr=RATE)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16, growth_interval=interval)
    scaler.scale(torch.zeros(1))  # it makes itself ready when it first scales

    def step(_: np.ndarray, gradient: np.ndarray, *__: float) -> tuple[np.ndarray, float, int]:
        master.grad = torch.from_numpy(gradient.astype(np.float32))
        scaler.step(optimizer)
        scaler.update()
        return master.detach().numpy().copy(), scaler.get_scale(), 0

    return step


def train(
    task: RegressionTask, step: Step, *, scale: float, interval: int, steps: int = 400
) -> PrecisionRun:
    """Train with whatever `step` does about the scale."""
    weights, good, losses, scales = task.weights, 0, [], []
    for _ in range(steps):
        loss, gradient = loss_and_gradient(task, weights, scale)
        losses.append(loss)
        scales.append(scale)
        weights, scale, good = step(weights, gradient, scale, good, interval, RATE)
    return PrecisionRun(losses, scales, weights)


def _half(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float16)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _half(a.astype(np.float32) @ b.astype(np.float32))
