"""The rooms of the package import one way only."""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "ddl_teach"
FILES = sorted(PACKAGE.rglob("*.py"))

# Which rooms each room may import; a new room is added here with its walls.
GROUND = {"theory", "comm", "collectives", "measure"}
BELOW = {
    "theory": set(),
    "comm": set(),
    "plots": set(),
    "collectives": {"comm"},
    "measure": {"comm", "collectives", "theory"},
    "operators": GROUND,
    "networks": {*GROUND, "operators"},
    "sgd": {*GROUND, "operators", "networks"},
    "exchange": {*GROUND, "operators", "networks", "sgd"},
    "surviving": {*GROUND, "operators", "networks", "sgd", "exchange"},
    "search": {*GROUND, "operators", "networks", "sgd", "exchange"},
}
BELOW["course"] = {"", *BELOW}  # "" is the package's own face: launch, simulate and the like
DOORS = {"": {"comm"}, "cli": {"course"}, "__main__": {"cli"}}  # files of the package's top

# A library that only one file may import.
ONE_FILE = {"mpi4py": "comm/mpi.py", "greenlet": "comm/simulated_stacks.py"}

# What plots itself imports the picture only when it is asked for.
EXCEPTIONS = {("comm/timeline.py", "plots"), ("comm/story.py", "plots")}


@cache
def imported(path):
    """Every module that a file imports, anywhere in it, with whether that is inside a function."""
    return list(_imported(path))


def _imported(path):
    tree = ast.parse(path.read_text(), str(path))
    inside = {
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node in inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide which room they enter"
            # `from ddl_teach import comm` names the room only in its list.
            short = node.module == "ddl_teach"
            names = [f"{node.module}.{a.name}" for a in node.names] if short else [node.module]
            yield from ((name, node in inside) for name in names)


def room_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0] if parts[0] != "__init__" else ""


def room_entered(module):
    """The room or top file that a module stands in; "" for what the package itself exports."""
    name = [*module.split("."), ""][1]
    is_room = (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()
    return name if is_room else ""


def short(path):
    return str(path.relative_to(PACKAGE))


def test_imports_keep_to_the_rooms_below():
    broken = []
    for path in FILES:
        room = room_of(path)
        allowed = {room} | (DOORS[room] if room in DOORS else BELOW[room])
        for module, in_function in imported(path):
            if module.split(".")[0] != "ddl_teach":
                continue
            other = room_entered(module)
            if (short(path), other) in EXCEPTIONS:
                if not in_function:
                    broken.append(f"{short(path)} may import {other} only inside a function")
            elif other not in allowed:
                broken.append(f"{short(path)} imports {module}, but {room} may not")
    assert broken == []


@pytest.mark.parametrize("library", ONE_FILE)
def test_one_file_only_imports(library):
    importers = [
        short(path)
        for path in FILES
        if any(module.split(".")[0] == library for module, _ in imported(path))
    ]
    assert importers == [ONE_FILE[library]]
