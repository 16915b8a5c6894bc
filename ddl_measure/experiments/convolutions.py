"""Convolutions by every method: what is counted, predicted and measured.

The count knows no machine, the prediction knows three rates of it, the measurement only itself.
What to look at: at which problem one method begins to win, by each of the three.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from ddl_measure.repetitions import side_by_side
from ddl_teach.operators.convolution.methods import METHODS, find
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.theory.convolution_cost import cost
from ddl_teach.theory.convolution_time import Rates, first_below, seconds


@dataclass(frozen=True)
class Sweep:
    """By method, one number for each problem; nan where a method refuses."""

    operations: dict[str, np.ndarray]
    memory: dict[str, np.ndarray]  # bytes held between stages
    predicted: dict[str, np.ndarray]  # seconds
    measured: dict[str, np.ndarray]  # seconds, the median

    @property
    def panels(self) -> dict[str, dict[str, np.ndarray]]:
        """Measured time, operations and memory, as `plots.convolutions.plot_sweep` draws them."""
        return {"time": self.measured, "operations": self.operations, "memory": self.memory}

    def crossings(
        self, varied: Sequence[float], method: str = "fft", than: str = "im2col"
    ) -> dict[str, float | None]:
        """The first of the `varied` values from which on `method` is below `than`: by the
        operations counted, the seconds predicted and the seconds measured. None where it never
        is."""
        sources = {
            "counted": self.operations, "predicted": self.predicted, "measured": self.measured
        }  # fmt: skip
        values: dict[str, float | None] = {}
        for name, source in sources.items():
            place = first_below(source[method], source[than])
            values[name] = None if place is None else float(varied[place])
        return values


def sweep(
    problems: Sequence[Convolution],
    rates: Rates,
    methods: Sequence[str] = tuple(METHODS),
    *,
    repetitions: int = 5,
) -> Sweep:
    """Count, predict and measure the forward pass in float32 of each problem by each method."""
    table = np.full((4, len(methods), len(problems)), np.nan)
    for column, problem in enumerate(problems):
        x, weight = torch.randn(problem.x_shape), torch.randn(problem.weight_shape)
        layer = {"stride": problem.stride, "padding": problem.padding, "groups": problem.groups}
        runs = {
            name: partial(find(name).forward, x, weight, **layer)
            for name in methods
            if not find(name).refusal(problem)
        }
        with torch.inference_mode():
            times = side_by_side(runs, repetitions=repetitions)
        for row, name in enumerate(methods):
            if name in runs:
                counts, median = cost(name, problem), np.median(times[name])
                each = counts.operations, 4 * counts.held, seconds(counts, rates), median
                table[:, row, column] = each
    return Sweep(*(dict(zip(methods, rows, strict=True)) for rows in table))
