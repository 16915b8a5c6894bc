"""How a learner's function is made and run here as it will be where answers are graded.

In a notebook `check` does not try the function that the kernel has. It makes one anew, for each
rank, of the cells that were run: by the same code as the grader's, with the same stand-ins. So a
module beside the notebook, or what ranks share in this one process only, shows at once.
"""

import sys
import weakref
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from ddl_class.grading.inside import notebook
from ddl_class.grading.inside.project import CLOSED_VERBS, Imports, refuse_verb
from ddl_teach.collectives import registry
from ddl_teach.comm import Comm
from ddl_teach.theory.bounds import COMBINING

NAMELESS = (
    "grading runs your cells and calls your function by its name, and this one has none. Write it "
    "with `def`, in a cell, and pass that name."
)

UNREADABLE = (
    "{cell} is no Python, so {name} still is what an earlier cell made it: {error}. Mend that "
    "cell, run it, then this one again."
)

UNREAD = (
    "grading reads in your cells which function answers, and does not find {name}. Define it in "
    'a cell, and write check("{exercise}", {name}) in these words: no variable, no f-string.'
)


class Nameless(Exception):
    """A function that a notebook's cells cannot make."""


def unread(exercise: str, function: Callable[..., Any]) -> str | None:
    """Why grading would not see that the cells which this kernel has run check this function; None
    where it does, or where no cells are known."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    sources = [] if shell is None else shell.history_manager.input_hist_raw
    if shell is None or not any("check" in source for source in sources):
        return None
    checked = notebook.functions_checked(sources).get(exercise, "")
    if shell.user_ns.get(checked) is function:
        return None
    return UNREAD.format(name=getattr(function, "__name__", "its function"), exercise=exercise)


def maker(function: Callable[..., Any], allowed: Sequence[str]) -> Callable[[], Any] | None:
    """What makes the function of the cells that this kernel has run; None where none are known."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        return None
    names = [getattr(function, "__name__", ""), *shell.user_ns]
    name = next((name for name in names if shell.user_ns.get(name) is function), "")
    if not name.isidentifier():
        raise Nameless(NAMELESS)
    from ddl_class.grading.magics import as_python  # which needs IPython

    cells = [
        (f"cell [{place}]", as_python(source))
        for place, source in enumerate(shell.history_manager.input_hist_raw)
    ]
    if not any(name in source for _, source in cells):
        return None  # whoever runs this notebook keeps no history
    # Of drafts the last counts, as it does in the kernel.
    drafts = [cell for cell in cells if notebook.defines(cell[1], name)]
    if drafts and (error := notebook.unreadable(drafts[-1])):
        raise Nameless(UNREADABLE.format(name=name, error=error, cell=drafts[-1][0]))
    own = [cell for cell in cells if name in cell[1] and notebook.makes(cell, name)][-1:]
    others = [cell for cell in cells if cell not in own]
    imports = Imports(allowed, Path.cwd())
    answer = cache(lambda: notebook.AnswerFunction.chosen(own, [others], name))
    return lambda: answer().make(imports)


def as_graded(comm: Comm) -> Comm:
    """This rank's communicator, without those verbs that do not run where answers are graded."""
    for verb in CLOSED_VERBS:
        setattr(comm, verb, partial(refuse_verb, verb))
    # Not `comm` itself: what refers to itself is taken away late, and by any thread.
    whole = weakref.ref(comm)
    split: Callable[..., Comm | None] = type(comm).split

    def split_as_graded(colour: int | None, key: int = 0) -> Comm | None:
        group = split(whole(), colour, key)
        return None if group is None else as_graded(group)

    def library(path: str, x: Any, op: Any = "sum") -> Any:
        return run_library(whole(), path, x, op)

    for name, method in {"split": split_as_graded, "library": library}.items():
        setattr(comm, name, method)
    return comm


def run_library(comm: Any, path: str, x: Any, op: str) -> Any:
    """A collective of the library that an exercise lets its answer call."""
    algorithm, collective = path.split(".")[-2:]
    with_op = (op,) if collective in COMBINING else ()
    return registry.function(algorithm, collective)(comm, x, *with_op)
