"""How an answer is made from a notebook's cells; `check` and the grader do it in the same way.

An answer's cells run statement by statement in a namespace of their own. A statement that raises
does not end them; its error is reported if a name that it defines is missing later. Of other cells
only those statements run that define names which the answer uses. They are chosen once; every rank
runs them itself.
Display, plots, engines and checks do nothing here: see `project`.
"""

import ast
import asyncio
import builtins
import dis
import linecache
import marshal
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from types import CodeType
from typing import Any, NamedTuple

from ddl_class.grading.inside.project import Imports, Silent
from ddl_runtime.diagnosis.frames import error_text

Cell = tuple[str, str]  # its name, shown in errors, and its source
# `check("06.ring", ring_allreduce)` is about this exercise and this function.
CHECKS = re.compile(
    r"""^[^#"'\n]*\b(?:check|judge)\(\s*(?:name\s*=\s*)?["']([\w.]+)["'],"""
    r"""\s*(?:function\s*=\s*)?([^\W\d]\w*)""",
    re.MULTILINE,
)
GLOBAL = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
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
        return set(_names_loaded(self.code))

    @cached_property
    def made(self) -> set[str]:
        """The names that it binds, or of which it assigns an element or attribute."""
        return set(_made(self.node))

    @cached_property
    def filled(self) -> set[str]:
        """The names on which it calls a method, as in `table.update(...)`."""
        return set(_filled(self.node))

    @cached_property
    def defines(self) -> bool:
        """Whether it defines its names without using their earlier values."""
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        return isinstance(self.node, kinds) and not self.node.decorator_list


class AnswerFunction(NamedTuple):
    """The function that answers an exercise, and the statements that make it, as plain data. Of
    each statement: its cell, its line, the names that it makes, and its code."""

    function: str
    statements: Sequence[tuple[str, int, list[str], bytes]]
    sources: dict[str, str]  # of all cells, to be shown in errors

    @classmethod
    def chosen(
        cls, own: Sequence[Cell], around: Sequence[Sequence[Cell]], function: str
    ) -> "AnswerFunction":
        """All of the answer's own cells; names that they lack are taken from the first of those
        `around` that has them. Later ones of `around` run first."""
        statements = list(chain.from_iterable(_statements(*cell) for cell in own))
        wanted, made, later = {EVERYTHING}, set[str](), {function}
        for statement in statements:
            if statement.defines:
                later |= statement.used  # when it is called
            else:
                wanted |= statement.used - made
            made |= statement.made
        chosen = [
            (each.cell, each.node.lineno, list(each.made), marshal.dumps(each.code))
            for each in [*_needed(around, wanted | later - made), *statements]
        ]
        return cls(function, chosen, dict(chain(own, *around)))

    def make(self, imports: Imports) -> Callable[..., Any]:
        """Run the statements in a new namespace; returns the function."""
        for cell in self.sources.items():
            _show_in_errors(*cell)
        silent = Silent()
        names: dict[str, Any] = {
            "__name__": "__main__",
            "__builtins__": vars(builtins) | {"__import__": imports},
            "display": silent,
            "get_ipython": lambda: silent,
        }
        failed: dict[str, str] = {}  # by the name that is missing: what its line raised
        errors = []
        for cell_name, line, made, code in self.statements:
            try:
                # An `await` outside of functions makes a coroutine, which waits to be run.
                if outcome := eval(marshal.loads(code), names):
                    asyncio.run(outcome)
            except BaseException as error:
                errors.append(error)
                place = f"line {line} of {cell_name}"
                message = f"{place}, which makes it, raised {error_text(error)[:300]}"
                failed |= dict.fromkeys(made, message)
            else:
                failed = {name: why for name, why in failed.items() if name not in made}
        if not callable(names.get(self.function)):
            if errors:
                raise errors[0]
            raise NameError(f"the answer cell defines no function {self.function}")

        def answer(*arguments: Any) -> Any:
            try:
                return names[self.function](*arguments)
            except NameError as error:
                if why := failed.get(error.name or ""):
                    error.args = (f"{error}: {why}",)
                raise

        return answer


