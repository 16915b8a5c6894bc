"""Nodes, the ranks on them, and the cables between: what a rank program does not see.

A frame is a node, a disc a rank in its colour, a thick line a cable to the switch. With bytes, a
cable is as thick as what it has carried. What to look at: ranks of one node share one cable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch
from matplotlib.ticker import FuncFormatter, PercentFormatter

from ddl_teach.plots.style import (
    INK,
    Points,
    algorithm_colour,
    describe,
    in_style,
    new_axes,
    rank_colour,
    size_text,
)

CABLE, PAPER = "#ddaa33", "#f4f1e8"
WIDEST = 14.0  # points, of the cable that carried most
BETWEEN = 0.5  # of two nodes, where a rank takes 1


@in_style
def plot_nodes(
    node_of: Sequence[int],
    sent: Sequence[float] = (),
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw ranks on nodes, by the node of each rank; `sent` are bytes by node, in their order."""
    nodes = list(dict.fromkeys(node_of))
    ranks = [[rank for rank, node in enumerate(node_of) if node == one] for one in nodes]
    if sent and len(sent) != len(nodes):
        raise ValueError(f"sent has {len(sent)} numbers, but there are {len(nodes)} nodes")
    wide = sum(map(len, ranks)) + BETWEEN * (len(nodes) - 1)
    ax = new_axes(9.0, 3.2) if ax is None else ax
    left = 0.0
    for place, own in enumerate(ranks):
        middle = left + len(own) / 2
        if len(nodes) > 1:
            share = sent[place] / max(sent) if sent and max(sent) else 0.3
            ax.plot([middle, wide / 2], [1.0, 2.2], color=CABLE, linewidth=WIDEST * share + 0.5,
                    solid_capstyle="butt", zorder=1)  # fmt: skip
            if sent:
                ax.text(middle, 1.22, size_text(sent[place]), ha="center", zorder=4,
                        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
        _frame(ax, left, 0.0, len(own), 1.0)
        ax.text(middle, -0.08, f"node {nodes[place]}", ha="center", va="top", color=INK)
        for at, rank in enumerate(own):
            colour = rank_colour(rank)
            ax.add_patch(Circle((left + at + 0.5, 0.5), 0.34, color=colour, zorder=3))
            ink = "white" if sum(colour) < 1.6 else "black"
            ax.text(left + at + 0.5, 0.5, str(rank), ha="center", va="center", zorder=4, color=ink)
        left += len(own) + BETWEEN
    if len(nodes) > 1:
        _frame(ax, wide / 2 - 0.9, 2.0, 1.8, 0.5)
        ax.text(wide / 2, 2.25, "switch", ha="center", va="center", color=INK, zorder=4)
    ax.set_xlim(-0.3, wide + 0.3)
    ax.set_ylim(-0.5, 2.7)
    ax.axis("off")
    found = finding(ranks, nodes, sent)
    ax.set_title(found if title is None else title)
    placed = "; ".join(
        f"node {node}: ranks {', '.join(map(str, own))}"
        for node, own in zip(nodes, ranks, strict=True)
    )
    describe(ax.figure, f"{found}. {placed}.")
    return ax.figure


def finding(ranks: Sequence[Sequence[int]], nodes: Sequence[int], sent: Sequence[float]) -> str:
    """How many pairs share a node; or which cable carried most."""
    count = sum(map(len, ranks))
    if len(nodes) == 1:
        return f"{count} ranks on one node: no message crosses a cable"
    if sent:
        most = max(range(len(nodes)), key=lambda place: sent[place])
        return (
            f"Node {nodes[most]}'s cable carried most, {size_text(sent[most])}; all together "
            f"{size_text(sum(sent))}"
        )
    near = sum(len(own) * (len(own) - 1) // 2 for own in ranks)
    pairs = count * (count - 1) // 2
    return f"Of {pairs} pairs of ranks {near} share a node; {pairs - near} are joined by cables"


@in_style
def plot_share_of_work(
    predicted: Mapping[str, Points],
    simulated: Mapping[str, Points] = {},
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw which share of a step is work, by exchange, over nodes: predicted lines, simulated
    squares."""
    ax = new_axes(9.0, 3.8) if ax is None else ax
    for place, (name, (nodes, share)) in enumerate(predicted.items()):
        colour = algorithm_colour(name, place)
        ax.plot(nodes, share, color=colour, label=name)
        if name in simulated:
            ax.plot(*simulated[name], "s", color=colour, markerfacecolor="none")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}"))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.set_ylim(0, 1.02)
    ax.grid(True)
    ax.legend(loc="lower left")
    ax.set_xlabel("nodes   (line: predicted, square: simulated)")
    ax.set_ylabel("work's share of a step")
    ends = {name: (nodes[-1], share[-1]) for name, (nodes, share) in predicted.items()}
    said = ", ".join(f"{share:.0%} by {name}" for name, (_, share) in ends.items())
    found = f"On {max(nodes for nodes, _ in ends.values()):,} nodes work is {said} of a step"
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Share of work in a step over the number of nodes. {found}.")
    return ax.figure


def _frame(ax: Axes, left: float, low: float, width: float, height: float) -> None:
    corner, look = (left + 0.06, low + 0.06), "round,pad=0.04"
    box = FancyBboxPatch(corner, width - 0.12, height - 0.12, boxstyle=look, zorder=2)
    box.set(facecolor=PAPER, edgecolor=INK)
    ax.add_patch(box)
