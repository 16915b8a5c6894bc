"""The stage of graded exercises: strangers' ranks in sandboxes, simulated ranks outside.

To every rank in its sandbox belongs a simulated rank in the grader. It does what the other asks
for, verb by verb, and so the messages, the ledger and the clock are the grader's own: what a
submission is judged by is what it really sent. It may say what it likes: only plain values of it
arrive, and whatever is not understood ends the exercise.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ddl_teach.comm import Comm, story
from ddl_teach.comm.networks import Uniform
from ddl_teach.comm.simulate import simulate
from ddl_teach.course.exercises.exercise import NO_BUFFERS, Outcome
from ddl_teach.course.grading.inside.wire import Late, Malformed
from ddl_teach.course.grading.plain_text import plain
from ddl_teach.course.grading.sandbox import Ended, Limits, Nursery, Sandboxed
from ddl_teach.course.grading.verbs import Excess, Memory, Verbs


class Answer(Exception):
    """What a submission is told: its exception and its traceback, in its own words."""

    def __init__(self, what: str, traceback_text: str = "") -> None:
        super().__init__(what)
        self.traceback_text = traceback_text


class UntrustedStage:
    """Runs `function`, which the notebook's `cells` define, in sandboxes.

    `cells` are pairs of a name, shown in errors, and source code. All runs together have the time
    of the `limits`, which begins with the first.
    """

    def __init__(
        self,
        nursery: Nursery,
        cells: Sequence[tuple[str, str]],
        function: str,
        limits: Limits = Limits(),
    ) -> None:
        self.printed = ""
        self._nursery = nursery
        self._cells = list(cells)
        self._function = function
        self._limits = limits
        self._ranks: list[Sandboxed] = []
        self._deadline = 0.0
        self._verbs: dict[int, Verbs] = {}

    def __enter__(self) -> UntrustedStage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every process that is left."""
        for rank in self._ranks:
            rank.end()
        self._ranks.clear()

    def call(self, *arguments: Any) -> Any:
        """A function without ranks: what it returns for these arguments."""
        try:
            self._prepare(1)
            task = ("call", self._function, arguments)
            value, _ = self._conclude(self._ranks[0].ask(task, self._deadline), arguments)
            return value
        except Answer as answer:
            text = f"your function raised {answer}\n\n{answer.traceback_text}".rstrip()
            raise self._failed(story.StoryError(text)) from None
        except (Late, Ended, Malformed) as error:
            raise self._failed(self._tell(error)) from None

    def run(self, ranks: int, arguments: Sequence[tuple], *, network: Any = Uniform()) -> Outcome:
        """A rank program: `function(comm, *arguments[comm.rank])` on every rank."""
        left: list[tuple] = [()] * ranks
        memory = Memory(self._limits.under_way)

        def follow(comm: Comm) -> Any:
            rank = self._ranks[comm.rank]
            verbs = self._verbs[comm.rank] = Verbs(comm, memory)
            while True:
                verbs.computing = True
                said = rank.hear(self._deadline)
                verbs.computing = False
                if isinstance(said, tuple) and said[:1] in (("returned",), ("raised",)):
                    value, left[comm.rank] = self._conclude(said, arguments[comm.rank])
                    return value
                rank.tell(verbs.carry_out(said), self._deadline)

        self._verbs.clear()
        try:
            self._prepare(ranks)
            for number, rank in enumerate(self._ranks[:ranks]):  # they compute at the same time
                place = (number, ranks, network.node(number))
                rank.tell(("run", self._function, arguments[number], *place), self._deadline)
            run = simulate(follow, ranks, network=network, machine=NO_BUFFERS, trace=False)
        except Answer as answer:
            text = f"your cell raised {answer}\n\n{answer.traceback_text}".rstrip()
            raise self._failed(story.StoryError(text)) from None
        except story.RankFailed as failure:
            raise self._failed(self._retell(failure)) from None
        except story.Deadlock as deadlock:
            raise self._failed(self._retell_deadlock(deadlock, ranks)) from None
        except story.StoryError as error:
            raise self._failed(error) from None
        except (Late, Ended, Malformed) as error:
            raise self._failed(self._tell(error)) from None
        return Outcome(run.results, left, run.ledger, run.time)

    def _prepare(self, ranks: int) -> None:
        """Have so many ranks that know the notebook's cells."""
        if not self._deadline:
            self._deadline = time.monotonic() + self._limits.seconds
        fresh = [self._nursery.birth(self._limits) for _ in range(ranks - len(self._ranks))]
        self._ranks += fresh
        for rank in fresh:
            rank.tell(("cells", self._cells, self._function), self._deadline)
        for rank in fresh:
            self._conclude(rank.hear(self._deadline), ())

    def _conclude(self, said: Any, arguments: tuple) -> tuple[Any, tuple]:
        """A rank's last words on its task: what it returned, and its arguments as they are now."""
        if not (isinstance(said, tuple) and len(said) == 4 and isinstance(said[3], str)):
            raise Malformed("a rank said what makes no sense")
        kind, value, left, printed = said
        self.printed = self.printed or plain(printed)
        if kind == "raised" and isinstance(value, str) and isinstance(left, str):
            raise Answer(plain(value), plain(left))
        if kind != "returned" or not isinstance(left, tuple) or len(left) != len(arguments):
            raise Malformed("a rank said what makes no sense")
        for before, after in zip(arguments, left, strict=True):
            if not _of_one_kind(before, after):
                raise Malformed("a rank gave back other arguments than it was given")
        return value, left

    # -- failures ---------------------------------------------------------------------------

    def _failed(self, error: story.StoryError) -> story.StoryError:
        """After a failure ranks stand anywhere in their programs: the next run begins anew."""
        self.close()
        return error

    def _retell(self, failure: story.RankFailed) -> story.StoryError:
        """A rank's failure in the words of its program instead of ours."""
        cause = failure.__cause__
        if isinstance(cause, Answer):
            return story.tell_failure(failure.rank, str(cause), cause.traceback_text)
        return self._tell(cause, failure.rank)

    def _retell_deadlock(self, deadlock: story.Deadlock, ranks: int) -> story.Deadlock:
        waits = [replace(wait, where=self._verbs[wait.rank].where) for wait in deadlock.waits]
        waiting = {wait.rank for wait in waits}
        return story.tell_deadlock(waits, set(range(ranks)) - waiting)

    def _tell(self, error: Exception, rank: int | None = None) -> story.StoryError:
        who = "your function" if rank is None else f"rank {rank}"
        if isinstance(error, Late):
            positions = {number: verbs.position() for number, verbs in self._verbs.items()}
            head = f"The time was up after {self._limits.seconds:g} s: {who} still computed."
            return story.TimedOut(story.tell_positions(head, positions).rstrip())
        if isinstance(error, Ended):
            return story.RankFailed(f"{who} {error}", rank or 0)
        if not isinstance(error, (Malformed, Excess)):  # it made one of our own steps fail
            error = Malformed(f"{type(error).__name__}: {error}")
        what = plain(f"{who} said to the grader what makes no sense: {error}")
        return story.RankFailed(what, rank or 0)


def _of_one_kind(before: Any, after: Any) -> bool:
    """Whether what came back can be what was given, changed in place."""
    if isinstance(before, np.ndarray):
        return (
            isinstance(after, np.ndarray)
            and before.shape == after.shape
            and before.dtype == after.dtype
        )
    return type(before) is type(after)
