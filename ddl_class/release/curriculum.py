"""The course as a whole: its parts, and for each unit its minutes and the units that it needs.

Titles and exercises stand in the registry. `minutes` is the time of a learner who works alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.figure import Figure

from ddl_class.exercises.registry import units
from ddl_class.plots.course import MappedUnit, plot_course_map

PARTS: Mapping[str, tuple[str, ...]] = {
    "Start": ("00",),
    "Operators": ("01", "02", "03", "04"),
    "Communication": ("05", "06", "07"),
    "Networks": ("08", "09", "10", "11", "12"),
    "Training": ("13", "14", "15", "16", "17"),
    "Honesty": ("18", "19"),
    "Cluster": ("20",),
    "Today": ("21", "22", "23", "24", "25", "26"),
}


@dataclass(frozen=True)
class Lesson:
    """The duration of a unit, the units that it needs, and whether it is on the starred path."""

    minutes: int
    needs: tuple[str, ...] = ()
    starred: bool = False


LESSONS: Mapping[str, Lesson] = {
    "00": Lesson(60, starred=True),
    "01": Lesson(120),
    "02": Lesson(120, ("01",)),
    "03": Lesson(120, ("02",)),
    "04": Lesson(120, ("00",)),
    "05": Lesson(60, ("00",), starred=True),
    "06": Lesson(120, ("00", "05"), starred=True),
    "07": Lesson(120, ("05",)),
    "08": Lesson(90, ("06",), starred=True),
    "09": Lesson(120, ("06",)),
    "10": Lesson(120, ("00", "05"), starred=True),
    "11": Lesson(120, ("06", "08")),
    "12": Lesson(90, ("06",)),
    "13": Lesson(90, ("08",), starred=True),
    "14": Lesson(120, ("08",), starred=True),
    "15": Lesson(120, ("06",), starred=True),
    "16": Lesson(100, ("06",)),
    "17": Lesson(120, ("06", "08")),
    "18": Lesson(120, ("08",), starred=True),
    "19": Lesson(80, ("06", "08")),
    "20": Lesson(120, ("05", "06", "08"), starred=True),
    "21": Lesson(75, starred=True),
    "22": Lesson(90, ("06", "16")),
    "23": Lesson(90, ("06", "09", "20")),
    "24": Lesson(60, ("14", "16")),
    "25": Lesson(60, ("10", "11", "12")),
    "26": Lesson(75, ("09", "21")),
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
