"""The grades of a course as tables: a row an exercise, and a row a student.

    GRADES/grades.csv      assignment, student, exercise, points, of, handed_in, message
    GRADES/students.csv    student, a column for each assignment, points, of, missing
    GRADES/by_hand.csv     written by a person: assignment, student, exercise, points, why

A cell of an assignment that was not handed in is empty, not zero, and `missing` names it. A
message is its first line; the page of feedback has all of it. A line of `by_hand.csv` replaces the
grader's score, also that of a later hand-in; and so do points that were given in nbgrader's
formgrader.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ddl_class.commands.mistake import Mistake
from ddl_class.grading import receipts
from ddl_class.grading.formgrader import ByPerson, by_person
from ddl_class.grading.verdicts import Verdict, all_kept
from ddl_runtime.records.whole_file import write_whole

EXERCISES, STUDENTS, BY_HAND = "grades.csv", "students.csv", "by_hand.csv"
COLUMNS = ("assignment", "student", "exercise", "points", "of", "handed_in", "message")
DECISION = ("assignment", "student", "exercise", "points", "why")
LONGEST = 200  # characters of a message
FORMULA = ("=", "+", "-", "@", "\t")  # what a spreadsheet would carry out


def write_tables(out: Path) -> None:
    """Write both tables anew from all that is kept in the folder."""
    write(out, all_decided(out))


def write(out: Path, verdicts: Sequence[Verdict]) -> None:
    """Write both tables of these verdicts."""
    write_whole(out / EXERCISES, exercises_text(out, verdicts))
    write_whole(out / STUDENTS, students_text(verdicts))


def exercises_text(out: Path, verdicts: Sequence[Verdict]) -> str:
    """A row for each exercise of each student, as comma-separated values."""
    times = {verdict.assignment: receipts.kept(out, verdict.assignment) for verdict in verdicts}
    rows = []
    for verdict in verdicts:
        receipt = times[verdict.assignment].get(verdict.student, receipts.Receipt())
        for score in verdict.scores:
            numbers = f"{score.points:g}", f"{score.of:g}"
            about = verdict.assignment, verdict.student, score.exercise
            rows.append((*about, *numbers, receipt.handed_in, one_line(score.message)))
    return as_csv([COLUMNS, *rows])


def students_text(verdicts: Sequence[Verdict]) -> str:
    """A row for each student, with totals, as comma-separated values."""
    assignments = sorted(best := highest(verdicts))
    points = totals(verdicts)
    whole = f"{sum(best.values()):g}"
    rows = []
    for student, earned in sorted(points.items()):
        cells = [f"{earned[name]:g}" if name in earned else "" for name in assignments]
        missing = " ".join(name for name in assignments if name not in earned)
        rows.append((student, *cells, f"{sum(earned.values()):g}", whole, missing))
    return as_csv([("student", *assignments, "points", "of", "missing"), *rows])


def totals(verdicts: Iterable[Verdict]) -> dict[str, dict[str, float]]:
    """By student the points in each assignment that was handed in."""
    points: dict[str, dict[str, float]] = {}
    for verdict in verdicts:
        earned = sum(score.points for score in verdict.scores)
        points.setdefault(verdict.student, {})[verdict.assignment] = earned
    return points


def highest(verdicts: Iterable[Verdict]) -> dict[str, float]:
    """The points that each assignment has: the most in any verdict, if they were changed."""
    best: dict[str, float] = {}
    for verdict in verdicts:
        of = sum(score.of for score in verdict.scores)
        best[verdict.assignment] = max(of, best.get(verdict.assignment, 0.0))
    return best


def one_line(message: str) -> str:
    """The first line of a message that says something."""
    line = next(filter(None, map(str.strip, message.splitlines())), "")
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} ..."


def as_csv(rows: Iterable[Sequence[str]]) -> str:
    """Rows as text; no cell of it is a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(
        [f"'{cell}" if cell.startswith(FORMULA) else cell for cell in row] for row in rows
    )
    return text.getvalue()


def all_decided(out: Path) -> list[Verdict]:
    """All verdicts that are kept in the folder, with all that people have decided."""
    kept = all_kept(out)
    return with_formgrader(out, decided(out, kept, kept))


def with_formgrader(out: Path, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """These verdicts with what was given in nbgrader's formgrader. Points that `by_hand.csv`
    decides otherwise are refused."""
    given, decisions = by_person(out), _decisions(out / BY_HAND)
    above = []
    for verdict in verdicts:
        scores = []
        for score in verdict.scores:
            key = verdict.assignment, verdict.student, score.exercise
            person = given.get(key, ByPerson())
            if person.points is not None:
                if key in decisions:
                    raise Mistake(
                        f"{out / BY_HAND}, line {decisions[key][0]}: {', '.join(key)} has points "
                        "by nbgrader's formgrader too. Take away one of the two"
                    )
                what = "decided by hand in formgrader"
                score = replace(
                    score, points=person.points, message=what, doubtful=False, limit=""
                )
            if person.extra:
                what = f"{person.extra:g} more as extra credit; {score.message}"
                score = replace(score, points=score.points + person.extra, message=what)
            scores.append(score)
        above.append(replace(verdict, scores=scores))
    return above


def decided(out: Path, verdicts: Sequence[Verdict], kept: Iterable[Verdict]) -> list[Verdict]:
    """These verdicts with the decisions of `by_hand.csv`, which may name any that are `kept`."""
    decisions = _decisions(out / BY_HAND)
    known = {
        (verdict.assignment, verdict.student, score.exercise): score.of
        for verdict in kept
        for score in verdict.scores
    }
    for key, (line, points, _) in decisions.items():
        where = f"{out / BY_HAND}, line {line}"
        if key not in known:
            raise Mistake(f"{where}: {', '.join(key)} has no grade that it could change")
        if not 0 <= points <= known[key]:
            raise Mistake(f"{where}: {key[2]} gives 0 to {known[key]:g} points, not {points:g}")
    above = []
    for verdict in verdicts:
        scores = []
        for score in verdict.scores:
            key = (verdict.assignment, verdict.student, score.exercise)
            if key in decisions:
                _, points, why = decisions[key]
                what = f"decided by hand: {why}" if why else "decided by hand"
                score = replace(score, points=points, message=what, doubtful=False, limit="")
            scores.append(score)
        above.append(replace(verdict, scores=scores))
    return above


def _decisions(path: Path) -> dict[tuple[str, str, str], tuple[int, float, str]]:
    """By assignment, student and exercise the line, the points and the reason."""
    if not path.exists():
        return {}
    decisions = {}
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != DECISION:
            raise Mistake(f"{path}: its first line must be {','.join(DECISION)}")
        for row in reader:
            key = (row["assignment"] or "", row["student"] or "", row["exercise"] or "")
            try:
                points = float(row["points"] or "")
            except ValueError:
                where = f"{path}, line {reader.line_num}"
                raise Mistake(f"{where}: {row['points']!r} is no number of points") from None
            decisions[key] = reader.line_num, points, row["why"] or ""
    return decisions
