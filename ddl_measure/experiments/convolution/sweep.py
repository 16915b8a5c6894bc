"""Three answers over a row of problems: what is counted, what is predicted, what is measured.

The count knows no machine, the prediction knows three rates of it, the measurement only itself.
What to look at: at which problem one method begins to win, by each of the three.
"""

from collections.abc import Sequence
from dataclasses import dataclass

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
        """From which of the `varied` values on `method` beats `than`, by each of the three."""
        sources = {
            "counted": self.operations,
            "predicted": self.predicted,
            "measured": self.measured,
        }
        places = {name: first_below(one[method], one[than]) for name, one in sources.items()}
        return {
            name: None if place is None else float(varied[place]) for name, place in places.items()
        }


def sweep(
    problems: Sequence[Convolution],
    rates: Rates,
    methods: Sequence[str] = tuple(METHODS),
    *,
    repetitions: int = 5,
) -> Sweep:
    """Count, predict and measure the forward pass in float32 of each problem by each method."""
    rows = {"operations": [], "memory": [], "predicted": [], "measured": []}
    for problem in problems:
        able = [name for name in methods if not find(name).refusal(problem)]
        counts = {name: cost(name, problem) for name in able}
        rows["operations"].append({name: one.operations for name, one in counts.items()})
        rows["memory"].append({name: 4 * one.held for name, one in counts.items()})
        rows["predicted"].append({name: seconds(one, rates) for name, one in counts.items()})
        rows["measured"].append(medians(problem, able, repetitions))
    return Sweep(
        **{
            source: {name: np.array([row.get(name, np.nan) for row in row_of]) for name in methods}
            for source, row_of in rows.items()
        }
    )


def medians(
    problem: Convolution, methods: Sequence[str], repetitions: int = 5
) -> dict[str, float]:
    """Seconds of the forward pass by each method, taking turns on the same random data."""
    x, weight = torch.randn(problem.x_shape), torch.randn(problem.weight_shape)
    numbers = {"stride": problem.stride, "padding": problem.padding, "groups": problem.groups}
    runs = {name: lambda run=find(name).forward: run(x, weight, **numbers) for name in methods}
    with torch.inference_mode():
        times = side_by_side(runs, repetitions=repetitions)
    return {name: float(np.median(taken)) for name, taken in times.items()}
