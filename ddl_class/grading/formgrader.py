"""What a person has given in nbgrader's formgrader.

It stands in nbgrader's gradebook, where no grading takes it away: points in the place of the
grader's, extra credit that is added to either, and comments.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class ByPerson:
    """What an exercise of one student was given."""

    points: float | None = None
    extra: float = 0.0
    comment: str = ""


def by_person(out: Path) -> Mapping[tuple[str, str, str], ByPerson]:
    """All that was given in this folder of grades, by assignment, student and exercise."""
    given: dict[tuple[str, str, str], ByPerson] = defaultdict(ByPerson)
    path = out / "nbgrader" / "gradebook.db"
    if not path.exists():
        return given
    from nbgrader.api import Comment, Grade, Gradebook  # it takes a second

    def of(entry: Any) -> ByPerson:
        # The cells of 06.ring are 06-ring-check, with its points, and 06-ring-answer.
        exercise = entry.name.rpartition("-")[0].replace("-", ".")
        return given[entry.assignment.name, entry.student.id, exercise]

    with Gradebook(f"sqlite:///{path}") as gradebook:
        scored = Grade.manual_score.isnot(None) | Grade.extra_credit.isnot(None)
        for grade in gradebook.db.query(Grade).filter(scored):
            of(grade).points, of(grade).extra = grade.manual_score, grade.extra_credit or 0.0
        for comment in gradebook.db.query(Comment).filter(Comment.manual_comment.isnot(None)):
            of(comment).comment = comment.manual_comment
    return given
