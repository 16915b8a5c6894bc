"""Statements without their variables: what is left is what they do.

    first = self.queue.pop(0)    becomes    _ = _.queue.pop(int)

Names of variables become `_`, literals the name of their type, and what lies deeper than two
expressions `_` as well; attributes, builtins and what is called keep their names. So statements
recur. Ben-Nun, Jakobovits and Hoefler, "Neural code comprehension: a learnable representation of
code semantics", NeurIPS 2018, do this with the statements of a compiler's intermediate language.
"""

import ast
import builtins
from collections.abc import Iterator
from types import BuiltinFunctionType
from typing import Any

ANY = ast.Name("_")
# What a shell or a notebook's kernel adds to the builtins, or puts in their place, is not counted.
BUILTINS = {"NotImplemented", "input"} | {
    name for name, value in vars(builtins).items() if isinstance(value, type | BuiltinFunctionType)
}
DEPTH = 2
BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
SILENT = (*DEFINITIONS, ast.Import, ast.ImportFrom, ast.Pass, ast.Global, ast.Nonlocal)


def headers(block: list[Any]) -> Iterator[ast.AST]:
    """The statements of a block in the order of the text, each without the blocks inside it."""
    for statement in block:
        comment = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if isinstance(statement, SILENT) or comment:
            continue
        inside = {name: getattr(statement, name) for name in BLOCKS if hasattr(statement, name)}
        fields = dict(ast.iter_fields(statement)) | {name: [] for name in inside}
        yield ast.copy_location(type(statement)(**fields), statement)
        for within in inside.values():
            yield from headers(within)


def spell(header: ast.AST) -> str:
    """A statement's text without names."""
    return ast.unparse(_abstract(header, DEPTH)).strip()


def names(header: ast.AST) -> tuple[set[str], set[str]]:
    """The variables that a statement reads, and those that it sets."""
    nodes = [node for node in ast.walk(header) if isinstance(node, ast.Name)]
    reads = {node.id for node in nodes if isinstance(node.ctx, ast.Load)}
    return reads, {node.id for node in nodes if isinstance(node.ctx, ast.Store)}


def _abstract(node: Any, depth: int) -> Any:
    if isinstance(node, list):
        return [_abstract(child, depth) for child in node]
    if isinstance(node, str):
        return "_"
    if isinstance(node, ast.Constant):
        whole = node.value is None or isinstance(node.value, bool)
        return ast.Name(repr(node.value) if whole else type(node.value).__name__)
    if isinstance(node, ast.Name):
        return node if node.id in BUILTINS else ANY
    if isinstance(node, ast.expr):
        if depth == 0:
            return ANY
        if type(node).__name__ in ("JoinedStr", "TemplateStr"):  # text with parts to fill in
            return ast.Name("str")
        depth -= 1
    if not isinstance(node, ast.AST):
        return node
    fields = {name: _abstract(child, depth) for name, child in ast.iter_fields(node)}
    if isinstance(node, ast.Attribute):
        fields["attr"] = node.attr
    if isinstance(node, ast.Call):  # what is called keeps its name, however deep it stands
        fields["func"] = node.func if isinstance(node.func, ast.Name) else ANY
        if isinstance(node.func, ast.Attribute):
            fields["func"] = ast.Attribute(_abstract(node.func.value, depth), node.func.attr)
    return ast.copy_location(type(node)(**fields), node)
