"""Runs the cell of an answer, after what it needs of the other cells.

A cell runs statement by statement. One that raises does not end it: a picture that cannot be drawn
costs nothing. It is only told of where the name that it should have made is missing. Of the other
cells those statements run which make the names that the answer uses: imports, functions, classes,
constants.
"""

import ast
import asyncio
import dis
import inspect
import linecache
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from types import CodeType
from typing import Any

from ddl_class.grading.inside.stand_ins import Silent
from ddl_runtime.diagnosis.frames import error_text

Cell = tuple[str, str]  # its name, shown in errors, and its source
GLOBAL = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")
EVERYTHING = "*"  # what `from module import *` makes known


@dataclass(frozen=True, eq=False)
class Statement:
    """One statement of a cell."""

    node: ast.stmt
    cell: str
    futures: tuple[ast.stmt, ...]  # what the cell imports from __future__

    @cached_property
    def code(self) -> CodeType:
        program = ast.Module([*self.futures, self.node], [])
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code: CodeType = compile(program, self.cell, "exec", flags, dont_inherit=True)
        return code

    @cached_property
    def made(self) -> set[str]:
        """The names that it makes, or changes the things of."""
        return set(_made(self.node))

    def run(self, namespace: dict[str, Any]) -> None:
        if self.code.co_flags & inspect.CO_COROUTINE:
            asyncio.run(eval(self.code, namespace))
        else:
            exec(self.code, namespace)


class Notebook:
    """The cells as far as they were run: their names, and what went wrong meanwhile."""

    def __init__(self) -> None:
        silent = Silent()
        self.names = {"__name__": "__main__", "display": silent, "get_ipython": lambda: silent}
        self._failed: dict[str, str] = {}  # by the name that is missing: what its line raised

    def run(self, answer: Sequence[Cell], around: Sequence[Sequence[Cell]], function: str) -> None:
        """Run the answer; what it needs is taken from the first of the cells around that has it.

        Each of `around` is run before those that stand before it.
        """
        own = list(chain.from_iterable(_statements(*cell) for cell in answer))
        made = set().union(*(one.made for one in own))
        wanted = set().union({function, EVERYTHING}, *(_used(one.code) for one in own)) - made
        errors = []
        for one in [*_needed(around, wanted), *own]:
            try:
                one.run(self.names)
            except BaseException as error:
                errors.append(error)
                place = f"line {one.node.lineno} of {one.cell}"
                said = f"{place}, which makes it, raised {error_text(error)[:300]}"
                self._failed |= dict.fromkeys(one.made, said)
            else:
                self._failed = {k: v for k, v in self._failed.items() if k not in one.made}
        if callable(self.names.get(function)):
            return
        if errors:
            raise errors[0]
        raise NameError(f"the answer cell defines no function {function}")

    def error_text(self, error: BaseException) -> str:
        """What an error says; where a name is missing, also why."""
        text = error_text(error)
        cause = isinstance(error, NameError) and self._failed.get(error.name or "")
        return f"{text}: {cause}" if cause else text


def names_loaded(code: CodeType, kinds: tuple[str, ...] = GLOBAL) -> Iterator[list[str]]:
    """The names that code looks up, each with the attributes that it asks of it."""
    instructions = list(dis.get_instructions(code))
    for place, instruction in enumerate(instructions):
        if not instruction.opname.startswith(kinds):
            continue
        found = instruction.argval  # two names, where Python loads two at once
        *others, name = found if isinstance(found, tuple) else (found,)
        yield from ([other] for other in others)
        path = [name]
        for after in instructions[place + 1 :]:
            if after.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                break
            path.append(after.argval)
        yield path
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from names_loaded(inner, kinds)


def _used(code: CodeType) -> set[str]:
    return {name for name, *_ in names_loaded(code)}


def _statements(cell: str, source: str) -> list[Statement]:
    """The statements of a cell, in order; a SyntaxError where it is no Python."""
    linecache.cache[cell] = (len(source), None, source.splitlines(keepends=True), cell)
    body = ast.parse(source, cell).body
    futures = [
        node for node in body if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    ]
    found = [Statement(node, cell, tuple(futures)) for node in body if node not in futures]
    for one in found:
        _ = one.code  # some mistakes are only found now, and belong to the whole cell
    return found


def _needed(around: Sequence[Sequence[Cell]], wanted: Iterable[str]) -> list[Statement]:
    """The statements that make the wanted names, and those that they want in turn."""
    places = [list(_all_statements(cells)) for cells in around]
    chosen: list[Statement] = []
    names = list(wanted)
    for name in names:  # grows meanwhile
        makers = ([one for one in place if name in one.made] for place in places)
        for one in next(filter(None, makers), []):
            if one not in chosen:
                chosen.append(one)
                names += _used(one.code).difference(names)
    return [one for place in reversed(places) for one in place if one in chosen]


def _all_statements(cells: Iterable[Cell]) -> Iterator[Statement]:
    for cell in cells:
        try:
            yield from _statements(*cell)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # no answer: it may be for another language, or unfinished


def _made(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
            return
        case ast.Import() | ast.ImportFrom():
            yield from ((one.asname or one.name).split(".")[0] for one in node.names)
        case ast.Name(ctx=ast.Store()):
            yield node.id
        case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
            whole = node.value
            while isinstance(whole, ast.Subscript | ast.Attribute):
                whole = whole.value
            if isinstance(whole, ast.Name):
                yield whole.id
    for inner in ast.iter_child_nodes(node):
        yield from _made(inner)
