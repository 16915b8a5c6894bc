"""How an analysis reads, in a terminal and in a notebook: rows of cells, with notes below."""

import html
from collections.abc import Sequence

HEADS = (
    "layer", "kind", "output", "parameters", "kept", "work", "depth", "moved", "work/byte",
    "to input", "to parameters",
)  # fmt: skip
TEXTS = 3  # columns of words, the others are numbers


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


def as_text(rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """For a terminal; the last row is the network's."""
    table = [HEADS, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(HEADS))]
    lines = [
        "  ".join(
            cell.ljust(width) if column < TEXTS else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
    return "\n".join([*lines, *notes])


def as_html(rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """For a notebook; the last row is the network's."""
    *layers, network = rows
    body = "".join(f"<tr>{_cells(row, 'td')}</tr>" for row in layers)
    last = f'<tr style="font-weight:bold">{_cells(network, "td")}</tr>'
    below = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return f"<table><thead><tr>{_cells(HEADS, 'th')}</tr></thead>{body}{last}</table>{below}"


def _cells(row: Sequence[str], tag: str) -> str:
    sides = ["left"] * TEXTS + ["right"] * (len(HEADS) - TEXTS)
    return "".join(
        f'<{tag} style="text-align:{side}">{html.escape(cell)}</{tag}>'
        for cell, side in zip(row, sides, strict=True)
    )
