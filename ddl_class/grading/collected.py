"""The submissions in a folder: one for each student of an assignment.

The folder is nbgrader's, or holds STUDENT.ipynb, or is unpacked from Moodle or Canvas. Moodle's
names are `SURNAME GIVEN_123_assignsubmission_file_`. Canvas has `surnamegiven_12_345_`, with
`LATE_` in it if late. A file that cannot be graded becomes a submission that says why: it gets a
row in the tables, and grading goes on.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from ddl_class.commands.mistake import Mistake
from ddl_class.grading.submission import Submission

NOTEBOOK = ".ipynb"
PLATFORMS = (
    re.compile(r"(?P<who>.+?)_(?P<number>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)", re.DOTALL),
    re.compile(r"(?P<who>[^_]+)_(?:LATE_)?(?P<number>\d+)_\d+_(?P<file>.+)", re.DOTALL),
)
NO_NAME = re.compile(r"[^\w.@+-]+")  # what nbgrader's folders and pages had better not be called
LONGEST_NAME = 100
NOT_HANDED_IN = (".", "__MACOSX")  # what editors and packers leave beside it

Owner = tuple[str, str]
"""A student's name, and the number of that student on the learning platform."""


def find_submissions(folder: Path, assignment: str) -> list[Submission]:
    """All that was handed in for this assignment, one for each student, by name."""
    if not folder.is_dir():
        raise Mistake(f"There is no folder {folder} with submissions")
    if (folder / "submitted").is_dir():
        folder = folder / "submitted"
    handed_in: dict[Owner, list[Submission]] = {}
    for entry in sorted(folder.iterdir()):
        if _handed_in(Path(entry.name)):
            for owner, submission in _of_entry(entry, assignment):
                handed_in.setdefault(owner, []).append(submission)
    if not handed_in:
        raise Mistake(
            f"No submissions for {assignment} in {folder}. It should hold either\n"
            f"  STUDENT/{assignment}/{assignment}.ipynb   as nbgrader collects them, or\n"
            "  STUDENT.ipynb   one notebook a student, or what Moodle or Canvas packs."
        )
    names = _names(list(handed_in))
    whole = [replace(_one_of(many), student=names[owner]) for owner, many in handed_in.items()]
    return sorted(whole, key=lambda submission: submission.student)


def _of_entry(entry: Path, assignment: str) -> Iterator[tuple[Owner, Submission]]:
    notebook = entry.suffix.lower() == NOTEBOOK
    matches = (platform.fullmatch(entry.name) for platform in PLATFORMS)
    packed = next(filter(None, matches), None)
    name = entry.stem if notebook else entry.name
    owner = (packed["who"], packed["number"]) if packed else (name, "")
    if notebook or (entry.is_symlink() and not entry.exists()):
        yield owner, _file(entry)
    elif entry.is_dir():
        if submission := _in_folder(entry, assignment, bool(packed)):
            yield owner, submission
    elif packed:
        what = f"what was handed in, {packed['file']}, is no notebook: hand in the .ipynb"
        yield owner, Submission("", entry, what)


def _in_folder(student: Path, assignment: str, packed: bool) -> Submission | None:
    """What a student's folder holds for the assignment; None if only things for others, which a
    platform does not pack together."""
    inner = student / assignment
    nested = inner.is_symlink() or inner.exists()
    place = inner if nested else student
    if place.is_symlink() or student.is_symlink() or not place.is_dir():
        return _file(place if place.is_symlink() or nested else student)
    below = [path for path in sorted(place.rglob("*")) if _handed_in(path.relative_to(place))]
    notebooks = [path for path in below if path.suffix.lower() == NOTEBOOK]
    notebooks = [path for path in notebooks if path.parent == place] or [
        path for path in notebooks if nested or packed or path.stem == assignment
    ]
    named = [path for path in notebooks if path.stem == assignment]
    if len(named or notebooks) == 1:
        return _file((named or notebooks)[0])
    if notebooks:
        called = f"{'all are' if named else 'none is'} called {assignment}.ipynb"
        what = f"there are {len(named or notebooks)} notebooks and {called}: one is wanted"
        return Submission("", place, f"{what}, by this name")
    if not nested and not packed and any(path.is_dir() for path in below):
        return None  # by nbgrader's layout for other assignments
    return Submission("", place, "there is no notebook in the folder: hand in the .ipynb")


def _handed_in(path: Path) -> bool:
    return not any(part.startswith(NOT_HANDED_IN) for part in path.parts)


def _file(path: Path) -> Submission:
    linked = path.is_symlink() or path.parent.is_symlink()
    problem = "what was handed in is a symbolic link: hand in the file itself" if linked else ""
    return Submission("", path, problem)


def _one_of(submissions: list[Submission]) -> Submission:
    """The one submission to grade of those that a student handed in."""
    readable = [work for work in submissions if not work.problem] or submissions
    if len(readable) == 1:
        return readable[0]
    names = " and ".join(work.path.name for work in readable)
    return replace(readable[0], problem=f"handed in twice, as {names}: keep one of them")


def _names(owners: list[Owner]) -> dict[Owner, str]:
    """For each owner a file's name; where several have one name, with their numbers behind it."""
    plain = {owner: as_file_name(owner[0]) for owner in owners}
    names: dict[Owner, str] = {}
    for owner, name in plain.items():
        if list(plain.values()).count(name) > 1:
            name = f"{name}_{owner[1] or sha256(owner[0].encode()).hexdigest()[:8]}"
        names[owner] = name
    return names


def as_file_name(name: str) -> str:
    """The name as it can be a file's: the same where it can be one already."""
    return NO_NAME.sub("_", name).lstrip(".")[:LONGEST_NAME] or "_"
