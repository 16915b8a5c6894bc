"""One rank in its sandbox: runs the notebook's cells, then whatever the grader asks it to run.

Each rank runs the cells itself, as real ranks do, so that nothing is shared between them that was
not sent. A cell runs statement by statement. One that raises does not end it: a picture that
cannot be drawn costs nothing. It is only told of where the name that it should have made is
missing. Of the cells beside the answer's those statements run which make the names that the answer
uses.
"""

import ast
import asyncio
import dis
import inspect
import io
import linecache
import socket
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from types import CodeType
from typing import Any

from ddl_class.grading.inside.project import Silent, stand_in
from ddl_class.grading.inside.remote_comm import MACHINERY, RemoteComm, call_back
from ddl_class.grading.inside.wire import Unplain, receive_frame, send_frame
from ddl_runtime.core.watch import Watch
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
    def used(self) -> set[str]:
        return {name for name, *_ in names_loaded(self.code)}

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
        made = set().union(*(maker.made for maker in own))
        wanted = set().union({function, EVERYTHING}, *(maker.used for maker in own)) - made
        errors = []
        for maker in [*_needed(around, wanted), *own]:
            try:
                maker.run(self.names)
            except BaseException as error:
                errors.append(error)
                place = f"line {maker.node.lineno} of {maker.cell}"
                message = f"{place}, which makes it, raised {error_text(error)[:300]}"
                self._failed |= dict.fromkeys(maker.made, message)
            else:
                self._failed = {k: v for k, v in self._failed.items() if k not in maker.made}
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
        names = instruction.argval  # two names, where Python loads two at once
        *others, name = names if isinstance(names, tuple) else (names,)
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


def _statements(cell: str, source: str) -> list[Statement]:
    """The statements of a cell, in order; a SyntaxError where it is no Python."""
    linecache.cache[cell] = (len(source), None, source.splitlines(keepends=True), cell)
    body = ast.parse(source, cell).body
    futures = [
        node for node in body if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    ]
    statements = [Statement(node, cell, tuple(futures)) for node in body if node not in futures]
    for statement in statements:
        _ = statement.code  # some mistakes show only now, and belong to the whole cell
    return statements


def _needed(around: Sequence[Sequence[Cell]], wanted: Iterable[str]) -> list[Statement]:
    """The statements that make the wanted names, and those that they want in turn."""
    places: list[list[Statement]] = [[] for _ in around]
    for place, cells in zip(places, around, strict=True):
        for cell in cells:
            # One that is no Python may be for another language, or unfinished.
            with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                place += _statements(*cell)
    chosen: list[Statement] = []
    names = list(wanted)
    for name in names:  # grows meanwhile
        makers = ([maker for maker in place if name in maker.made] for place in places)
        for maker in next(filter(None, makers), []):
            if maker not in chosen:
                chosen.append(maker)
                names += maker.used.difference(names)
    return [maker for place in reversed(places) for maker in place if maker in chosen]


def _made(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
            return
        case ast.Import() | ast.ImportFrom():
            yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
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


MOST_OUTPUT = 4_000  # characters: it is only shown


class KeptOutput(io.TextIOBase):
    """What is printed: the beginning of it is kept."""

    def __init__(self) -> None:
        self._kept = ""

    def write(self, text: str) -> int:
        self._kept += text[: MOST_OUTPUT - len(self._kept)]
        return len(text)

    def taken(self) -> str:
        text, self._kept = self._kept, ""
        return text


def live(link: socket.socket) -> None:
    """Answer the grader until it has no more to ask."""
    output = KeptOutput()
    sys.stdout = sys.stderr = output
    notebook = Notebook()
    while True:
        try:
            task, *words = receive_frame(link)
        except EOFError:
            return
        try:
            if task == "cells":
                *cells, allowed = words
                stand_in(allowed)
                notebook.run(*cells)
                value, arguments = None, ()
            else:
                function, arguments, *more = words
                watch = Watch()
                if task == "run":
                    given = [RemoteComm(link, watch, 0, *more), *arguments]
                else:
                    given = list(arguments)
                    for number in more[0]:
                        given[number] = partial(call_back, link, number)
                value = notebook.names[function](*given)
                watch.conclude()
            answer = ("returned", value, arguments, output.taken())
        except BaseException as error:
            answer = ("raised", notebook.error_text(error)[:800], _story(error), output.taken())
        try:
            send_frame(link, answer)
        except Unplain as error:
            what = f"TypeError: the function returned what cannot be looked at here: {error}"
            send_frame(link, ("raised", what, "", output.taken()))


def _story(error: BaseException) -> str:
    """The traceback without the frames of this machinery."""
    summary = traceback.TracebackException.from_exception(error, limit=-12)
    own = [frame for frame in summary.stack if not frame.filename.startswith(MACHINERY)]
    summary.stack = traceback.StackSummary.from_list(own)
    if not own and not isinstance(error, SyntaxError):
        return ""
    try:
        return "".join(summary.format())[:MOST_OUTPUT]
    except Exception:
        return ""
