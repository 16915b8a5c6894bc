"""The usual mistakes as cells: what somebody might have written in the place of an answer."""

import ast
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent


@cache
def statements(path):
    """The statements of a file of mistakes by the names that they bind, in their order. Those of
    another such file stand in place of an import from it: no cell can import that file."""
    bound = {}
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom) and statement.module.startswith("mistakes_"):
            bound |= statements(HERE / f"{statement.module}.py")
            continue
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            bound[statement.name] = statement
            continue
        for part in ast.walk(statement):
            if isinstance(part, ast.alias):
                bound[(part.asname or part.name).split(".")[0]] = statement
            elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                bound[part.id] = statement
    return bound


def first_mistake(exercise, function):
    """A cell that defines the answer with the first mistake that is listed, or without a line."""
    given = ", ".join(exercise.parameters)
    for path in sorted(HERE.glob(f"mistakes_{exercise.unit}*.py")):
        for entry in statements(path)["MISTAKES"].value.elts:
            match entry:
                case ast.Tuple(elts=[ast.Constant(exercise.name), mistake, _]):
                    call = f"({ast.unparse(mistake)})({given})"
                    wrong = f"def {function}({given}):\n    return {call}"
                    return f"{_needed(path, mistake)}\n\n\n{wrong}"
    return f"def {function}({given}):\n    ..."  # the others are made in a loop


def _needed(path, expression):
    """The statements that an expression of this file needs, as source."""
    bound, todo, needed = statements(path), [expression], []
    while todo:
        for part in ast.walk(todo.pop()):
            statement = bound.get(getattr(part, "id", None))
            if statement is not None and statement not in needed:
                needed.append(statement)
                todo.append(statement)
    return "\n".join(ast.unparse(each) for each in dict.fromkeys(bound.values()) if each in needed)
