"""Nodes, the ranks on them, and the cables between; and what failures cost where they are many.

A disc is a rank, a thick line a cable to the switch, as thick as what it has carried. What to look
at: ranks of one node share one cable; the more nodes, the shorter the best interval between
checkpoints. Left of the valley saving takes the time, right of it the work that is done again.
"""

from collections.abc import Sequence

from matplotlib.patches import Circle

from ddl_class.plots.frame import Curves, Numbers, Plane, need, plane
from ddl_runtime.pictures.style import INK, Look, Picture, algorithm_colour, rank_colour
from ddl_runtime.pictures.words import size_text

CABLE, PAPER = "#ddaa33", "#f4f1e8"
WIDEST = 14.0  # points, of the cable that carried most
BETWEEN = 0.5  # of two nodes, where a rank takes 1


def plot_nodes(node_of: Sequence[int], sent: Numbers = (), *, title: str | None = None) -> Picture:
    """Draw ranks on nodes, by the node of each rank; `sent` are bytes by node, in their order."""
    nodes = list(dict.fromkeys(node_of))
    ranks = [[rank for rank, node in enumerate(node_of) if node == this] for this in nodes]
    words = f"sent has {len(sent)} numbers, but there are {len(nodes)} nodes"
    need(not sent or len(sent) == len(nodes), words)
    wide = sum(map(len, ranks)) + BETWEEN * (len(nodes) - 1)
    ax = plane(height=3.2)
    look: Look = {"color": INK, "fontsize": 10, "zorder": 4}
    left = 0.0
    for place, own in enumerate(ranks):
        middle = left + len(own) / 2
        if len(nodes) > 1:
            share = sent[place] / max(sent) if sent and max(sent) else 0.3
            cable: Look = {"linewidth": WIDEST * share + 0.5, "solid_capstyle": "butt"}
            ax.plot([middle, wide / 2], [1.0, 2.2], color=CABLE, zorder=1, **cable)
        if len(nodes) > 1 and sent:
            halo = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            ax.write(middle, 1.22, size_text(sent[place]), va="baseline", bbox=halo, **look)
        _frame(ax, left, 0.0, len(own), 1.0)
        ax.write(middle, -0.08, f"node {nodes[place]}", va="top", **look)
        for at, rank in enumerate(own):
            spot, colour = (left + at + 0.5, 0.5), rank_colour(rank)
            ax.add_patch(Circle(spot, 0.34, color=colour, zorder=3))
            ax.write(*spot, rank, on=colour, fontsize=10, zorder=4)
        left += len(own) + BETWEEN
    if len(nodes) > 1:
        _frame(ax, wide / 2 - 0.9, 2.0, 1.8, 0.5)
        ax.write(wide / 2, 2.25, "switch", **look)
    ax.set(xlim=(-0.3, wide + 0.3), ylim=(-0.5, 2.7))
    ax.axis("off")
    placed = "; ".join(
        f"node {node}: ranks {', '.join(map(str, own))}"
        for node, own in zip(nodes, ranks, strict=True)
    )
    about, takeaway = "Ranks on their nodes", _finding(ranks, nodes, sent)
    return ax.finish(about, takeaway, title, grid="", more=f"{placed}.")


def _frame(ax: Plane, left: float, low: float, width: float, height: float) -> None:
    box = left + 0.02, low + 0.02, width - 0.04, height - 0.04
    ax.round_box(*box, 0.04, facecolor=PAPER, zorder=2)


def _finding(ranks: Sequence[Sequence[int]], nodes: Sequence[int], sent: Numbers) -> str:
    """How many pairs share a node; or which cable carried most."""
    every = sum(map(len, ranks))
    if len(nodes) == 1:
        return f"{every} ranks on one node: no message crosses a cable"
    if sent:
        most, whole = size_text(max(sent)), size_text(sum(sent))
        if min(sent) == max(sent):
            return f"Each of {len(nodes)} cables carried {most}; all together {whole}"
        busiest = [node for node, nbytes in zip(nodes, sent, strict=True) if nbytes == max(sent)]
        whose = f"Node {busiest[0]}'s cable" if len(busiest) == 1 else f"{len(busiest)} cables"
        return f"{whose} carried most, {most}; all together {whole}"
    near = sum(len(own) * (len(own) - 1) // 2 for own in ranks)
    pairs = every * (every - 1) // 2
    return f"Of {pairs} pairs of ranks {near} share a node; {pairs - near} are joined by cables"


def plot_share_of_work(predicted: Curves, simulated: Curves) -> Picture:
    """Draw which share of a step is work, by exchange, over nodes."""
    ax = plane("nodes   (line: predicted, square: simulated)", "work's share of a step", 3.8)
    grounds = {"predicted": predicted, "simulated": simulated}
    ax.draw_all(grounds, algorithm_colour, {"predicted": "{name}"})
    ax.log_scale("x", base=2)
    ax.in_percent("y")
    ax.set_ylim(0, 1.02)
    most = max(nodes[-1] for nodes, _ in predicted.values())
    shares = ", ".join(f"{name} {share[-1]:.0%}" for name, (_, share) in predicted.items())
    about = "Share of work in a step over the number of nodes"
    takeaway = f"Work's share of a step on {most:,} nodes, by the formula: {shares}"
    return ax.finish(about, takeaway, legend={"loc": "lower left"})
