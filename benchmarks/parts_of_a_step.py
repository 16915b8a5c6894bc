"""True measurements of small things, in turns: parts of a step, two products, three all-reduces.

A step reads its pictures from text, computes a gradient and makes an update, in float64 or in
float32. A product with a matrix of rank 2 is made with the whole matrix, or with its two factors:
the same numbers, other operations. All-reduces are those of the course and the MPI library's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from ddl_measure.repetitions import side_by_side
from ddl_teach import Comm
from ddl_teach.collectives import linear, native, ring
from ddl_teach.training.tasks.digits import Digits

PARTS = {
    "a step": ("input", "gradient", "update"),
    "a step, input apart": ("gradient", "update"),
    "a gradient": ("gradient",),
}
SAMPLES, HIDDEN, RATE = 256, 512, 0.1
ROWS, SIDE, RANK = 256, 1024, 2
NUMBERS = 2**18  # of an all-reduce
WAYS: Mapping[str, Callable] = {
    "linear": linear.allreduce,
    "ring": ring.allreduce,
    "native": native.allreduce,
}


class Step:
    """One step of a training, in parts."""

    def __init__(self, dtype: str) -> None:
        self.task = Digits(SAMPLES, HIDDEN, dtype=dtype)
        shown = self.task.pictures.learnt[:SAMPLES]
        self.text = ",".join(f"{it:.4f}" for it in shown.flat)
        self.weights = self.task.initial()
        self.slope = np.zeros_like(self.weights)

    def input(self) -> None:
        """Read the pictures from text, as they come."""
        np.fromstring(self.text, self.task.dtype, sep=",").reshape(SAMPLES, -1)

    def gradient(self) -> None:
        """Forward and backward."""
        self.slope = self.task.gradient(self.weights, 0, 1, 0)[1]

    def update(self) -> None:
        """The step itself."""
        self.weights -= RATE * self.slope

    def all(self, parts: tuple[str, ...]) -> None:
        """These parts, one after the other."""
        for part in parts:
            getattr(self, part)()


def parts_of_a_step(repetitions: int) -> dict[tuple[str, str], np.ndarray]:
    """Seconds by (dtype, what), all taking turns."""
    steps = {dtype: Step(dtype) for dtype in ("float64", "float32")}
    ways = {
        (dtype, what): partial(step.all, parts)
        for dtype, step in steps.items()
        for what, parts in PARTS.items()
    }
    return side_by_side(ways, repetitions=repetitions, warm_up=3)


def accuracies(dtype: str, seeds: range, steps: int = 100) -> list[float]:
    """What is learnt in that precision, on one rank."""
    found = []
    for seed in seeds:
        task = Digits(SAMPLES, HIDDEN, seed, dtype)
        weights = task.initial()
        for step in range(steps):
            weights -= RATE * task.gradient(weights, 0, 1, step)[1]
        found.append(task.accuracy(weights))
    return found


def products(repetitions: int) -> tuple[dict[str, np.ndarray], dict[str, int], float]:
    """Seconds and operations of a product by the whole matrix and by its factors; their error."""
    random = np.random.default_rng(0)
    shapes = (ROWS, SIDE), (SIDE, RANK), (RANK, SIDE)
    x, left, right = (random.standard_normal(it).astype("float32") for it in shapes)
    whole = left @ right
    ways = {"whole": lambda: x @ whole, "factors": lambda: (x @ left) @ right}
    operations = {"whole": 2 * ROWS * SIDE * SIDE, "factors": 4 * ROWS * SIDE * RANK}
    exact = x.astype("float64") @ left.astype("float64") @ right.astype("float64")
    error = float(np.abs(ways["factors"]() - exact).max() / np.abs(exact).max())
    return side_by_side(ways, repetitions=repetitions, warm_up=3), operations, error


def allreduces(comm: Comm, repetitions: int) -> dict[str, np.ndarray]:
    """Seconds of each all-reduce on this rank, in turns, all ranks beginning together."""
    vector = np.ones(NUMBERS, "float32")
    ways = {name: partial(way, comm, vector, "max") for name, way in WAYS.items()}
    return side_by_side(ways, repetitions=repetitions, warm_up=2, before=comm.barrier)
