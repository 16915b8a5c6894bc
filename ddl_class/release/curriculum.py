"""The course as a whole: its parts, and for each unit its minutes and the units that it needs.

It stands in curriculum.toml; titles and exercises stand in the registry.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from ddl_class.exercises.registry import units
from ddl_class.plots.course import MappedUnit, plot_course_map


@dataclass(frozen=True)
class Lesson:
    """The duration of a unit, the units that it needs, and whether it is on the starred path."""

    minutes: int
    needs: tuple[str, ...] = ()
    starred: bool = False


_COURSE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
PARTS: Mapping[str, tuple[str, ...]] = {part: (*units,) for part, units in _COURSE.items()}
LESSONS: Mapping[str, Lesson] = {
    number: Lesson(**about | {"needs": (*about.get("needs", ()),)})
    for units in _COURSE.values()
    for number, about in units.items()
}


def stops() -> dict[str, list[MappedUnit]]:
    """The units of each part, as the map draws them."""
    stops: dict[str, list[MappedUnit]] = {part: [] for part in PARTS}
    for unit in units():
        part = next(part for part, numbers in PARTS.items() if unit.number in numbers)
        lesson = LESSONS[unit.number]
        further = set().union(*map(_all_before, lesson.needs))  # what these need themselves
        nearest = tuple(need for need in lesson.needs if need not in further)
        about = unit.number, unit.title, lesson.minutes, lesson.starred
        stops[part].append(MappedUnit(*about, nearest))
    return stops


def _all_before(number: str) -> set[str]:
    needs = LESSONS[number].needs
    return set(needs).union(*map(_all_before, needs))


def course_map() -> Figure:
    """The map of the course."""
    return plot_course_map(stops())
