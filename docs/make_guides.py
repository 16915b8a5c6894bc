"""Make the tables of the instructor's guide, and the page of answers, from the course itself.

    python docs/make_guides.py

Schedules stand in docs/schedules.toml, minutes and points in the registry of exercises, questions
and answers in the notebooks' sources. In a page all between a line `<!-- made: NAME -->` and
`<!-- end -->` is renewed; tests/test_guides.py compares.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ddl_class.exercises.exercise import Exercise
from ddl_class.exercises.registry import find_exercise, units

DOCS = Path(__file__).resolve().parent
SOURCES = DOCS.parent / "notebooks" / "source"
MADE = re.compile(r"(<!-- made: ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
QUESTIONS = re.compile(r"^## Three questions\n(.*?)(?=^## )", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
UNFOLDED = re.compile(r"<details><summary>(.*?)</summary>\n(.*?)\n</details>", re.DOTALL)
HEAD = """\
# Answers to the three questions

Each unit ends with three questions. Here they stand with their answers, for those who teach.
Learners unfold the same answers in their notebooks, so nothing here is secret: ask a question, let
pairs talk for two minutes, and only then unfold. The decks end with three questions, too; the
answers to those are in the notes of their last slides, and those of a lab in its `instructor.md`.
"""


@dataclass(frozen=True)
class Part:
    """A row of a schedule."""

    day: int
    begins: int  # minutes after midnight
    minutes: int
    what: str
    units: tuple[str, ...]
    exercises: tuple[str, ...]
    deck: int
    slides: tuple[int, ...]


@dataclass(frozen=True)
class Schedule:
    """One of the schedules, its days one after another."""

    title: str
    lengths: tuple[int, ...]  # of its days, in minutes
    parts: tuple[Part, ...]


def schedules() -> Mapping[str, Schedule]:
    """All of them, by name."""
    written = tomllib.loads((DOCS / "schedules.toml").read_text())
    return {name: _schedule(one) for name, one in written.items()}


def _schedule(written: dict) -> Schedule:
    days, parts, day, clock = written["days"], [], 1, 0
    for row in written["parts"]:
        begun = row.get("day", day)
        if begun != day or not parts:
            hours, minutes = days[begun - 1]["begins"].split(":")
            day, clock = begun, 60 * int(hours) + int(minutes)
        exercises = tuple(row.get("exercises", ()))
        found = [find_exercise(name) for name in exercises]
        length = row["minutes"] if "minutes" in row else sum(one.minutes for one in found)
        of_units = tuple(dict.fromkeys([*row.get("units", ()), *(one.unit for one in found)]))
        slides = tuple(row.get("slides", ()))
        parts.append(
            Part(day, clock, length, row.get("what", ""), of_units, exercises, row.get("deck", 0),
                 slides)
        )  # fmt: skip
        clock += length
    return Schedule(written["title"], tuple(one["minutes"] for one in days), tuple(parts))


def schedule_table(name: str) -> str:
    """A schedule as tables, one a day, and what is left of its units for home."""
    schedule = schedules()[name]
    blocks = []
    for day, length in enumerate(schedule.lengths, start=1):
        rows = ["| from | minutes | what |", "|---|---|---|"]
        rows += [
            f"| {part.begins // 60}:{part.begins % 60:02} | {part.minutes} | {_told(part)} |"
            for part in schedule.parts
            if part.day == day
        ]
        head = f"Day {day}, " if len(schedule.lengths) > 1 else ""
        blocks.append(f"{head}{length} minutes:\n\n" + "\n".join(rows))
    done = {one for part in schedule.parts for one in part.exercises}
    here = [unit for unit in units() if any(one.name in done for one in unit.exercises)]
    left = {unit.number: [one for one in unit.exercises if one.name not in done] for unit in here}
    if len(schedule.lengths) == 1:
        minutes = {number: sum(one.minutes for one in ones) for number, ones in left.items()}
        home = ", ".join(f"{number}: {spent}" for number, spent in minutes.items() if spent)
        blocks.append(f"Left of these units for home, in minutes: {home}.")
    else:  # the days have all units of their parts: what they leave out is named
        rows = ["Exercises left for home or for fast pairs, by unit:\n"]
        rows += [f"- {number}: {_named(ones)}" for number, ones in left.items() if ones]
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks)


def _told(part: Part) -> str:
    if part.deck:
        return f"Deck {part.deck}, slides {_ranges(part.slides)}: {part.what}"
    if part.exercises:
        found = [find_exercise(name) for name in part.exercises]
        return f"Exercises: {_named(found)}"
    return part.what


def _named(exercises: Iterable[Exercise]) -> str:
    return ", ".join(f"`{one.name}` ({one.minutes})" for one in exercises)


def _ranges(numbers: tuple[int, ...]) -> str:
    """Numbers in few words: 1 to 3, 6, 7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    short = (f"{run[0]} to {run[-1]}" if len(run) > 2 else f"{run}"[1:-1] for run in runs)
    return ", ".join(short)


def grading_key() -> str:
    """Every exercise with its points and minutes, and what a right function does."""
    rows = ["| exercise | points | minutes | right is what |", "|---|---|---|---|"]
    points = minutes = 0
    for unit in units():
        of_unit = sum(one.points for one in unit.exercises)
        spent = sum(one.minutes for one in unit.exercises)
        rows.append(f"| **{unit.number} {unit.title}** | **{of_unit}** | **{spent}** | |")
        rows += [
            f"| `{one.name}` {one.title} | {one.points} | {one.minutes} | {_cell(one.right)} |"
            for one in unit.exercises
        ]
        points, minutes = points + of_unit, minutes + spent
    rows.append(f"| **all** | **{points}** | **{minutes}** | |")
    return "\n".join(rows)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def answers() -> str:
    """The three questions of every notebook, with their answers."""
    blocks = [HEAD]
    for source in sorted(SOURCES.glob("*.py")):
        prose = _prose(source)
        if found := QUESTIONS.search(prose):
            unit = source.stem.partition("_")[0]
            blocks.append(f"## {unit} {TITLE.search(prose)[1]}\n\n{_unfold(found[1])}\n")
    return "\n".join(blocks)


def _prose(source: Path) -> str:
    """The Markdown of a notebook's source."""
    lines = source.read_text().splitlines()
    return "\n".join(line[2:] for line in lines if line.startswith("# ") or line == "#")


def _unfold(questions: str) -> str:
    without = questions.replace("Think first, then unfold.\n", "")
    opened = UNFOLDED.sub(r"**\1:**\n\2", without)
    return re.sub(r"\n{3,}", "\n\n", opened).strip()


TABLES: Mapping[str, Callable[[], str]] = {
    "schedule half": lambda: schedule_table("half"),
    "schedule today": lambda: schedule_table("today"),
    "schedule one": lambda: schedule_table("one"),
    "schedule two": lambda: schedule_table("two"),
    "grading key": grading_key,
}


def renewed(page: str) -> str:
    """A page whose tables are those of today."""
    return MADE.sub(lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n\n{found[3]}", page)


def pages() -> dict[Path, str]:
    """What each page should say."""
    guides = [path for path in DOCS.glob("*.md") if MADE.search(path.read_text())]
    made = {path: renewed(path.read_text()) for path in guides}
    return made | {DOCS / "answers.md": answers()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
        print(path)
