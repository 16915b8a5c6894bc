"""Which convolution wins where: a map over two things that are varied.

A cell's colour is the method that is predicted to be the fastest there, its strength how far ahead
of the next one it is. What to look at: the border between two colours is the crossover, and when
the rates of a processor change, it is the border that moves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ddl_class.plots.convolutions import method_colour, method_name
from ddl_class.plots.frame import explain_colours, finish_panels
from ddl_class.plots.tables import draw_names
from ddl_runtime.pictures.style import in_style

FAR_AHEAD = 3.0  # times as fast as the next: the full colour
PALEST = 0.35


@in_style
def plot_method_map(
    maps: Mapping[str, Mapping[str, np.ndarray]],
    rows: Sequence[float],
    columns: Sequence[float],
    *,
    row_quantity: str,
    column_quantity: str,
    title: str | None = None,
) -> Figure:
    """Draw one map beside another, by name; each holds the times [row, column] of every method.

    Where a method cannot be used its time is inf.
    """
    winners, strength, said = {}, {}, []
    for name, times in maps.items():
        stack = np.stack(list(times.values()))
        if stack.shape[1:] != (len(rows), len(columns)):
            raise ValueError(
                f"the times of {name} have shape {stack.shape[1:]}; with {len(rows)} rows and "
                f"{len(columns)} columns it must be {(len(rows), len(columns))}"
            )
        winners[name] = np.array(list(times))[stack.argmin(axis=0)]
        first, second, *_ = np.sort([*stack, np.full(stack.shape[1:], np.inf)], axis=0)
        strength[name] = np.clip(np.log(second / first) / np.log(FAR_AHEAD), PALEST, 1.0)
        wins = {method: float((winners[name] == method).mean()) for method in times}
        best = max(wins, key=wins.__getitem__)
        said.append(f"{name}: {method_name(best)} wins {wins[best]:.0%}")
    won = np.unique([*winners.values()])
    colours = {method: method_colour(method) for times in maps.values() for method in times}
    colours = {method: colour for method, colour in colours.items() if method in won}
    axes = draw_names(winners, colours, strength, (1.6 + 3.9 * len(maps), 4.2))
    for ax in axes:
        _ticks(ax.set_xticks, columns)
        ax.set_xlabel(column_quantity)
    _ticks(axes[0].set_yticks, rows)
    axes[0].set_ylabel(row_quantity)
    explain_colours(axes[-1], {method_name(method): it for method, it in colours.items()})
    about = f"Maps of the fastest method over {row_quantity} and {column_quantity}"
    return finish_panels(axes, about, "; ".join(said), title)


def _ticks(put: Callable[..., object], values: Sequence[float]) -> None:
    places = range(0, len(values), max(1, -(-len(values) // 10)))
    put(places, [f"{values[place]:g}" for place in places])
