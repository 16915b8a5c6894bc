"""The labs that there are, and what somebody has handed in for one of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ddl_class.commands.mistake import Mistake
from ddl_class.commands.program_file import import_file
from ddl_class.labs.hand_in import MEASURED, Lab, read_answers, text_of
from ddl_class.labs.marking import Contradiction, Mark

LABS = Path(__file__).resolve().parents[2] / "labs"
UNLIKE = (  # what checkers stumble over where anything may stand
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip


@dataclass(frozen=True)
class Marked:
    """One folder that was handed in."""

    folder: Path
    lab: str
    short: bool
    marks: Sequence[Mark]

    @property
    def lost(self) -> list[Mark]:
        """What is not worth all its points."""
        return [mark for mark in self.marks if mark.points < mark.of]

    @property
    def points(self) -> float:
        return sum(mark.points for mark in self.marks)

    @property
    def of(self) -> float:
        return sum(mark.of for mark in self.marks)


def folders() -> dict[str, Path]:
    """The labs by their names, in their order."""
    return {path.parent.name: path.parent for path in sorted(LABS.glob("[1-9]_*/worksheet.md"))}


def lab_folder(name: str) -> Path:
    """Where a lab is; its number is enough."""
    there = folders()
    for known, path in there.items():
        if name in (known, known.partition("_")[0]):
            return path
    where = f"; they are {', '.join(there)}" if there else f": {LABS} has none. Use a checkout"
    raise Mistake(f"there is no lab {name!r}{where}")


def title(folder: Path) -> str:
    """The first line of its worksheet."""
    worksheet = (folder / "worksheet.md").read_text(encoding="utf-8")
    return worksheet.partition("\n")[0].lstrip("# ")


def mark(folder: Path) -> Marked:
    """Mark what somebody has handed in. Nothing of it is run."""
    path = folder / MEASURED
    try:
        measured = json.loads(text_of(path))
    except FileNotFoundError:
        raise Mistake(f"{folder} has no {path.name}: was the lab measured?") from None
    except (OSError, ValueError, RecursionError) as error:
        raise Mistake(f"{path} cannot be read: {error}") from None
    if not isinstance(measured, dict):
        raise Mistake(f"{path} is not as a lab writes it")
    home = folders().get(str(measured.get("lab")))
    if home is None:
        raise Mistake(f"{path} names no lab: {measured.get('lab')!r}")
    lab: Lab = import_file(home / "program.py").LAB
    checker = import_file(home / "checker.py")
    answers = read_answers(lab, folder)[1]
    asked = measured.get("predictions")
    asked = asked if isinstance(asked, dict) else {}
    measured["predictions"] = {one.name: asked.get(one.name) for one in lab.predictions}
    try:
        marks = checker.mark(measured, answers)
    except Contradiction as contradiction:
        raise Mistake(f"{path} cannot be: {contradiction}") from None
    except UNLIKE as error:
        raise Mistake(
            f"{path} is not as {lab.name} writes it "
            f"({type(error).__name__}: {error}). Measure again, and leave it as it is"
        ) from error
    return Marked(folder, lab.name, bool(measured.get("short")), marks)
