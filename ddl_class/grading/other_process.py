"""Grading in a process of its own: Python runs one thread of a process at a time.

The grader sends its circumstances once, then one submission after another, and gets the verdicts.
The process ends with its standard input, and with the grader, whatever ends that.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import Any, BinaryIO

from ddl_class.commands.mistake import Mistake
from ddl_class.grading.inside import kernel
from ddl_class.grading.inside.project import ROOT
from ddl_class.grading.sandbox import ENDED

# This copy of the project, and nothing of the current folder: submissions may lie in it.
BEGIN = "import sys; sys.path.insert(0, {!r}); import {name}; {name}.main()"
COMMAND = [sys.executable, "-P", "-c", BEGIN.format(str(ROOT), name=__name__)]


class OtherProcess(AbstractContextManager["OtherProcess"]):
    """Gives the verdicts that `grading` would, one at a time."""

    def __init__(self, grading: Any) -> None:
        pipe = subprocess.PIPE
        self._process: Any = subprocess.Popen(
            COMMAND, stdin=pipe, stdout=pipe, start_new_session=True
        )
        self._tell(grading)
        self._begun: Any = False

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def hang_up(self) -> None:
        """End it at once, and all ranks with it."""
        self._process.kill()

    def verdict(self, *work: Any) -> Any:
        self._begun = answer = self._begun or self._hear()
        if answer is True:
            self._tell(work)
            answer = self._hear()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _tell(self, value: Any) -> None:
        with suppress(BrokenPipeError):  # it has ended, which will be heard
            pickle.dump(value, self._process.stdin)
            self._process.stdin.flush()

    def _hear(self) -> Any:
        try:
            return pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError):  # or it ended within an answer
            raise Mistake(ENDED) from None


def main() -> None:
    """Grade what comes, until nothing comes any more."""
    source: Any = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything here prints is no answer
    grading = pickle.load(source)
    with ExitStack() as stack:
        _answer(answers, _begin, stack, grading)
        while source.peek(1):
            _answer(answers, grading.verdict, *pickle.load(source))


def _begin(stack: ExitStack, grading: Any) -> bool:
    stack.enter_context(grading)  # refuses systems other than Linux
    kernel.control(kernel.SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    return True


def _answer(answers: BinaryIO, function: Callable[..., Any], *words: Any) -> None:
    try:
        answer = pickle.dumps(function(*words))
    except Mistake as error:
        answer = pickle.dumps(error)
    except Exception as error:  # of any kind: some cannot travel
        answer = pickle.dumps(RuntimeError("".join(traceback.format_exception(error))))
    answers.write(answer)
    answers.flush()