def defines(source: str, function: str) -> bool:
    """Whether a cell, Python or not, has a line that may define a function of this name."""
    others, more = r"([\w*]+[ \t]*[,=][ \t]*)*\*?", r"\b[ \t]*(,[\w*, \t]*)?"
    assigned = rf"{others}{function}{more}(:[^=\n]*)?=[^=]"
    looped = rf"for[ \t]+{others}{function}{more}[ \t]in\b"
    line = rf"^[ \t]*((def|class) {function}\b|{assigned}|{looped})"
    return re.search(line, source, re.MULTILINE) is not None


def functions_checked(sources: Sequence[str]) -> dict[str, str]:
    """By exercise the function that its last check names, if a cell defines that function."""
    named: dict[str, str] = {}
    for source in sources:
        named |= dict(CHECKS.findall(source))
    return {
        exercise: function
        for exercise, function in named.items()
        if any(defines(source, function) for source in sources)
    }


def makes(cell: Cell, function: str) -> bool:
    """Whether a cell is Python and makes this name."""
    with suppress(*UNREADABLE):
        return any(function in statement.made for statement in _statements(*cell))
    return False


def unreadable(cell: Cell) -> str:
    """Why a cell is no Python; empty if it is."""
    try:
        _statements(*cell)
    except UNREADABLE as error:
        return error_text(error)
    return ""


def _names_loaded(code: CodeType) -> Iterator[str]:
    """The global names that code looks up."""
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith(GLOBAL):
            yield instruction.argval
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_loaded(inner)


def _statements(cell: str, source: str) -> list[Statement]:
    """The statements of a cell, in order; raises SyntaxError if it is not Python."""
    _show_in_errors(cell, source)
    body = ast.parse(source, cell).body
    futures = [
        node for node in body if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    ]
    statements = [Statement(node, cell, tuple(futures)) for node in body if node not in futures]
    for statement in statements:
        _ = statement.code  # some mistakes show only now, and belong to the whole cell
    return statements


def _show_in_errors(cell: str, source: str) -> None:
    linecache.cache[cell] = (len(source), None, source.splitlines(keepends=True), cell)


def _needed(around: Sequence[Sequence[Cell]], wanted: Iterable[str]) -> list[Statement]:
    """The statements that define the wanted names, and the names which these use in turn."""
    places: list[list[Statement]] = [[] for _ in around]
    for place, cells in zip(places, around, strict=True):
        for cell in cells:
            # One that is no Python may be for another language, or unfinished.
            with suppress(*UNREADABLE):
                place += _statements(*cell)
    chosen: list[Statement] = []
    names = list(wanted)
    for name in names:  # grows meanwhile
        for maker in next(filter(None, (_makers(place, name) for place in places)), []):
            if maker not in chosen:
                chosen.append(maker)
                names += maker.used.difference(names)
    return [maker for place in reversed(places) for maker in place if maker in chosen]


def _makers(statements: Sequence[Statement], name: str) -> list[Statement]:
    """The statements that define or change a name, from its last full definition on."""
    making = [statement for statement in statements if name in statement.made]
    if all(isinstance(maker.node, ast.Import | ast.ImportFrom) for maker in making):
        return making  # `np.save(...)` does not change numpy
    makers = [maker for maker in statements if name in maker.made | maker.filled]
    anew = [place for place, maker in enumerate(makers) if maker.defines]
    return makers[anew[-1] :] if anew else makers


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
            yield from _whole(node)
    for inner in ast.iter_child_nodes(node):
        yield from _made(inner)


def _filled(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return
        case ast.Expr(value=ast.Call(func=ast.Attribute() as method)):
            yield from _whole(method)
    for inner in ast.iter_child_nodes(node):
        yield from _filled(inner)


def _whole(part: ast.expr) -> Iterator[str]:
    """The name of the variable that an element or attribute belongs to."""
    while isinstance(part, ast.Subscript | ast.Attribute):
        part = part.value
    if isinstance(part, ast.Name):
        yield part.id
