"""`ddl-teach grades`: show the points of a course, or fill them into a learning platform's file.

Canvas (Grades, Export) and Moodle (Grades, Export as plain text; or an assignment's grading
worksheet) export a table of all accounts. The points of each assignment go into the column of its
name, or into a new one, and the file can be imported again. Other cells, and those of students who
handed in nothing, stay as they were.
"""

import argparse
import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ddl_class.commands.mistake import Mistake
from ddl_class.grading import tables
from ddl_class.grading.verdicts import Verdict
from ddl_runtime.records.whole_file import write_whole

# Columns that identify the student of a row, the most reliable first.
CANVAS = ("SIS Login ID", "SIS User ID", "ID", "Student")
MOODLE = ("Username", "ID number", "Email address", "Identifier", "Full name")
WORKSHEET = ("Identifier", "Grade", "Maximum grade")  # of one assignment of Moodle
POSSIBLE = "Points Possible"  # Canvas's row of what can be reached
DELIMITERS = ",;\t"


@dataclass
class Sheet:
    """A platform's file: its head and its rows, all of the same length."""

    head: list[str]
    rows: list[list[str]]
    delimiter: str
    mark: str  # of UTF-8, where the file has begun with it

    @property
    def is_canvas(self) -> bool:
        return self.head[0] == "Student" and "ID" in self.head

    @property
    def possible(self) -> list[str] | None:
        """Canvas's row of what can be reached."""
        return next((row for row in self.rows if row[0].strip() == POSSIBLE), None)

    def people(self) -> Iterator[list[str]]:
        """The rows that belong to an account."""
        for row in self.rows:
            if not self.is_canvas or any(row[self.head.index(name)] for name in self.keys()):
                yield row

    def keys(self) -> list[str]:
        """The columns that can identify an account."""
        known = CANVAS[:3] if self.is_canvas else MOODLE
        return [name for name in known if name in self.head]

    def column(self, name: str) -> int:
        """The place of a column; if none has this name, a new one is added at the end."""
        for place, title in enumerate(self.head):
            if title == name or re.fullmatch(rf"{re.escape(name)} \(\d+\)", title):
                return place
        self.head.append(name)
        for row in self.rows:
            row.append("")
        return len(self.head) - 1

    def text(self) -> str:
        """The file again."""
        text = io.StringIO()
        csv.writer(text, delimiter=self.delimiter, lineterminator="\n").writerows(
            [self.head, *self.rows]
        )
        return self.mark + text.getvalue()


