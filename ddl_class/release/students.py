"""`ddl-teach release --students`: the course without its solutions, to hand out and to update
later.

    FOLDER/notebooks, labs, docs, ...   for learners; notebooks are made from their sources
    FOLDER/book                         with --book: the book, without solutions and answers
    FOLDER/course.json                  version, number, and a digest of every file

The number grows with each release whose files differ from the one before. The signature is a
digest of all files: two copies with the same signature are the same. Library and judges are
included as code, because the course needs them to run.
"""

import argparse
import hashlib
import json
import posixpath
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from ddl_class.commands.mistake import Mistake
from ddl_class.release import release
from ddl_runtime.records.whole_file import write_whole

ROOT = Path(__file__).resolve().parents[2]
COURSE = "course.json"
HANDED_OUT = (
    "LICENSE", "CITATION.cff", "pyproject.toml", "requirements.lock", "environment.yml",
    "start.py", "bootstrap/**/*", "cluster_setup/**/*", "ddl_class/**/*", "ddl_measure/**/*",
    "ddl_runtime/**/*", "ddl_teach/**/*", "labs/README.md", "labs/*/*.py", "labs/*/*.sbatch",
    "labs/*/worksheet.md", "docs/box.md", "docs/cuda_aware_mpi.md", "docs/learner_guide.md",
    "docs/survey.md", "docs/what_you_see.md", "docs/what_you_see/*", "docs/*.png", "docs/*.svg",
)  # fmt: skip
WITHHELD = re.compile(r"labs/\w+/checker\.py|(.*/)?(\.|__pycache__|[^/]*\.egg-info).*")
LINK = re.compile(r"\[([^\]]*)\]\((?!\w+:|#)([^)\s#]+)[^)\s]*\)")
README = """# The course

    python3 start.py                     opens it; the first time it installs what it needs
    .venv/bin/ddl-teach update FOLDER    brings in a later release; your own cells stay

Start with `docs/learner_guide.md`.
"""


@dataclass(frozen=True)
class Course:
    """One release: its version, its number, and the digest of each file by its path."""

    version: str
    number: int
    files: Mapping[str, str]

    @property
    def signature(self) -> str:
        """A digest of everything in it."""
        lines = [f"{self.version} {self.number}", *map(" ".join, sorted(self.files.items()))]
        return digest("\n".join(lines).encode())[:16]

    def __str__(self) -> str:
        return f"version {self.version}, release {self.number}, signature {self.signature}"


def read_course(folder: Path) -> Course | None:
    """The release that lies in a folder; None if none does."""
    try:
        plain = json.loads((folder / COURSE).read_text(encoding="utf-8"))
        course = Course(plain["version"], int(plain["number"]), dict(plain["files"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Mistake(
            f"{folder / COURSE} cannot be read: {error}. Fetch the course anew"
        ) from None
    for path in course.files:
        if posixpath.isabs(path) or ".." in Path(path).parts:
            raise Mistake(f"{folder / COURSE} names {path!r}, which is outside of the course")
    return course


def digest(contents: bytes) -> str:
    """The SHA-256 of these bytes."""
    return hashlib.sha256(contents).hexdigest()


def hand_out_course(folder: Path, book: bool = False, root: Path = ROOT) -> Course:
    """Make or renew the folder; files that only an earlier release had are deleted."""
    before = read_course(folder)
    if before is None and folder.exists() and any(folder.iterdir()):
        raise Mistake(f"{folder} holds other files: name a new folder, or one of a release")
    contents = dict(_contents(root))
    if book:
        contents |= _book(root)
    files = {path: digest(content) for path, content in sorted(contents.items())}
    version = metadata.version("ddl-teach")
    if before is None:
        course = Course(version, 1, files)
    elif (before.version, before.files) == (version, files):
        course = before
    else:
        course = Course(version, before.number + 1, files)
    for path, content in contents.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        source = root / path
        mode = source.stat().st_mode & 0o777 if source.exists() else 0o666
        write_whole(place, content, mode)
    for path in (before.files.keys() if before else set()) - files.keys():
        (folder / path).unlink(missing_ok=True)
    write_whole(folder / COURSE, json.dumps(asdict(course), indent=1))
    return course


def handed_out(root: Path = ROOT) -> dict[str, Path]:
    """The files that learners get as they stand, by their paths in the course."""
    there = [path for each in HANDED_OUT for path in root.glob(each)]
    paths = {path.relative_to(root).as_posix(): path for path in there}
    return {
        name: path for name, path in paths.items()
        if path.is_file() and not WITHHELD.fullmatch(name)
    }  # fmt: skip


def _contents(root: Path) -> Iterator[tuple[str, bytes]]:
    paths = handed_out(root)
    sources = sorted((root / "notebooks" / "source").glob("*.py"))
    if not sources:
        raise Mistake(f"There are no notebooks/source in {root}: take a clone of the course")
    notebooks = [f"notebooks/{source.stem}.ipynb" for source in sources]
    there = {*paths, *notebooks, "README.md"}
    yield "README.md", README.encode()
    for source, name in zip(sources, notebooks, strict=True):
        yield name, release.text(release.learners(source)).encode()
    for name, path in paths.items():
        content = path.read_bytes()
        if name.endswith(".md"):
            content = without_dead_links(content.decode(), name, there).encode()
        yield name, content


def without_dead_links(text: str, name: str, there: set[str]) -> str:
    """The text; a link to a file that is not handed out becomes plain words."""

    def link(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), match[2]))
        alive = target in there or any(path.startswith(f"{target}/") for path in there)
        return match[0] if alive else match[1]

    return LINK.sub(link, text)


def _book(root: Path) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        words = ["-m", "book", "--students", "--unexecuted", "--out", folder]
        done = subprocess.run([sys.executable, *words], cwd=root, text=True, capture_output=True)
        if done.returncode:
            raise Mistake(f"the book cannot be built:\n{done.stdout}{done.stderr}".rstrip())
        pages = Path(folder, "html")
        return {
            f"book/{path.relative_to(pages).as_posix()}": path.read_bytes()
            for path in pages.rglob("*")
            if path.is_file() and ".doctrees" not in path.parts
        }


def command(options: argparse.Namespace) -> int:
    """`ddl-teach release`: a folder for nbgrader, or with --students one for learners."""
    if not options.students:
        return release.release(options)
    try:
        course = hand_out_course(options.folder, options.book)
    except OSError as error:
        raise Mistake(f"{options.folder} cannot be written: {error}") from None
    print(f"to hand out: {options.folder}, {course}")
    print(f"into what learners have already: ddl-teach update {options.folder}")
    return 0
