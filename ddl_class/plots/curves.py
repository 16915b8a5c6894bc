"""How curves look, by what they are and by their names, in every picture of the course."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ddl_runtime.pictures.style import ALGORITHM_COLOURS, rank_colour

Numbers = Sequence[float]
Series = Mapping[str, Numbers]
"""Numbers by the name of what they belong to."""

Curve = Sequence[Any]
"""(x, y), or with (lows, highs) as a third part."""
Curves = Mapping[str, Curve]
NO_CURVES: Curves = MappingProxyType({})

BRIGHT = tuple(ALGORITHM_COLOURS.values())
"""Colours for a few curves."""

LOOKS: Mapping[str, Mapping[str, Any]] = {
    "simulated": {"linestyle": "", "marker": "s", "markerfacecolor": "none"},
    "measured": {"linestyle": "", "marker": "o"},
}
"""What is neither of these, such as "predicted" or "computed", is a line."""


def over_steps(runs: Mapping[str, Numbers | np.ndarray], first: int = 0) -> Curves:
    """The values of each run over the numbers of its steps."""
    return {name: (range(first, first + len(run)), run) for name, run in runs.items()}


def by_position(_: str, position: int) -> Any:
    """A colour for each curve, by where it stands among the others."""
    return rank_colour(position)


def colours_of(colours: Sequence[str]) -> Callable[[str, int], str]:
    """The same from other colours."""
    return lambda _, position: colours[position % len(colours)]


bright = colours_of(BRIGHT)
