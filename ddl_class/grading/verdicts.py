"""The verdicts that are kept: one for each student and assignment.

One folder can hold the grades of a whole course. A verdict is kept with a digest of the judges,
the library, the grader and the versions of numerical packages; if any of these changes the
submission is graded again.
"""

import hashlib
import json
import platform
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from ddl_class.commands.mistake import Mistake
from ddl_class.grading.inside.project import ROOT, packages
from ddl_class.grading.scoring import Score
from ddl_runtime.records.whole_file import write_whole

LIBRARIES = ("numpy", "scipy", "torch")
BY_PRODUCT = re.compile(r"/\.|/__pycache__/|\.pyc$")  # of Python or an editor

Progress = Callable[[int, int, str], None]
"""Called with how many students are done, of how many, and the name of the last."""


@dataclass(frozen=True)
class Verdict:
    """The scores of one submission, and the answers that were taken from it. `digest` changes with
    anything that scores depend on; it is empty if the grader failed and a person must grade."""

    assignment: str
    student: str
    digest: str
    scores: list[Score]
    answers: dict[str, str]

    @property
    def text(self) -> str:
        return json.dumps(asdict(self), indent=1)


def verdicts_folder(out: Path, assignment: str) -> Path:
    """Where the verdicts on one assignment are kept."""
    return out / "verdicts" / assignment


def keep(out: Path, verdict: Verdict) -> None:
    """Write a verdict in the place of the student's earlier one for this assignment."""
    folder = verdicts_folder(out, verdict.assignment)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / f"{verdict.student}.json", verdict.text)


def kept(out: Path, assignment: str, student: str) -> Verdict | None:
    """The verdict of an earlier grading; None if there is none, or it cannot be read."""
    try:
        return _read(verdicts_folder(out, assignment) / f"{student}.json")
    except (OSError, ValueError, TypeError, KeyError):
        return None


def all_kept(out: Path) -> list[Verdict]:
    """The verdicts of all gradings into this folder, sorted by assignment and student."""
    verdicts = []
    for path in (out / "verdicts").glob("*/[!.]*.json"):  # or a draft of a killed process
        try:
            verdicts.append(_read(path))
        except (ValueError, TypeError, KeyError):
            raise Mistake(
                f"{path} cannot be read as a verdict. Grade {path.parent.name} again, or "
                "delete the file if this student is not to be graded."
            ) from None
    return sorted(verdicts, key=lambda verdict: (verdict.assignment, verdict.student))


def _read(path: Path) -> Verdict:
    plain = json.loads(path.read_text(encoding="utf-8"))
    scores = [Score(**score) for score in plain.pop("scores")]
    return Verdict(scores=scores, **plain)


def refuse_older_layout(out: Path) -> None:
    """Raise if `out` holds verdicts of an older version, without the names of assignments."""
    if any((out / "verdicts").glob("*.json")):
        raise Mistake(
            f"{out} was written by an earlier version, which kept the grades of one unit only. "
            "Name another folder as --out, and grade each unit again into that one."
        )


def fingerprint(
    folders: Sequence[Path] | None = None, libraries: Sequence[str] = LIBRARIES
) -> str:
    """A digest of the packages' files and of the versions of Python and of these libraries."""
    parts = [f"python {platform.python_version()}"]
    for name in sorted(libraries):
        try:
            parts.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            parts.append(f"{name} is not installed")
    files = {
        f"{number}/{path.relative_to(folder).as_posix()}": path
        for number, folder in enumerate(folders or [ROOT / name for name in sorted(packages())])
        for path in folder.rglob("*")
        if path.is_file() and not BY_PRODUCT.search(f"/{path.relative_to(folder).as_posix()}")
    }
    for name in sorted(files):
        parts.append(f"{name} {hashlib.sha256(files[name].read_bytes()).hexdigest()}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
