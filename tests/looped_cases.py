"""Tests that loop over their cases: the first that fails hides the rest, and has no name.

Such a test asserts, in a loop at its own level, about cases that are known before it runs. It
should use `pytest.mark.parametrize`. A loop whose turns depend on each other is not counted.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parent


def loops_over_cases() -> list[str]:
    """Every test of the suite with such a loop, by its file and name."""
    return [
        f"{path.relative_to(TESTS.parent)}::{name}"
        for path in sorted(TESTS.rglob("test_*.py"))
        for name in looping_tests(ast.parse(path.read_text(encoding="utf-8")))
    ]


def looping_tests(tree: ast.Module) -> Iterator[str]:
    """The names of a file's tests that assert in a loop over cases."""
    known = _bound(tree.body) | set(dir(builtins))
    for test in tree.body:
        if not isinstance(test, ast.FunctionDef) or not test.name.startswith("test_"):
            continue
        given = {node.arg for node in ast.walk(test.args) if isinstance(node, ast.arg)}
        local = given | _bound(test.body)
        for place, node in enumerate(test.body):
            before = given | _bound(test.body[:place])
            if not isinstance(node, ast.For) or not _names(node.iter) <= known - local:
                continue  # cases that only the test itself can know
            if _asserts_of_one_turn(node, before):
                yield test.name
                break


def _asserts_of_one_turn(loop: ast.For, before: set[str]) -> bool:
    """Whether some assert in the loop looks at nothing that another turn has left."""
    if isinstance(loop.target, ast.Name) and loop.target.id == "_":
        return False  # repetitions of one case
    carried = before & _changed(loop)
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign) and _names(node.value) & carried:
            carried |= _bound([node])
    return any(not _names(node) & carried for node in ast.walk(loop) if _is_assert(node))


def _is_assert(node: ast.AST) -> bool:
    """Whether it is an `assert`, or a call such as `np.testing.assert_allclose(x, y)`."""
    match node:
        case ast.Assert():
            return True
        case ast.Call(func=ast.Attribute(attr=attr)):
            return attr.startswith("assert_")
    return False


def _changed(loop: ast.For) -> set[str]:
    """Names that a turn binds, or whose objects it may change."""
    changed = _bound(loop.body)
    for node in ast.walk(loop):
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
                changed.add(name)  # `seen.append(x)`: what is called for its effect
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                changed.add(name)
    return changed


def _bound(body: list[ast.stmt]) -> set[str]:
    """The names that statements bind."""
    bound = set()
    for node in (node for statement in body for node in ast.walk(statement)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias(name=name, asname=other):
                bound.add(other or name.split(".")[0])
    return bound


def _names(*nodes: ast.AST) -> set[str]:
    return {node.id for each in nodes for node in ast.walk(each) if isinstance(node, ast.Name)}
