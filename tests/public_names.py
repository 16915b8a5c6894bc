"""What notebooks, labs, slides, guides, benchmarks and the command line use of the packages.

    python -m tests.public_names      # adds what is used today to tests/public_names.json

The file is a net under every move: `test_public_names.py` holds each name in it, each way in which
it is called, each member of a class that somebody reads, each command and each of its options. A
name leaves the file only together with its last user.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import inspect
import json
import pkgutil
import re
import typing
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ddl_class import cli
from ddl_class.release import release
from tests.house import PACKAGES

ROOT = Path(__file__).resolve().parents[1]
KEPT = Path(__file__).with_suffix(".json")
PROGRAMS = ("labs", "slides", "benchmarks", "book", "docs", "cluster_setup")
DOTTED = re.compile(rf"\b(?:{'|'.join(PACKAGES)})(?:\.[a-zA-Z]\w*)+(?!\w*[(/])")
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
STARTED = re.compile(r"python3? -m ([a-z_]\w*(?:\.\w+)*)")
MAGIC = re.compile(r"^\s*[%!]")


def sources() -> Iterator[list[str]]:
    """Of each file that uses the packages from outside its pieces of Python, from the top."""
    for path in sorted((ROOT / "notebooks" / "source").glob("*.py")):
        cells = [cell for cell in release.instructors(path).cells if cell.cell_type == "code"]
        lines = [cell.source.split("\n") for cell in cells]
        yield ["\n".join("" if MAGIC.match(line) else line for line in cell) for cell in lines]
    for folder in PROGRAMS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield [path.read_text()]
    for text in texts():
        yield PYTHON_BLOCK.findall(text)


def texts() -> Iterator[str]:
    """Every page and script that may name a module or a command."""
    for folder in (*PROGRAMS, "notebooks/source", ".ci"):
        for path in sorted((ROOT / folder).rglob("*")):
            is_text = path.suffix in {".md", ".py", ".sbatch", ".sh", ".toml", ".def", ""}
            if is_text and path.is_file():
                yield path.read_text(errors="replace")
    yield from (path.read_text() for path in sorted(ROOT.glob("*.md")))


def found(name: str) -> Any:
    """The module, class, function or value of that full name; AttributeError where none is."""
    parts = name.split(".")
    thing = importlib.import_module(parts[0])
    for place, part in enumerate(parts[1:], start=2):
        if not hasattr(thing, part) and inspect.ismodule(thing):
            try:
                importlib.import_module(".".join(parts[:place]))
            except ModuleNotFoundError:
                raise AttributeError(f"there is no {name}") from None
        thing = getattr(thing, part)
        if inspect.ismodule(thing) and not getattr(thing, "__file__", None):
            raise AttributeError(f"there is no {name}: {part} is a folder without files")
    return thing


class Uses(ast.NodeVisitor):
    """Which full names one file uses, and how it calls them; imports serve all pieces below."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self.names: dict[str, set[str]] = {}
        self.members: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.split(".")[0] in PACKAGES:
                self._add(alias.name)
                short = alias.name if alias.asname else alias.name.split(".")[0]
                self.aliases[alias.asname or short] = short

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module and node.module.split(".")[0] in PACKAGES:
            for alias in node.names:
                self.aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                self._add(f"{node.module}.{alias.name}")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.members.add(node.attr)
        self._add(self._full_name(node))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        spread = any(isinstance(value, ast.Starred) for value in node.args)
        if not spread and all(word.arg for word in node.keywords):
            words = sorted(str(word.arg) for word in node.keywords)
            self._add(self._full_name(node.func), " ".join([str(len(node.args)), *words]))
        self.generic_visit(node)

    def _full_name(self, node: ast.expr) -> str | None:
        match node:
            case ast.Name(id=name):
                return self.aliases.get(name)
            case ast.Attribute(value=value, attr=attr) if inner := self._full_name(value):
                return f"{inner}.{attr}"
        return None

    def _add(self, name: str | None, call: str = "") -> None:
        if name and name not in PACKAGES:
            self.names.setdefault(name, set()).update([call] if call else [])


def used_today() -> dict[str, Any]:
    """Everything that is used today, in the form of the file."""
    names: dict[str, set[str]] = {}
    members: set[str] = set()
    for pieces in sources():
        uses = Uses()
        for piece in pieces:
            with contextlib.suppress(SyntaxError):  # it speaks to the notebook within a line
                uses.visit(ast.parse(piece))
        members |= uses.members
        for name, calls in uses.names.items():
            names.setdefault(name, set()).update(calls)
    for text in texts():
        for name in DOTTED.findall(text):
            names.setdefault(name, set())
    names = {name: calls for name, calls in names.items() if _is_there(name)}
    started = {name for text in texts() for name in STARTED.findall(text)}
    return {
        "names": {name: sorted(calls) for name, calls in sorted(names.items())},
        "members": {
            _name_of(kind): sorted(members & members_of(kind))
            for kind in sorted(_classes(names), key=_name_of)
            if members & members_of(kind)
        },
        "commands": commands(cli.parser()),
        "programs": sorted(name for name in started if name.split(".")[0] in _own_programs()),
    }


def commands(parser: argparse.ArgumentParser, path: str = "ddl-teach") -> dict[str, list[str]]:
    """Each command with its options and the words that it takes."""
    own, below = [], {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                below |= commands(child, f"{path} {name}")
        else:
            own += action.option_strings or [action.dest]
    return {path: sorted(own)} | below


@cache  # to find the source of a class, Python reads all of its file
def members_of(kind: type) -> frozenset[str]:
    """The public members of a class, those included that only its methods set."""
    members = set(dir(kind)).union(*map(members_of, kind.__mro__[1:]))
    if kind.__module__.split(".")[0] in PACKAGES:
        members |= set(inspect.get_annotations(kind))
        members |= set(re.findall(r"\bself\.(\w+)\b[^=\n]*=", inspect.getsource(kind)))
    return frozenset(name for name in members if not name.startswith("_"))


def _classes(names: Iterable[str]) -> set[type]:
    """The packages' classes among these, and those that one gets from them by calls and fields."""
    known: set[type] = set()
    waiting: list[Any] = [found(name) for name in names]
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, type):
            if thing in known or thing.__module__.split(".")[0] not in PACKAGES:
                continue
            known.add(thing)
            waiting += [value for name, value in vars(thing).items() if not name.startswith("_")]
        if isinstance(thing, property):
            thing = thing.fget
        if isinstance(thing, classmethod | staticmethod):
            thing = thing.__func__
        try:
            hints = typing.get_type_hints(thing) if callable(thing) else {}
        except (NameError, TypeError):  # imported for type checking only
            hints = {}
        waiting += [part for hint in hints.values() for part in (hint, *typing.get_args(hint))]
    return known


def _is_there(name: str) -> bool:
    try:
        found(name)
    except (AttributeError, ImportError):
        return False
    return True


def _name_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _own_programs() -> set[str]:
    return {module.name for module in pkgutil.iter_modules([str(ROOT)])}


def merged(kept: Any, more: Any) -> Any:
    """Both together: nothing that is kept is lost."""
    if isinstance(kept, dict):
        names = sorted({*kept, *more})
        return {
            name: merged(kept[name], more[name])
            if name in kept and name in more
            else kept.get(name, more.get(name))
            for name in names
        }
    return sorted({*kept, *more})


def main() -> None:
    """Add what is used today to the file."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    KEPT.write_text(json.dumps(merged(kept, used_today()), indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
