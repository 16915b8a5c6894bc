"""How far the learner has come, from what was recorded: as a picture and as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ddl_class.exercises import record
from ddl_class.exercises.exercise import Exercise
from ddl_class.exercises.registry import units

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ddl_class.plots.course import Column


def progress() -> Figure:
    """A picture of the whole course: which exercises are tried, hinted, solved."""
    from ddl_class.plots.course import plot_progress

    return plot_progress(standing())


def progress_text() -> str:
    """The state of every exercise as lines of text, and the points."""
    lines, earned, whole = [], 0, 0
    for column in standing():
        lines.append(column.name)
        for tile in column.tiles:
            lines.append(f"  {tile.state:<10} {tile.name:<24} {tile.points:>2} points")
            whole += tile.points
            earned += tile.points if tile.state == "solved" else 0
    return "\n".join([*lines, f"\n{earned} of {whole} points. Kept in {record.folder()}"])


def standing() -> list[Column]:
    """What is known of every exercise of the course."""
    from ddl_class.plots.course import Column, Tile

    known = record.read()["exercises"]

    def tile(exercise: Exercise) -> Tile:
        title = exercise.name.split(".")[1].replace("_", " ")
        return Tile(title, exercise.points, state(known.get(exercise.name, {})))

    return [
        Column(f"{unit.number} {unit.title}", list(map(tile, unit.exercises))) for unit in units()
    ]


def state(known: Mapping[str, Any]) -> str:
    """The state of one exercise, from what was recorded of it."""
    if known.get("solved"):
        return "solved"
    if known.get("hints"):
        return "hinted"
    return "tried" if known.get("tries") else "not tried"
