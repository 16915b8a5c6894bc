"""How an analysis reads: a row for each layer, the totals, and what was not counted."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ddl_teach.operators.analysis.table import Analysis, Layer

HEADS = (
    "layer", "kind", "output", "parameters", "kept", "work", "depth", "moved", "work/byte",
    "to input", "to parameters",
)  # fmt: skip
TEXTS = 3  # columns of words, the others are numbers
NOTE = (
    "Of the forward pass: work in scalar operations, depth along the longest chain, bytes moved. "
    "Kept: bytes for backward. To input, to parameters: work of both gradients."
)


def count_text(number: float) -> str:
    """A count in three digits.

    >>> count_text(105_415_200), count_text(96)
    ('105 M', '96')
    """
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            scaled = number / size
            return f"{scaled:.0f} {unit}" if scaled >= 100 else f"{scaled:.3g} {unit}"
    return f"{number:.0f}"


def rows(analysis: Analysis) -> list[list[str]]:
    """The table's cells: a row for each layer and one for the network.

    A number in which something uncounted is missing is marked.
    """
    found = [_row(layer) for layer in analysis.layers]
    back = (
        sum(getattr(layer, gradient).work for layer in analysis.layers)
        for gradient in ("input_gradient", "parameter_gradient")
    )
    forward, mark = analysis.forward, "+ ?" if analysis.uncounted else ""
    found.append(
        [
            analysis.network,
            "network",
            "",
            count_text(analysis.parameters),
            f"{count_text(analysis.activation_bytes)}B",
            f"{count_text(forward.work)}{mark}",
            f"{forward.depth}{mark}",
            f"{count_text(forward.nbytes)}B",
            f"{forward.intensity:.2f}{mark}",
            *(f"{count_text(work)}{mark}" for work in back),
        ]
    )
    return found


def _row(layer: Layer) -> list[str]:
    forward, mark = layer.forward, "" if layer.counted else "+ ?"
    return [
        layer.name or "(itself)",
        layer.kind,
        " x ".join(map(str, layer.output)),
        count_text(layer.parameters),
        f"{count_text(layer.activation_bytes)}B",
        f"{count_text(forward.work)}{mark}",
        f"{forward.depth}{mark}",
        f"{count_text(forward.nbytes)}B",
        f"{forward.intensity:.2f}{mark}",
        f"{count_text(layer.input_gradient.work)}{mark}",
        f"{count_text(layer.parameter_gradient.work)}{mark}",
    ]


def notes(analysis: Analysis) -> list[str]:
    """What stands below the table."""
    back = analysis.backward
    found = [
        NOTE,
        f"Backward: {count_text(back.work)} operations, depth {back.depth}. Multiply-adds: "
        f"{analysis.forward.multiply_adds:,} forward, {back.multiply_adds:,} backward.",
    ]
    if analysis.uncounted:
        found.append(
            f"Not counted, and missing wherever a question mark stands: "
            f"{', '.join(analysis.uncounted)}. analyse(..., rules=...) takes rules for them."
        )
    return found


def as_text(analysis: Analysis) -> str:
    """For a terminal."""
    table = [list(HEADS), *rows(analysis)]
    widths = [max(len(row[column]) for row in table) for column in range(len(HEADS))]
    lines = [
        "  ".join(
            cell.ljust(width) if column < TEXTS else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
    return "\n".join([*lines, *notes(analysis)])


def as_html(analysis: Analysis) -> str:
    """For a notebook."""
    *layers, network = rows(analysis)
    body = "".join(f"<tr>{_cells(row, 'td')}</tr>" for row in layers)
    last = f'<tr style="font-weight:bold">{_cells(network, "td")}</tr>'
    below = "".join(f"<p>{html.escape(note)}</p>" for note in notes(analysis))
    return f"<table><thead><tr>{_cells(HEADS, 'th')}</tr></thead>{body}{last}</table>{below}"


def _cells(row: list[str] | tuple[str, ...], tag: str) -> str:
    sides = ["left"] * TEXTS + ["right"] * (len(HEADS) - TEXTS)
    return "".join(
        f'<{tag} style="text-align:{side}">{html.escape(cell)}</{tag}>'
        for cell, side in zip(row, sides, strict=True)
    )
