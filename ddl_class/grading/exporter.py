"""What `nbgrader export` writes in a folder of this course.

For work that was not handed in nbgrader's own exporter writes zero points; this one leaves the
cells empty.
"""

from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin

from ddl_class.grading.tables import as_csv
from ddl_runtime.records.whole_file import write_whole

COLUMNS = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email",
    "raw_score", "late_submission_penalty", "score", "max_score",
)  # fmt: skip


class HandedIn(ExportPlugin):
    """A row for each assignment and student, under the names that nbgrader's own exporter uses."""

    def export(self, gradebook: Gradebook) -> None:
        """Write the file that --to names, otherwise grades.csv."""
        rows: list[tuple[str, ...]] = [COLUMNS]
        for assignment in gradebook.assignments:
            if self.assignment and assignment.name not in map(str, self.assignment):
                continue
            for student in gradebook.students:
                if self.student and student.id not in map(str, self.student):
                    continue
                names = student.id, student.last_name, student.first_name, student.email
                try:
                    work = gradebook.find_submission(assignment.name, student.id)
                except MissingEntry:
                    time, scores = "", ("", "", "")
                else:
                    late, raw = work.late_submission_penalty or 0.0, work.score
                    time = str(work.timestamp or "")
                    scores = str(raw), str(late), str(max(0.0, raw - late))
                about = (assignment.name, str(assignment.duedate or ""), time)
                people = (name or "" for name in names)
                rows.append((*about, *people, *scores, str(assignment.max_score)))
        write_whole(Path(self.to or "grades.csv"), as_csv(rows))
