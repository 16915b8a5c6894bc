"""Points of labs in the same tables as those of notebooks: a lab is one more assignment."""

from collections.abc import Sequence
from pathlib import Path

from ddl_class.commands.mistake import Mistake
from ddl_class.grading.collected import as_file_name
from ddl_class.grading.scoring import Score
from ddl_class.grading.submission import plain
from ddl_class.grading.tables import write_tables
from ddl_class.grading.verdicts import Verdict, keep
from ddl_class.labs.marking import Mark


class LabBook:
    """The points of labs, by student, in the folder of all grades. A hand-in lies in STUDENT, in
    STUDENT/1_hello_nodes or in STUDENT/hand_in/1_hello_nodes."""

    def __init__(self, out: Path, folders: Sequence[Path], labs: Sequence[str]) -> None:
        self._out = out
        self._no_names = {*labs, "hand_in"}
        owners = [(self.student(folder), folder.resolve().name) for folder in folders]
        for student, name in owners:
            if owners.count((student, name)) > 1:
                raise Mistake(
                    f"two of these folders would be {student}'s {name}: mark one of them"
                )

    def student(self, folder: Path) -> str:
        """The name of the student whose folder this is."""
        names = [name for name in folder.resolve().parts if name not in self._no_names]
        if names[-1] != as_file_name(names[-1]):
            raise Mistake(f"{folder}: {names[-1]!r} cannot name a student in a table of grades")
        return names[-1]

    def keep(self, folder: Path, lab: str, short: bool, marks: Sequence[Mark]) -> None:
        """Keep these marks, in the place of earlier ones of this student for this lab."""
        scores = []
        for mark in marks:
            why = plain(mark.why) or "right"
            message = f"short form: {why}" if short else why
            scores.append(Score(f"{lab}.{mark.name}", mark.points, mark.of, message))
        keep(self._out, Verdict(lab, self.student(folder), "", scores, {}))

    def write(self) -> None:
        """Write the tables anew."""
        self._out.mkdir(parents=True, exist_ok=True)
        write_tables(self._out)
