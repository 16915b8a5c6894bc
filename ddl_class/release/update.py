"""`ddl-teach update`: bring a later release into a learner's folder, cell by cell.

Unchanged files are replaced. In a notebook the learner's own cells stay: answers, added cells and
rewritten ones; all others come from the release. A cell is known to be unchanged because its id is
a digest of the text that was handed out. nbgrader keeps one of each stub. Changed files are copied
to `before_update` first.
"""

import argparse
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import compute_checksum

from ddl_class.commands.mistake import Mistake
from ddl_class.release import release
from ddl_class.release.students import COURSE, ROOT, Course, digest, read_course
from ddl_runtime.records.whole_file import write_whole

KEPT = "before_update"


def update(options: argparse.Namespace) -> int:
    """Bring a release into the learner's folder; returns the exit status."""
    source, mine = options.source, options.into or ROOT
    course = read_course(source)
    if course is None:
        raise Mistake(f"{source} has no {COURSE}: name the folder that was handed out, unpacked")
    for line in bring(course, source, mine):
        print(line)
    print(f"{mine} has {course}. Load open notebooks anew: File, Reload Notebook from Disk.")
    return 0


def bring(course: Course, source: Path, mine: Path) -> Iterator[str]:
    """Replace, merge and keep files; yields a line for each that was not simply replaced."""
    for path, right in course.files.items():
        if not (source / path).is_file() or digest((source / path).read_bytes()) != right:
            raise Mistake(f"{source / path} is not as it was handed out: fetch the course anew")
    before = read_course(mine)
    if before is None and not any((mine / path).exists() for path in course.files):
        raise Mistake(f"{mine} holds nothing of the course: name your own folder by --into")
    if before and before.number > course.number and before.version == course.version:
        raise Mistake(f"{mine} has release {before.number} already, which is later than {course}")
    known = before.files if before else {}
    for path, right in course.files.items():
        place = mine / path
        if before is None and not place.exists():
            continue  # a learner's copy of some folders only
        now = place.read_bytes() if place.exists() else b""
        if digest(now) == right:
            continue
        new = (source / path).read_bytes()
        if place.exists() and digest(now) != known.get(path):
            _keep(mine, course, path, now)
            if place.suffix == ".ipynb":
                try:
                    new = merged(now.decode(), new.decode()).encode()
                except (ValueError, AttributeError, KeyError) as error:
                    yield f"{path} is no notebook ({error}): it was put into {KEPT}"
            else:
                yield f"{path} was changed: yours is in {KEPT}"
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, new, (source / path).stat().st_mode & 0o777)
    for path in known.keys() - course.files.keys():
        place = mine / path
        if place.exists():
            if digest(place.read_bytes()) != known[path]:
                _keep(mine, course, path, place.read_bytes())
                yield f"{path} is no longer in the course: yours is in {KEPT}"
            place.unlink()
    if before:
        write_whole(mine / COURSE, (source / COURSE).read_bytes())


def _keep(mine: Path, course: Course, path: str, contents: bytes) -> None:
    place = mine / KEPT / str(course.number) / path
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists():  # an update that was interrupted goes on with what it has written
        write_whole(place, contents)


def merged(mine: str, new: str) -> str:
    """The new notebook with the learner's own cells, and with the outputs of unchanged cells."""
    read: Any = nbformat.reads
    own, whole = (read(text, as_version=4) for text in (mine, new))
    fresh = {cell.id: cell for cell in whole.cells}
    by_text = {_digest(cell): name for name, cell in fresh.items()}
    after: dict[str, list[NotebookNode]] = {"": []}  # own cells behind which cell of the new ones
    place = ""
    for cell in own.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        names = (name for name in (grade_id, cell.id, by_text.get(_digest(cell))) if name in fresh)
        name = next(names, None)  # of the new cell that replaces this one
        if name is None:
            if is_own(cell):
                after.setdefault(place, []).append(cell)
            continue
        place = name
        there = fresh[name]
        if is_own(cell) and not there.metadata.get("nbgrader", {}).get("locked"):
            there.source = cell.source
        if there.source == cell.source and "outputs" in cell:
            there.outputs, there.execution_count = cell.outputs, cell.execution_count
    cells = list(after[""])
    for cell in whole.cells:
        cells += [cell, *after.get(cell.id, ())]
    seen: set[str] = set()
    for cell in cells:
        while cell.id in seen:
            cell.id = f"{cell.id[:60]}-c"
        seen.add(cell.id)
    whole.cells = cells
    return release.text(whole)


def is_own(cell: NotebookNode) -> bool:
    """Whether the learner has added or rewritten the cell."""
    about = cell.metadata.get("nbgrader", {})
    if about.get("locked"):
        return False
    if about.get("solution"):
        return bool(about.get("checksum") != compute_checksum(cell))
    return bool(cell.source.strip()) and not cell.id.startswith(_digest(cell))


def _digest(cell: NotebookNode) -> str:
    return hashlib.sha256(cell.source.encode()).hexdigest()[:12]
