"""Which convolution wins where: a map over two things that are varied.

A cell's colour is the method that is predicted to be the fastest there, its strength how far ahead
of the next one it is. What to look at: the border between two colours is the crossover, and when
the rates of a processor change, it is the border that moves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ddl_teach.plots.convolutions import METHOD_COLOURS, OTHER, method_name
from ddl_teach.plots.style import Picture, describe, in_style

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
    stacks = {name: np.stack(list(times.values())) for name, times in maps.items()}
    for name, stack in stacks.items():
        if stack.shape[1:] != (len(rows), len(columns)):
            raise ValueError(
                f"the times of {name} have shape {stack.shape[1:]}; with {len(rows)} rows and "
                f"{len(columns)} columns it must be {(len(rows), len(columns))}"
            )
    figure = Picture(figsize=(1.6 + 3.9 * len(maps), 4.2))
    axes = figure.subplots(1, len(maps), squeeze=False, sharey=True)[0]
    shares: dict[str, dict[str, float]] = {}
    for ax, (name, times) in zip(axes, maps.items(), strict=True):
        methods, stack = list(times), stacks[name]
        winner = stack.argmin(axis=0)
        ordered = np.sort(stack, axis=0)
        ahead = ordered[1] / ordered[0] if len(methods) > 1 else np.full(winner.shape, np.inf)
        strength = np.clip(np.log(ahead) / np.log(FAR_AHEAD), PALEST, 1.0)[..., None]
        colours = np.array([to_rgb(METHOD_COLOURS.get(method, OTHER)) for method in methods])
        ax.imshow(1 - strength * (1 - colours[winner]), origin="lower", aspect="auto")
        ax.set_title(name, weight="normal", size=10)
        _ticks(ax.set_xticks, columns)
        ax.set_xlabel(column_quantity)
        shares[name] = {
            method: float((winner == place).mean()) for place, method in enumerate(methods)
        }
    _ticks(axes[0].set_yticks, rows)
    axes[0].set_ylabel(row_quantity)
    won = dict.fromkeys(m for share in shares.values() for m, part in share.items() if part)
    patches = [Patch(color=METHOD_COLOURS.get(m, OTHER), label=method_name(m)) for m in won]
    axes[-1].legend(handles=patches, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    found = finding(shares)
    figure.suptitle(found if title is None else title, x=0.01, ha="left", weight="bold", size=11.5)
    words = f"Maps of the fastest method over {row_quantity} and {column_quantity}"
    describe(figure, f"{words}. {found}.")
    return figure


def finding(shares: Mapping[str, Mapping[str, float]]) -> str:
    """What part of each map its largest winner has, in one line."""
    parts = []
    for name, share in shares.items():
        best = max(share, key=share.get)
        parts.append(f"{name}: {method_name(best)} wins {share[best]:.0%}")
    return "; ".join(parts)


def _ticks(put: Callable[..., object], values: Sequence[float]) -> None:
    step = max(1, -(-len(values) // 10))
    places = range(0, len(values), step)
    put(places, [f"{values[place]:g}" for place in places])
