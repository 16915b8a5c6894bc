"""A space of settings: what a search may choose, and how likely.

    Space({"rate": LogUniform(0.01, 1), "momentum": UniformNumber(0, 0.9), "width": Choice(8, 9)})

Settings number k of a seed are the same whoever draws them, when, and after which others: so a
search that was killed meets its trials again, and two searches can be compared on the same ones.
Random settings beat a grid of as many where few settings matter: n trials try n values of each
(Bergstra and Bengio, "Random search for hyper-parameter optimization", JMLR 2012).
What to look at: a rate spans decades, so it is drawn by its logarithm; drawn evenly, nine tenths
of all trials would lie in the highest decade.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ddl_teach.search.job import Settings

FACTORS = (0.8, 1.2)  # of Jaderberg et al. 2017
DRAW, PERTURB = range(2)  # what random numbers are for: no two uses share any


@runtime_checkable
class Axis(Protocol):
    """One setting."""

    def draw(self, random: np.random.Generator) -> Any:
        """Any of its values."""

    def near(self, value: Any, random: np.random.Generator) -> Any:
        """A value close to this one."""


@dataclass(frozen=True)
class UniformNumber:
    """Every number from `low` to `high` as likely as another."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_bounds(self, self.low, self.high)

    def draw(self, random: np.random.Generator) -> float:
        return float(random.uniform(self.low, self.high))

    def near(self, value: float, random: np.random.Generator) -> float:
        """Four or six fifths of it, within the bounds."""
        return float(min(max(value * random.choice(FACTORS), self.low), self.high))


@dataclass(frozen=True)
class LogUniform(UniformNumber):
    """Every decade from `low` to `high` as likely as another."""

    def __post_init__(self) -> None:
        _check_bounds(self, self.low, self.high)
        if self.low <= 0:
            raise ValueError(
                f"LogUniform: low={self.low!r} has no logarithm; take a small number above zero, "
                "or UniformNumber"
            )

    def draw(self, random: np.random.Generator) -> float:
        drawn = math.exp(random.uniform(math.log(self.low), math.log(self.high)))
        return min(max(drawn, self.low), self.high)  # the exponential rounds


@dataclass(frozen=True)
class WholeNumber:
    """Every whole number from `low` to `high`, both of them included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        _check_bounds(self, self.low, self.high)
        if not (isinstance(self.low, int) and isinstance(self.high, int)):
            raise TypeError(f"{self}: both bounds must be whole numbers")

    def draw(self, random: np.random.Generator) -> int:
        return int(random.integers(self.low, self.high, endpoint=True))

    def near(self, value: int, random: np.random.Generator) -> int:
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
        """The same: what is chosen often says what the weights look like, and these are kept."""
        return value


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
            if isinstance(axis, type) or not isinstance(axis, Axis):
                raise TypeError(
                    f"Space: {name!r} must be UniformNumber(low, high), LogUniform(low, high), "
                    f"WholeNumber(low, high) or Choice(...), not {axis!r}"
                )

    def options(self, who: str) -> dict[str, tuple[Any, ...]]:
        """Those of each axis, for `who` cannot draw a number."""
        found = {}
        for name, axis in self.axes.items():
            if not isinstance(axis, Choice):
                raise TypeError(
                    f"{who} chooses among options: {name} must be a Choice, not {axis!r}"
                )
            found[name] = axis.options
        return found

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


def _check_bounds(axis: Any, low: float, high: float) -> None:
    for bound in (low, high):
        if isinstance(bound, bool) or not isinstance(bound, (int, float)):
            raise TypeError(f"{axis}: a bound must be a plain number, not {bound!r}")
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"{axis}: low must be less than high, and both must be finite")
