"""What holds for every file of the room: one screen, few imports, a docstring, a comparison."""

import ast
import re
import sys
from pathlib import Path

import pytest

import ddl_teach
from ddl_teach.plain import __doc__ as contents

ROOM = Path(__file__).resolve().parents[2] / "ddl_teach" / "plain"
FILES = sorted(path for path in ROOM.glob("*.py") if path.stem != "__init__")
TESTS = sorted(Path(__file__).parent.glob("test_*.py"))
LIBRARIES = {"numpy", "scipy", "torch", *sys.stdlib_module_names}
FACE = {"ANY", "Comm"}
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def unwanted_imports(tree):
    """Those that the room does not allow."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(node.module, alias.name) for alias in node.names]
        else:
            continue
        for module, name in names:
            of_the_face = module == "ddl_teach" and name in FACE
            of_the_room = module.startswith("ddl_teach.plain")
            if not (of_the_face or of_the_room or module.split(".")[0] in LIBRARIES):
                yield f"{module} {name}".strip()


def checks_of_input(tree):
    """Where a file raises, asserts or asks for a type."""
    for node in ast.walk(tree):
        asks = isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "hasattr")
        if asks or isinstance(node, (ast.Raise, ast.Assert)):
            yield ast.unparse(node)


@each_file
def test_it_fits_on_one_screen(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 60


@each_file
def test_it_imports_only_what_the_room_allows(path):
    assert list(unwanted_imports(parsed(path))) == []


@each_file
def test_its_docstring_says_idea_cost_source_and_what_to_look_at(path):
    text = ast.get_docstring(parsed(path))
    assert text.splitlines()[0].endswith("."), "the idea is one sentence on the first line"
    assert re.search(r"\b(Cost|Work|Time|Memory)\b", text), "what it costs"
    assert re.search(r"\b(19|20)\d\d\b", text), "the paper and its year"
    assert "What to look at:" in text


@each_file
def test_it_has_functions_and_no_classes(path):
    tree = parsed(path)
    assert [node.name for node in tree.body if isinstance(node, ast.ClassDef)] == []
    assert [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]


@each_file
def test_it_checks_no_input(path):
    assert list(checks_of_input(parsed(path))) == []


def compared(tree):
    """The plain files that a file of tests names, if it imports a product as well."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules = [f"{node.module}.{alias.name}" for node in imports for alias in node.names]
    products = [name for name in modules if re.match(r"ddl_teach\.\w+\.", name)]
    products = [name for name in products if name.split(".")[1] not in ("plain", "comm", "theory")]
    quoted = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    if products:
        yield from quoted
        yield from (n.split(".")[2] for n in modules if n.startswith("ddl_teach.plain."))


@each_file
def test_it_is_compared_with_a_product(path):
    assert any(
        path.stem in compared(parsed(test)) for test in TESTS if test.name != "test_room.py"
    )


def test_the_contents_list_every_file():
    listed = re.findall(r"^(\w+) {2,}\S", contents, re.MULTILINE)
    assert sorted(listed) == [path.stem for path in FILES]


def test_the_face_has_what_the_room_needs():
    assert set(ddl_teach.__all__) >= FACE


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("import numpy as np", []),
        ("from ddl_teach import ANY, Comm", []),
        ("from ddl_teach.plain.ring_allreduce import allreduce", []),
        ("from ddl_teach import simulate", ["ddl_teach simulate"]),
        ("from ddl_teach.comm import Comm", ["ddl_teach.comm Comm"]),
        ("import mpi4py", ["mpi4py"]),
    ],
)
def test_an_import_that_is_not_allowed_is_noticed(line, found):
    assert list(unwanted_imports(ast.parse(line))) == found


@pytest.mark.parametrize("line", ["raise ValueError", "assert x > 0", "isinstance(x, int)"])
def test_a_check_of_input_is_noticed(line):
    assert list(checks_of_input(ast.parse(line))) == [line]
