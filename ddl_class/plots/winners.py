"""Which all-reduce wins where: a map over ranks and sizes, and all times at one point of it.

Left a colour is the algorithm that is fastest there; the ring marks where you stand. Right are the
times on your row of the map. What to look at: with more latency the borders move to the right,
with less bandwidth to the left.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

from ddl_class.plots.frame import Numbers, Series, counted, least, need
from ddl_class.plots.svg import Drawing, Frame, Scale, logarithmic
from ddl_runtime.pictures.style import INK, Look, algorithm_colour
from ddl_runtime.pictures.words import size_text, spoken, time_text

Colours = Mapping[str, tuple[float, ...]]
Point = tuple[int, float]  # ranks and bytes

WIDTH, HEIGHT = 980, 400
TOP, BOTTOM = 78, 345  # of both frames
MAP, ROW = Frame(68, 455, TOP, BOTTOM), Frame(545, 800, TOP, BOTTOM)
NAME_CELLS = (3, 11)  # rows and columns of the map that a name covers
PALE = 0.85  # of the colours of the map, so that names on it can be read
QUIET = "#666666"


def plot_winners(
    winners: np.ndarray,
    ranks: Sequence[int],
    nbytes: Numbers,
    times: Series,
    here: Point,
    *,
    costs: str = "",
) -> Drawing:
    """Draw the map and the row of it on which one stands.

    `winners[i][j]` names the fastest algorithm of `ranks[i]` ranks and vectors of `nbytes[j]`
    bytes, sizes that grow by a constant factor; `times` are those of all algorithms for `here[0]`
    ranks and each of `nbytes`. `here` must be one of the ranks and one of the sizes. `costs` says
    in words what a message costs.
    """
    row, column = _place("ranks", here[0], ranks), _place("sizes", here[1], nbytes)
    at_here = {name: float(curve[column]) for name, curve in times.items()}
    winner = min(at_here, key=at_here.__getitem__)
    alt = in_words(winners[row], nbytes, at_here, here, costs)
    drawing = Drawing(WIDTH, HEIGHT, alt)
    drawing.text(14, 24, finding(at_here, here), font_size=16, font_weight="bold")
    drawing.text(14, 46, costs, fill=QUIET)
    colours = {name: algorithm_colour(name, k) for k, name in enumerate(times)}
    x, y = _draw_map(drawing, np.asarray(winners), ranks, nbytes, colours)
    drawing.line([(MAP.left, y(row)), (MAP.right, y(row))], stroke="white", stroke_dasharray="2 3")
    _mark(drawing, x(nbytes[column]), y(row))
    x, y = _draw_row(drawing, nbytes, times, colours)
    drawing.line([(x(here[1]), TOP), (x(here[1]), BOTTOM)], stroke=INK, stroke_dasharray="2 3")
    _mark(drawing, x(here[1]), y(at_here[winner]))
    drawing.text(ROW.right + 22, TOP + 4, "at your point", fill=QUIET)
    for line, name in enumerate(sorted(at_here, key=at_here.__getitem__)):
        height = TOP + 30 + 42 * line
        drawing.rect(ROW.right + 22, height - 9, 14, 24, fill=colours[name])
        drawing.text(ROW.right + 44, height, spoken(name))
        drawing.text(ROW.right + 44, height + 16, time_text(at_here[name]), font_weight="bold")
    return drawing


def finding(times: Mapping[str, float], here: Point) -> str:
    """A line that names the fastest at one point, and says by how much."""
    where = f"{counted(here[0], 'rank')}, {size_text(here[1])}"
    order = sorted(times, key=times.__getitem__)
    first = least({name: times[name] for name in order})
    if len(first) > 1:
        return f"{where}: {' and '.join(map(spoken, first))} are equally fast"
    if len(order) == 1 or not times[order[0]]:
        return f"{where}: {spoken(order[0])} takes {time_text(times[order[0]])}"
    factor = times[order[1]] / times[order[0]]
    return f"{where}: {spoken(order[0])} wins, {spoken(order[1])} takes {factor:.3g} times as long"


def in_words(
    row: Sequence[str], nbytes: Numbers, times: Mapping[str, float], here: Point, costs: str = ""
) -> str:
    """The picture for those who cannot see it: the point, all times there, and its row."""
    order = sorted(times, key=times.__getitem__)
    listed = ", ".join(f"{spoken(name)} {time_text(times[name])}" for name in order)
    changes = [k for k in range(1, len(row)) if row[k] != row[k - 1]]
    reigns = [f"{spoken(row[k - 1])} below {size_text(nbytes[k])}" for k in changes]
    reigns.append(f"{spoken(row[-1])} {'from there on' if changes else 'at every size'}")
    given = f" ({costs})" if costs else ""
    return (
        f"Map of the fastest all-reduce over ranks and vector sizes{given}. "
        f"{finding(times, here)}. Times there: {listed}. "
        f"With {counted(here[0], 'rank')}: {', '.join(reigns)}."
    )


def _place(what: str, value: float, values: Numbers) -> int:
    """The place of a value among those of the map."""
    same = np.isclose(np.asarray(values, float), value)
    ends = f"{min(values):,} to {max(values):,}"
    need(same.any(), f"{value:,} is not one of the map's {what}, {ends}")
    return int(same.argmax())


def _draw_map(
    drawing: Drawing, winners: np.ndarray, ranks: Sequence[int], nbytes: Numbers, colours: Colours
) -> tuple[Scale, Scale]:
    """Draw the map; returns where a size and where a row lie on it."""
    x, cell = _draw_frame(drawing, MAP, nbytes, "the fastest"), (BOTTOM - TOP) / len(ranks)
    sizes = np.asarray(nbytes, float)
    between = np.sqrt(sizes[:-1] * sizes[1:])
    edges = [x(size) for size in (sizes[0], *between, sizes[-1])]

    def y(row: float) -> float:
        """Few ranks lie below, many above."""
        return BOTTOM - (row + 0.5) * cell

    crisp: Look = {"shape_rendering": "crispEdges"}
    for row, names in enumerate(winners):
        column = 0
        for name, run in groupby(names):
            end = column + len(list(run))
            wide = edges[end] - edges[column]
            # Opaque: rows that share an edge pixel would add up to a line there.
            pale = tuple(1 - PALE * (1 - part) for part in colours[name])
            drawing.rect(edges[column], y(row) - cell / 2, wide, cell, fill=pale, **crisp)
            column = end
    powers = [row for row, count in enumerate(ranks) if count & (count - 1) == 0]
    shown = powers[:: -(-len(powers) // 9)]
    MAP.mark_left(drawing, [(y(row), f"{ranks[row]:,}") for row in shown])
    drawing.text(MAP.left - 8, TOP - 10, "ranks", text_anchor="end")
    for name in colours:
        if (place := _widest(winners == name)) is not None:
            halo: Look = {"stroke": "white", "stroke_width": 4, "stroke_linejoin": "round"}
            middle: Look = {"text_anchor": "middle", "paint_order": "stroke"}
            look = {**middle, **halo}
            drawing.text(x(sizes[place[1]]), y(place[0]) + 4.5, spoken(name), **look)
    return x, y


def _widest(region: np.ndarray) -> tuple[int, int] | None:
    """The row and column where a name fits best into its region, if there is room for one."""
    high, wide = (min(pair) for pair in zip(NAME_CELLS, region.shape, strict=True))
    inside = np.lib.stride_tricks.sliding_window_view(region, (high, wide)).sum((2, 3))
    if inside.max() < high * wide / 2:
        return None
    rows, columns = np.nonzero(inside == inside.max())
    # Of all places that are as good, the one nearest to their middle.
    away = np.abs(rows - rows.mean()) + np.abs(columns - columns.mean())
    best = int(np.argmin(away))
    return int(rows[best]) + high // 2, int(columns[best]) + wide // 2


def _draw_row(
    drawing: Drawing, nbytes: Numbers, times: Series, colours: Colours
) -> tuple[Scale, Scale]:
    """Draw times over sizes; returns where a size and where a time lie."""
    x = _draw_frame(drawing, ROW, nbytes, "time on your row of the map")
    curves = np.array([*times.values()])
    y = logarithmic(curves.min(), curves.max(), BOTTOM - 5, TOP + 5)
    powers = np.arange(np.ceil(np.log10(curves.min())), np.log10(curves.max()) + 1e-9)
    shown = 10.0 ** powers[:: -(-len(powers) // 8)]
    ROW.mark_left(drawing, [(y(time), time_text(time)) for time in shown], grid=True)
    for thinner, (name, curve) in enumerate(times.items()):
        # Of lines that lie on each other, the lower ones show at both sides.
        look: Look = {"stroke": colours[name], "stroke_width": max(5.0 - thinner, 1.6)}
        drawing.line([(x(size), y(t)) for size, t in zip(nbytes, curve, strict=True)], **look)
    return x, y


def _draw_frame(drawing: Drawing, frame: Frame, nbytes: Numbers, title: str) -> Scale:
    """An axis of sizes below, and what the frame shows above; returns where a size lies."""
    x = logarithmic(nbytes[0], nbytes[-1], frame.left, frame.right)
    first, last = (int(np.ceil(np.log2(size) - 1e-9)) for size in (nbytes[0], nbytes[-1]))
    step = max(1, round((last - first) / (frame.right - frame.left) * 62))
    sizes = [2.0**power for power in range(first + -first % step, last + 1, step)]
    frame.draw(
        drawing, "vector of each rank (bytes)", [(x(size), size_text(size)) for size in sizes]
    )
    drawing.text(frame.left, TOP - 10, title)
    return x


def _mark(drawing: Drawing, x: float, y: float) -> None:
    drawing.circle(x, y, 6, fill="none", stroke="white", stroke_width=5.5)
    drawing.circle(x, y, 6, fill="none", stroke="black", stroke_width=2.2)
