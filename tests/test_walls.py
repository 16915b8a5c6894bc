"""Packages import one way only, and so do the rooms of what is read."""

import ast
from functools import cache

import pytest

from tests.house import PACKAGES, ROOT

FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

# What each package or room may import; a new room of `ddl_teach` is added here with its walls.
RUNTIME = "ddl_runtime"
GROUND = {RUNTIME, "theory", "comm", "collectives"}
BELOW = {
    RUNTIME: set(),
    "theory": {RUNTIME},
    "comm": {RUNTIME},
    "plain": {""},  # tests/plain/test_room.py says what it takes of the face
    "collectives": {RUNTIME, "theory", "comm"},
    "operators": GROUND,
    "networks": {*GROUND, "operators"},
    "training": {*GROUND, "operators", "networks"},
    "torch_backend": GROUND,
    "fault_tolerance": {*GROUND, "operators", "networks", "training"},
    "search": {*GROUND, "operators", "networks", "training"},
    "planning": GROUND,
    "serving": {*GROUND, "operators", "networks", "training"},
}
BELOW["ddl_measure"] = {"", *BELOW}
BELOW["ddl_class"] = {"", *BELOW}
FACE = {  # files at the top of `ddl_teach`: what it exports, the command line, where names went
    "": {"comm"},
    "__main__": {"ddl_class"},
    "course": set(),
}

# A library that only one file may import.
ONE_FILE = {"mpi4py": "ddl_runtime/mpi/wire.py", "greenlet": "ddl_runtime/simulator/fibers.py"}


@cache
def imported(path):
    """Every module that a file imports, anywhere in it."""
    return list(_imported(path))


def _imported(path):
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide which room they enter"
            # `from ddl_teach import comm` names the room only in its list.
            in_list = node.module == "ddl_teach"
            yield from ([f"ddl_teach.{a.name}" for a in node.names] if in_list else [node.module])


def room_of(path):
    package, *parts = path.relative_to(ROOT).with_suffix("").parts
    if package != "ddl_teach":
        return package
    return parts[0] if parts[0] != "__init__" else ""


def room_entered(module):
    """The room that a module stands in; "" for what `ddl_teach` itself exports."""
    package, name, *_ = [*module.split("."), ""]
    if package != "ddl_teach":
        return package
    is_room = (ROOT / package / name).is_dir() or (ROOT / package / f"{name}.py").is_file()
    return name if is_room else ""


def short(path):
    return path.relative_to(ROOT).as_posix()


def test_imports_keep_to_the_rooms_below():
    broken = [
        f"{short(path)} imports {module}, but {room_of(path)} may not"
        for path in FILES
        for module in imported(path)
        if module.split(".")[0] in PACKAGES
        and room_entered(module) not in {room_of(path), *(BELOW | FACE)[room_of(path)]}
    ]
    assert broken == []


@pytest.mark.parametrize("library", ONE_FILE)
def test_one_file_only_imports(library):
    importers = [
        short(path)
        for path in FILES
        if any(module.split(".")[0] == library for module in imported(path))
    ]
    assert importers == [ONE_FILE[library]]
