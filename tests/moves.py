"""Moves files as the change log's table says, and rewrites every import, dotted name and path.

    python -m tests.moves ddl_runtime      # what goes to this package; all that is left without it

Run it a second time and nothing happens. Notebooks are made anew from their sources afterwards.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "CHANGELOG.md"
ROW = re.compile(r"^\| `(ddl_teach/[^`]*)` \| `([^`]+)` \|$", re.MULTILINE)
TESTS = {
    "tests/comm": "tests/runtime",
    "tests/course": "tests/classroom",
    "tests/plots": "tests/classroom/plots",
    "tests/sgd": "tests/training",
    "tests/exchange": "tests/training",
    "tests/surviving": "tests/fault_tolerance",
}
WRITTEN = {
    ".py",
    ".md",
    ".toml",
    ".yml",
    ".yaml",
    ".json",
    ".sh",
    ".js",
    ".cff",
    ".txt",
    ".sbatch",
}
MADE = re.compile(r"^(CHANGELOG\.md|tests/moves\.py)$|/recorded/|^notebooks/.*\.ipynb$")
PACKAGE = "ddl_teach"
DOTTED = re.compile(r"(?<![\w./])ddl_teach(?:\.\w+)+")
PATH = re.compile(r"(?<!\w)(?:ddl_teach|tests)(?:/[\w.]*\w)+")
FROM = re.compile(
    r"^(?P<indent>[ \t]*)from (?P<package>ddl_teach(?:\.\w+)*) import "
    r"(?P<names>\([^)]*\)|\w[\w, ]*)",
    re.MULTILINE,
)


def main() -> None:
    """Move, rewrite, and let ruff sort and wrap the imports."""
    packages = sys.argv[1:]
    moves = {
        old.rstrip("/"): new.rstrip("/")
        for old, new in ROW.findall(TABLE.read_text())
        if not packages or new.split("/")[0] in packages
    }
    moves |= TESTS
    whole = {old: new for old in tracked() if (new := move(old, moves)) != old}
    moves |= {old: new for old, new in whole.items() if old.startswith("ddl_teach/")}
    files = {old: move(old, moves) for old in tracked() if move(old, moves) != old}
    for old, new in files.items():
        (ROOT / new).parent.mkdir(parents=True, exist_ok=True)
        git("mv", old, new)
    for name in (
        tracked() if files else ()
    ):  # once all have moved, old names can mean something else
        path = ROOT / name
        if path.suffix in WRITTEN and not path.is_symlink() and not MADE.search(name):
            text = path.read_text()
            if (written := rewrite(text, moves)) != text:
                path.write_text(written)
    subprocess.run(
        [sys.executable, "-m", "ruff", "check", "-q", "--select", "I", "--fix"], cwd=ROOT
    )
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q"], cwd=ROOT)
    print(f"{len(files)} files moved")


def move(path: str, moves: dict[str, str]) -> str:
    """Where a file stands after the moves: the longest row that fits says it."""
    for old in sorted(moves, key=len, reverse=True):
        if path == old or path.startswith(f"{old}/"):
            return moves[old] + path[len(old) :]
    return path


def rewrite(text: str, moves: dict[str, str]) -> str:
    """A file's text with the new names: in code, in strings and in prose.

    Rooms stand there with the package before them or without: "sgd.updates.adam", "comm/mpi.py".
    """
    dotted = {_dotted(old): _dotted(new) for old, new in moves.items() if old.startswith(PACKAGE)}
    used = set(re.findall(r"(?<![\w.])\w+", text))
    renamed: dict[str, str] = {}
    text = FROM.sub(lambda found: _split(found, dotted, used, renamed), text)
    for before, after in renamed.items():
        text = re.sub(rf"(?<![\w.]){before}(?=\.\w)", after, text)
    text = DOTTED.sub(lambda found: _renamed(found[0], dotted, "."), text)
    text = PATH.sub(lambda found: _renamed(found[0], moves, "/"), text)
    rooms = {old.split("/")[1] for old in moves if old.startswith(PACKAGE)}
    short = re.compile(rf"(?<![\w./])(?:{'|'.join(rooms)})/[\w/]+\.(?:py|js)\b")
    text = short.sub(lambda found: _short(found[0], moves, "/"), text)
    rooms = {old.split("/")[1] for old, new in moves.items() if new.startswith(PACKAGE)}
    if rooms:
        short = re.compile(rf"(?<![\w./])(?:{'|'.join(rooms)})(?:\.\w+)+")
        text = short.sub(lambda found: _short(found[0], dotted, "."), text)
    return text


def _dotted(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def _renamed(name: str, moves: dict[str, str], joint: str) -> str:
    """The longest beginning of a name that has moved is replaced."""
    parts = name.split(joint)
    for count in range(len(parts), 0, -1):
        if (old := joint.join(parts[:count])) in moves:
            return joint.join([moves[old], *parts[count:]])
    return name


def _short(name: str, moves: dict[str, str], joint: str) -> str:
    return _renamed(PACKAGE + joint + name, moves, joint).removeprefix(PACKAGE + joint)


def _split(
    found: re.Match[str], dotted: dict[str, str], used: set[str], renamed: dict[str, str]
) -> str:
    """An import of modules by name from a package: those that moved get a line of their own.

    A module whose new name means something else in the file keeps its old name there.
    """
    indent, package = found["indent"], found["package"]
    names = [name.strip() for name in found["names"].strip("()").split(",") if name.strip()]
    gone = [name for name in names if f"{package}.{name.split()[0]}" in dotted]
    if not gone:
        return found[0]
    lines = [f"{indent}from {package} import {', '.join(n for n in names if n not in gone)}"]
    lines = lines if len(gone) < len(names) else []
    for name in gone:
        before, *alias = name.split()
        home, _, after = dotted[f"{package}.{before}"].rpartition(".")
        if before != after and not alias:
            alias = ["as", before] if after in used else []
            renamed |= {} if alias else {before: after}
        lines.append(f"{indent}from {home} import {' '.join([after, *alias])}")
    return "\n".join(lines)


def tracked() -> list[str]:
    """Every file that git knows of."""
    return git("ls-files", "-z").rstrip("\0").split("\0")


def git(*words: str) -> str:
    """Run git at the root."""
    done = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout


if __name__ == "__main__":
    main()
