"""The board as a page that anybody can open: one file, nothing to load, nothing that runs."""

import html
import math

from ddl_class.competition.board import Board, BoardRow
from ddl_class.competition.ground import NETWORK, NODES
from ddl_measure.interval import Interval

STYLE = """
body { font: 16px/1.5 sans-serif; color: #333; max-width: 62em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; width: 100% } th { text-align: left }
td, th { padding: .4em .8em .4em 0; border-bottom: 1px solid #ddd; vertical-align: top }
.bar { position: relative; height: .9em; min-width: 12em; background: #f2f2f2 }
.bar i { position: absolute; height: 100%; background: #4477aa } small { color: #666 }
"""


def page(board: Board) -> str:
    """HTML: the table, and below it who was refused and why."""
    [house] = board.house.entries
    target, machine = board.house.target, board.house.machines[house.machine]
    seeds = ", ".join(map(str, board.house.made.seeds))
    title = f"Time to {target.accuracy:.0%}: {board.house.data.name}"
    between = f"; the network between them: {machine[NETWORK]}" if NETWORK in machine else ""
    given = (
        f"Given: {house.cores} ranks on {machine['cores']} cores of {machine['processor']}, "
        f"{machine['memory']}. Nodes: {machine.get(NODES, 'not said')}{between}. Seeds {seeds}. "
        f"The target is met on {board.house.data.held_out} samples that are held out. Every entry "
        "has passed the review of reports. Teams whose 95% intervals overlap are not "
        "told apart: a place is one more than there are teams that are certainly faster."
    )
    ends = [end for line in board.lines for end in line.seconds if math.isfinite(end)]
    rows = "".join(_row(line, max(ends, default=1.0)) for line in board.lines)
    own = _safe(f"The lab's own entry: {board.house.made.date}, code {board.house.made.code}.")
    heads = "place", "team", "seconds", "95% interval", "epochs", "accuracy", "ranks", "trainings"
    columns = "".join(f"<th>{head}</th>" for head in heads)
    refused = "".join(
        f"<li><b>{_safe(it.file)}</b><ul>"
        + "".join(f"<li>{_safe(reason)}</li>" for reason in it.reasons)
        + "</ul></li>"
        for it in board.refused
    )
    below = f"<h2>Not shown, and why</h2><ul>{refused}</ul>" if refused else ""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{_safe(title)}</title>'
        f"<style>{STYLE}</style><h1>{_safe(title)}</h1><p>{_safe(given)}</p>"
        f"<table><tr>{columns}</tr>{rows}</table>{below}"
        f"<p><small>{own}</small></p></html>\n"
    )


def _row(line: BoardRow, longest: float) -> str:
    low, high = (100 * min(it / longest, 1) for it in line.seconds[1:])
    bar = (
        f'<div class="bar" role="img" aria-label="{_seconds(line.seconds)}">'
        f'<i style="left:{low:.1f}%;width:{max(high - low, 0.8):.1f}%"></i></div>'
    )
    cells = (
        line.place, line.team, _seconds(line.seconds), bar, _three(line.epochs, "{:.3g}"),
        _three(line.accuracy, "{:.1%}"), line.ranks,
        f"{line.trainings}, after {line.searched} to choose settings",
    )  # fmt: skip
    return "<tr>" + "".join(
        f"<td>{cell if cell is bar else _safe(cell)}</td>" for cell in cells
    ) + "</tr>"  # fmt: skip


def _seconds(times: Interval) -> str:
    return f"{_three(times, '{:.3g}')} s"


def _three(numbers: Interval, form: str) -> str:
    middle, low, high = (form.format(it) if math.isfinite(it) else "never" for it in numbers)
    return f"{middle} ({low} to {high})"


def _safe(text: object) -> str:
    return html.escape(str(text))
