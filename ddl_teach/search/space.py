"""A space of settings: what a search may choose, and how likely.

    Space({"rate": LogUniform(0.01, 1), "momentum": UniformNumber(0, 0.9), "width": Choice(8, 9)})

Settings number k of a seed are always the same: so a search that was killed meets its trials
again, and two searches can be compared. Random settings beat a grid of as many where few matter: n
trials try n values of each (Bergstra and Bengio, "Random search for hyper-parameter optimization",
JMLR 2012).
What to look at: a rate spans decades, so it is drawn by its logarithm; drawn evenly, nine tenths
of all trials would lie in the highest decade.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ddl_runtime.core.checks import whole_number
from ddl_teach.search.decider import Settings

FACTORS = (0.8, 1.2)  # of Jaderberg et al. 2017
DRAW, PERTURB = range(2)  # what random numbers are for: no two uses share any


@dataclass(frozen=True)
class UniformNumber:
    """Every number from `low` to `high` as likely as another."""

    low: float
    high: float

    def __post_init__(self) -> None:
        for bound in (self.low, self.high):
            if isinstance(bound, bool) or not isinstance(bound, (int, float)):
                raise TypeError(f"{self}: a bound must be a plain number, not {bound!r}")
        if not -math.inf < self.low < self.high < math.inf:
            raise ValueError(f"{self}: low must be less than high, and both must be finite")

    def draw(self, random: np.random.Generator) -> float:
        return float(random.uniform(self.low, self.high))

    def near(self, value: float, random: np.random.Generator) -> float:
        """`value` times 0.8 or 1.2, moved into the bounds."""
        return float(min(max(value * random.choice(FACTORS), self.low), self.high))


@dataclass(frozen=True)
class LogUniform(UniformNumber):
    """Every decade from `low` to `high` as likely as another."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low <= 0:
            raise ValueError(
                f"LogUniform: low={self.low!r} has no logarithm; take a small number above zero, "
                "or UniformNumber"
            )

    def draw(self, random: np.random.Generator) -> float:
        drawn = math.exp(random.uniform(math.log(self.low), math.log(self.high)))
        return min(max(drawn, self.low), self.high)  # the exponential rounds


@dataclass(frozen=True)
class WholeNumber(UniformNumber):
    """Every whole number from `low` to `high`, both of them included."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.low, int) and isinstance(self.high, int)):
            raise TypeError(f"{self}: both bounds must be whole numbers")

    def draw(self, random: np.random.Generator) -> int:
        return int(random.integers(int(self.low), int(self.high), endpoint=True))

    def near(self, value: float, random: np.random.Generator) -> int:
        """Four or six fifths of it, and at least one away, within the bounds."""
        factor = random.choice(FACTORS)
        moved = round(value * factor)
        if moved == value:
            moved += 1 if factor > 1 else -1
        return int(min(max(moved, self.low), self.high))


@dataclass(frozen=True, init=False)
class Choice:
    """One of a few things, each as likely as another."""

    options: tuple[Any, ...]

    def __init__(self, *options: Any) -> None:
        if not options:
            raise ValueError("Choice: give the things to choose from, as Choice(16, 32)")
        object.__setattr__(self, "options", options)

    def __repr__(self) -> str:
        return f"Choice({', '.join(map(repr, self.options))})"

    def draw(self, random: np.random.Generator) -> Any:
        return self.options[random.integers(len(self.options))]

    def near(self, value: Any, random: np.random.Generator) -> Any:
        """The `value` itself: many choices fix the shapes of the weights, and weights are kept."""
        return value


Axis = UniformNumber | Choice
"""What one setting may be; of numbers also their logarithms, or whole ones."""


@dataclass(frozen=True)
class Space:
    """Named axes; their order plays no role."""

    axes: Mapping[str, Axis]

    def __post_init__(self) -> None:
        if not isinstance(self.axes, Mapping) or not self.axes:
            raise TypeError(
                'Space: give names and axes, as Space({"rate": LogUniform(1e-3, 1)}), '
                f"not {self.axes!r}"
            )
        for name, axis in self.axes.items():
            if not isinstance(axis, Axis):
                raise TypeError(
                    f"Space: {name!r} must be UniformNumber(low, high), LogUniform(low, high), "
                    f"WholeNumber(low, high) or Choice(...), not {axis!r}"
                )

    def options(self, who: str) -> dict[str, tuple[Any, ...]]:
        """The options of each axis. Every axis must be a `Choice`; else the error names `who`
        needs it."""
        options = {}
        for name, axis in self.axes.items():
            if not isinstance(axis, Choice):
                raise TypeError(
                    f"{who} chooses among options: {name} must be a Choice, not {axis!r}"
                )
            options[name] = axis.options
        return options

    def sample(self, seed: int, number: int) -> Settings:
        """Settings number `number` of this seed."""
        random = np.random.default_rng([DRAW, seed, number])
        drawn = {name: self.axes[name].draw(random) for name in sorted(self.axes)}
        return {name: drawn[name] for name in self.axes}

    def perturb(self, settings: Settings, seed: int, number: int) -> Settings:
        """Settings close to these: each number times 0.8 or 1.2, choices as they are."""
        random = np.random.default_rng([PERTURB, seed, number])
        moved = {name: self.axes[name].near(settings[name], random) for name in sorted(self.axes)}
        return {**settings, **moved}


def check_plan(decider: Any, *counts: str) -> None:
    """Refuse the plan of a search if its space is no `Space`, or its seed or one of these counts
    cannot be."""
    name = type(decider).__name__
    if not isinstance(decider.space, Space):
        raise TypeError(f"{name}: space must be a Space({{...}}), not {decider.space!r}")
    for what in (*counts, "seed"):
        least = {"seed": 0, "eta": 2}.get(what, 1)
        whole_number(getattr(decider, what), f"{name}: {what}", least)
