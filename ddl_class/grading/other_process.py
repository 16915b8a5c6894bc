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
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import Any, BinaryIO

from ddl_class.commands.mistake import Mistake
from ddl_class.grading.inside import kernel
from ddl_class.grading.sandbox import ENDED

# Without the current folder: submissions may lie in it.
COMMAND = [sys.executable, "-P", "-m", "ddl_class.grading.other_process"]


class OtherProcess(AbstractContextManager["OtherProcess"]):
    """Gives the verdicts that `grading` would, one at a time."""

    def __init__(self, grading: Any) -> None:
        pipe = subprocess.PIPE
        self._process: Any = subprocess.Popen(
            COMMAND, stdin=pipe, stdout=pipe, start_new_session=True
        )
        self._tell(grading)
        self._begun = False

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def hang_up(self) -> None:
        """End it at once, and all ranks with it."""
        self._process.kill()

    def verdict(self, *work: Any) -> Any:
        if not self._begun:
            self._begun = self._hear()
        self._tell(work)
        return self._hear()

    def _tell(self, value: Any) -> None:
        with suppress(BrokenPipeError):  # it has ended, which will be heard
            pickle.dump(value, self._process.stdin)
            self._process.stdin.flush()

    def _hear(self) -> Any:
        try:
            answer = pickle.load(self._process.stdout)
        except EOFError:
            raise Mistake(ENDED) from None
        if isinstance(answer, Exception):
            raise answer
        return answer


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
    except Exception as error:
        answer = pickle.dumps(error)
    answers.write(answer)
    answers.flush()


if __name__ == "__main__":
    main()