def read_sheet(path: Path) -> Sheet:
    """A file that Canvas or Moodle has exported."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Mistake(f"{path} cannot be read as comma-separated values: {error}") from None
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix(mark)
    first = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=first.count)
    head, *rows = [*csv.reader(io.StringIO(text), delimiter=delimiter)] or [[]]
    rows = [row + [""] * (len(head) - len(row)) for row in rows if row]
    sheet = Sheet(head, rows, delimiter, mark)
    if not head or not sheet.keys():
        known = "; ".join(f"{', '.join(names)}" for names in (CANVAS, MOODLE))
        raise Mistake(f"{path} has no column that identifies the students. Known are {known}")
    if long := [row for row in rows if len(row) > len(head)]:
        raise Mistake(f"{path}: the row of {long[0][0]!r} has more cells than the first line")
    return sheet


def matched(sheet: Sheet, students: Mapping[str, object], key: str = "") -> dict[str, list[str]]:
    """The row of each student, by the column that identifies most of them."""
    if key and key not in sheet.head:
        raise Mistake(f"there is no column {key!r}; there are {', '.join(sheet.head)}")

    def whole(cell: str) -> str:
        return cell.strip().casefold()

    def login(cell: str) -> str:
        return whole(cell).partition("@")[0]

    def last_word(cell: str) -> str:
        return whole(cell).rpartition(" ")[2]

    ways: list[tuple[str, Callable[[str], str]]] = []
    for name in [key] if key else sheet.keys():
        ways.append((name, whole))
        if "mail" in name or "Login" in name or key:
            ways.append((name, login))
        if name == "Identifier":  # "Participant 1234"
            ways.append((name, last_word))
    best: dict[str, list[str]] = {}
    for name, read in ways:
        place = sheet.head.index(name)
        rows: dict[str, list[list[str]]] = {}
        for row in sheet.people():
            rows.setdefault(read(row[place]), []).append(row)
        alike = {student: rows.get(student.casefold(), []) for student in students}
        alone = {student: there[0] for student, there in alike.items() if len(there) == 1}
        owners = [id(row) for row in alone.values()]  # names that differ in their case alone
        alone = {name: row for name, row in alone.items() if owners.count(id(row)) == 1}
        if len(alone) > len(best):
            best = alone
    return best


def fill(
    sheet: Sheet, out: Path, verdicts: Sequence[Verdict], key: str = "", only: str = ""
) -> tuple[list[str], list[str]]:
    """Put the points of these verdicts, kept in `out`, into the sheet. Returns the students
    without a row, and warnings."""
    points, highest = tables.totals(verdicts), tables.highest(verdicts)
    if only and only not in highest:
        raise Mistake(f"{out} has no grades of {only!r}, but of {', '.join(sorted(highest))}")
    if set(WORKSHEET) <= set(sheet.head):
        if not only:
            raise Mistake("this is Moodle's worksheet of one assignment: say which by --only")
        columns = {only: sheet.head.index("Grade")}
    else:
        columns = {name: sheet.column(name) for name in sorted(highest) if only in ("", name)}
    points = {
        student: {name: earned[name] for name in columns if name in earned}
        for student, earned in points.items()
        if columns.keys() & earned.keys()
    }
    rows = matched(sheet, points, key)
    for student, row in rows.items():
        for name, earned in points[student].items():
            row[columns[name]] = f"{earned:g}"
    return [name for name in points if name not in rows], _other_points(sheet, columns, highest)


def _other_points(
    sheet: Sheet, columns: Mapping[str, int], highest: Mapping[str, float]
) -> list[str]:
    """Warnings where the platform has another maximum of points than the course."""
    if "Maximum grade" in sheet.head:
        place = sheet.head.index("Maximum grade")
        named = {name: {row[place] for row in sheet.rows} for name in columns}
    elif sheet.possible is not None:
        for name, place in columns.items():
            sheet.possible[place] = sheet.possible[place] or f"{highest[name]:g}"
        named = {name: {sheet.possible[place]} for name, place in columns.items()}
    else:
        named = {}
    warnings = []
    for name, numbers in named.items():
        for number in sorted(numbers):
            try:
                alike = float(number.replace(",", ".")) == highest[name]
            except ValueError:
                alike = False
            if not alike:
                there = f"{name} has {number.strip() or 'no'} points there"
                warnings.append(f"{there} and {highest[name]:g} here: change it there")
    return warnings


def grades(options: argparse.Namespace) -> int:
    """`ddl-teach grades`: show the points of each student, or fill in a platform's file."""
    out: Path = options.grades
    verdicts = tables.all_decided(out)
    if not verdicts:
        raise Mistake(f"{out} holds no grades: 'ddl-teach grade ... --out {out}' makes them")
    tables.write(out, verdicts)
    if options.into is None:
        print(tables.students_text(verdicts), end="")
        return 0
    if options.out is None:
        raise Mistake("name the file to write for the platform: --out FILE.csv")
    sheet = read_sheet(options.into)
    homeless, warnings = fill(sheet, out, verdicts, options.key or "", options.only or "")
    write_whole(options.out, sheet.text())
    print(f"to import: {options.out}")
    for warning in warnings:
        print(f"look: {warning}")
    if homeless:
        print(
            f"no row of {options.into} surely belongs to {', '.join(homeless)}: their points are "
            "not in the file. Name the column with the names that you graded under: --key COLUMN"
        )
    return int(bool(homeless or warnings))
