"""Cells hold no Python that their reader could not say aloud, and nothing the guide rules out."""

import ast
import re
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parents[1] / "notebooks" / "source").glob("*.py"))
CLASSES = {"19_validate.Square"}  # torch asks for a class where a gradient is one's own


def cells(text):
    """The statements of each cell that is Python."""
    for cell in re.split(r"^# %%.*$", text, flags=re.MULTILINE):
        try:
            yield ast.parse(cell).body
        except SyntaxError:  # a cell magic
            continue


def statements(text):
    """The statements of all cells that are Python."""
    return (statement for cell in cells(text) for statement in cell)


def oddity(node):
    """What a beginner would stumble over here, or None."""
    match node:
        case ast.Lambda(args=ast.arguments(defaults=[_, *_])):
            return "a lambda with a default: use functools.partial"
        case ast.Call(func=ast.IfExp()):
            return "a call of one function or another: write if and else"
        case ast.Call(func=ast.Lambda()):
            return "a lambda that is called at once: give it a name"
        case ast.Dict(keys=keys) if None in keys:
            return "a merge by **: write one | other"
        case ast.Call(keywords=words) if [word.arg for word in words].count(None) > 1:
            return "two ** in one call: merge them before, with |"
        case ast.FunctionDef(decorator_list=[_, *_]):
            return "a decorator"
        case ast.ClassDef():
            return "a class"
    return None


def oddities(text, name):
    return [
        f"{what}, in: {ast.unparse(node)[:80]}"
        for statement in statements(text)
        if f"{name}.{getattr(statement, 'name', '')}" not in CLASSES
        for node in ast.walk(statement)
        if (what := oddity(node))
    ]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_reader_could_say_each_cell(source):
    assert oddities(source.read_text(), source.stem) == []


@pytest.mark.parametrize(
    "code",
    [
        "f = lambda x, y=y: x + y", "(comm.send if first else comm.recv)(x, 1)", "(lambda: 1)()",
        "{**a, 'b': 1}", "f(**a, **b)", "@once\ndef f(): pass", "class A: pass",
    ],
)  # fmt: skip
def test_what_would_stop_a_reader_is_noticed(code):
    assert len(oddities(f"x = 1\n# %%\n{code}", "any")) == 1


def names_of(function):
    """The names of a function's arguments, without those that it lets be."""
    given = function.args.args[: len(function.args.args) - len(function.args.defaults)]
    return [argument.arg for argument in given]


def stand_ins(text):
    """The function that `yours` may put in a learner's place, where both are plain in the cells:
    the name of the exercise, and both lists of arguments."""
    body = list(statements(text))
    known = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    for call in (node for statement in body for node in ast.walk(statement)):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "yours":
            name, mine, theirs = call.args
            if not isinstance(theirs, ast.Lambda):
                theirs = known.get(getattr(theirs, "id", ""))
            if theirs and theirs.args.vararg is None and theirs.args.kwarg is None:
                yield name.value, names_of(known[mine.id]), names_of(theirs)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_programs_on_ranks_can_be_replaced_by_name(source):
    """Such a program is given its arguments by name: what stands in needs the same names."""
    pairs = stand_ins(source.read_text())
    assert [name for name, mine, theirs in pairs if mine[:1] == ["comm"] and theirs != mine] == []


def test_another_name_in_a_stand_in_is_seen():
    text = 'def f(comm, strip):\n    return 1\n\n\nyours("09.x", f, lambda c, x: 1)\n'
    assert list(stand_ins(text)) == [("09.x", ["comm", "strip"], ["c", "x"])]


def unseen(text):
    """The pictures that a cell makes before its last line: Jupyter shows only what stands last."""
    early = [statement for cell in cells(text) for statement in cell[:-1]]
    calls = [ast.unparse(statement) for statement in early if isinstance(statement, ast.Expr)]
    return [call for call in calls if re.match(r"([\w.]*\bplot_\w+|animate|progress)\(", call)]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_no_picture_is_made_and_not_shown(source):
    assert unseen(source.read_text()) == []


@pytest.mark.parametrize("call", ["plot_held(bars)", "pictures.plot_held(bars)", "progress()"])
def test_a_picture_before_the_last_line_is_seen(call):
    assert unseen(f"# %%\n{call}\nprint(1)\n") == [call]
    assert unseen(f"# %%\nprint(1)\n{call}\n") == []
