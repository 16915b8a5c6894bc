"""The map of the course says what the notebooks, the schedules and the picture say."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ddl_class.exercises.registry import units
from ddl_class.plots.course import MappedUnit, plot_course_map
from ddl_class.release.curriculum import LESSONS, PARTS, course_map, stops

ROOT = Path(__file__).resolve().parents[1]
HOURS = {"an hour and a half": 90, "two hours": 120, "an hour": 60}
NUMBERS = [unit.number for unit in units()]


def opening(number):
    """What the unit's own notebook, with most of its exercises, says before its first section, on
    one line. Of two with as many it is the one that names another there, or the longer one."""
    paths = (ROOT / "notebooks" / "source").glob(f"{number}_*.py")
    sources = sorted(path.read_text(encoding="utf-8") for path in paths)
    heads = {source: source.partition("# ## ")[0] for source in sources}

    def rank(source):
        return source.count(f'name="{number}.'), f"`{number}_" in heads[source], len(source)

    head = heads[max(sources, key=rank)]
    return " ".join(line.removeprefix("#").strip() for line in head.splitlines())


def minutes(words):
    if found := re.search(r"[Aa]bout (\d+)\s+minutes", words):
        return int(found[1])
    return next(number for said, number in HOURS.items() if f"bout {said}" in words)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_unit_takes_and_needs_what_its_notebook_says(number):
    words = opening(number)
    said = re.search(r"You need units? ([^.:;]*)", words)
    # What helps, or what one section alone needs, is no condition for the unit.
    told = re.sub(r"and for .*|and unit \d\d helps", "", said[1]) if said else ""
    needs = re.findall(r"\b\d\d\b", told)
    assert (minutes(words), sorted(needs)) == (
        LESSONS[number].minutes,
        sorted(LESSONS[number].needs),
    )


def test_each_unit_is_in_one_part_and_builds_on_earlier_ones():
    numbers = [number for part in PARTS.values() for number in part]
    assert numbers == sorted(LESSONS)
    assert set(NUMBERS) <= set(numbers)
    for number, lesson in LESSONS.items():
        assert all(before < number for before in lesson.needs)


def test_stars_are_the_units_of_half_a_day():
    schedule = tomllib.loads((ROOT / "docs" / "schedules.toml").read_text())["half"]["parts"]
    taught = {name for part in schedule for name in part.get("units", ())}
    taught |= {name[:2] for part in schedule for name in part.get("exercises", ())}
    assert taught == {number for number, lesson in LESSONS.items() if lesson.starred}


def test_the_picture_in_the_readme_is_the_map_of_today():
    with Image.open(ROOT / "docs" / "course_map.png") as picture:
        assert picture.info["Description"] == course_map().alt, "run: python docs/make_map.py"


def test_the_map_tells_in_words_all_that_it_shows():
    alt = course_map().alt
    for part, there in stops().items():
        for stop in there:
            assert part in alt
            assert f"{stop.number} {stop.title}" in alt
    # What is needed anyway is not drawn: 17 needs 06 and 08, and 08 needs 06.
    assert next(stop for stop in stops()["Training"] if stop.number == "17").needs == ("08",)


def test_boxes_do_not_touch_and_words_stay_inside():
    parts = {
        "One": [MappedUnit("00", "A title of three words", 60, True, ())],
        "Two": [MappedUnit("01", "Recurrences and precision", 120, True, ("00",)),
                MappedUnit("02", "B", 30, False, ("00", "01"))],
    }  # fmt: skip
    figure = plot_course_map(parts)
    figure.canvas.draw()
    (ax,) = figure.axes
    boxes = [patch.get_window_extent() for patch in ax.patches if hasattr(patch, "get_boxstyle")]
    assert len(boxes) == 3
    for text in ax.texts:
        extent = text.get_window_extent()
        inside = [box for box in boxes if box.contains(*np.mean([extent.min, extent.max], axis=0))]
        for box in inside:
            assert box.x0 <= extent.x0
            assert extent.x1 <= box.x1
            assert box.y0 <= extent.y0
            assert extent.y1 <= box.y1
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[i + 1 :])
