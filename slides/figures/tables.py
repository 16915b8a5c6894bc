"""Recorded times as a table of Markdown."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.recorded import Measured


def beside(rows: Mapping[str, Measured], peer: str, whose: str, digits: int = 0) -> str:
    """Milliseconds with their intervals, by name, and as a part of the peer's."""
    lines = [f"| way | time | of {whose} |", "|---|---|---|"]
    for name, row in rows.items():
        low, median, high = (f"{it:.{digits}f}" for it in (row.low, row.median, row.high))
        part = row.median / rows[peer].median
        lines.append(f"| {name} | {median} ms ({low} to {high}) | {part:.2f} |")
    return "\n".join(lines)
