"""What an answer may not use, in the same words wherever it is found: by `check` or the grader.

An exercise asks for the learner's own lines. Of this project an answer may use what rank programs
are written with, which is on the list of `project`, and those functions that the exercise names.
Some verbs of the communicator do not run where exercises are graded.
"""

from __future__ import annotations

from collections.abc import Sequence

from ddl_class.grading.inside.project import is_hidden

PACKAGE, COURSE = "ddl_teach", "ddl_class"
PICTURES = f"{COURSE}.plots"
CLASSROOM = (  # what a notebook's cells talk to; it does nothing where exercises are graded
    "Engines", "animate", "check", "definition", "explore", "hint", "judge", "predict", "progress",
    "reveal", "stopwatch", "yours",
)  # fmt: skip
CLOSED_VERBS = ("background", "shared_memory", "window", "revoke", "agree", "shrink", "die")


class ForbiddenUse(Exception):
    """An answer used what it may not; the text says what."""


def is_library(path: str) -> bool:
    """Whether "ddl_teach.collectives.ring.allreduce" is what an answer has to write itself."""
    if not is_hidden(path) or _is_in(path, PICTURES):
        return False
    return not (_is_in(path, COURSE) and path.rpartition(".")[2] in CLASSROOM)


def _is_in(path: str, room: str) -> bool:
    return f"{path}.".startswith(f"{room}.")


def may_use(path: str, allowed: Sequence[str]) -> bool:
    """Whether the exercise lets its answer call this function: "ring.reduce_scatter"."""
    return path in [f"{PACKAGE}.collectives.{name}" for name in allowed]


def library_words(path: str, allowed: Sequence[str]) -> str:
    """Why an answer that calls a function of the library is not right."""
    besides = f" and {', '.join(allowed)}" if allowed else ""
    return (
        f"it calls {path}, and the exercise asks for your own lines in its place. Of the library "
        f"an answer may use ddl_teach.comm{besides}."
    )


def verb_words(verb: str) -> str:
    """Why an answer that calls a verb of the communicator is not right."""
    return (
        f"it calls comm.{verb}, which does not run where exercises are graded. Write it with "
        "messages: send, recv, sendrecv, isend and irecv do."
    )
