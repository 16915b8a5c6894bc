"""Where `check` puts the learner's function to the test: simulated ranks, and the running engines.

Every rank gets copies of its arguments, so whatever the function does to them, the judge compares
with its own. `seconds` is the time for all runs of one check together; on busy engines each run
still gets `LEAST` of them.
"""

import contextlib
import copy
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from ddl_class.exercises.exercise import ProgramOutcome
from ddl_class.exercises.graded import as_graded
from ddl_class.exercises.time_limit import OutOfTime, Silence, within
from ddl_class.grading.inside.refusals import refusing
from ddl_class.grading.inside.wire import encode, travelled
from ddl_class.ranks import simulate
from ddl_runtime.diagnosis import frames
from ddl_runtime.diagnosis.deadlock import DiagnosedError, Interrupted, TimedOut, tell_raised
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import Comm, Run

LEAST = 5.0  # a right answer needs less, also where many ranks share a core


class SimulatedStage:
    """Simulated ranks in this process. `make`, where it is given, makes the function anew for each
    rank, as a sandbox does; then also what it returns must be plain, and no file is beside it."""

    def __init__(
        self,
        function: Callable[..., Any],
        seconds: float = 20.0,
        make: Callable[[], Callable[..., Any]] | None = None,
    ) -> None:
        self._make = make or (lambda: function)
        self._graded = make is not None
        self._functions: list[Callable[..., Any]] = []  # of each rank
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def call(self, *arguments: Any) -> Any:
        """A function without ranks: what it returns for copies of these arguments."""
        [copies] = self._copied([arguments], [each for each in arguments if not callable(each)])
        self._prepare(1)
        return self._retelling("your function", lambda: self._call(0, copies))

    def run(
        self, ranks: int, arguments: Sequence[tuple[Any, ...]], *, network: Any = Uniform()
    ) -> ProgramOutcome:
        """A rank program: `function(comm, *arguments[comm.rank])` on every rank."""
        copies = self._copied(arguments, list(arguments))

        def program(comm: Comm) -> tuple[Any, tuple[Any, ...]]:
            own = copies[comm.rank]
            return self._call(comm.rank, (as_graded(comm), *own)), own

        self._prepare(ranks)
        return _outcome(self._within(lambda: simulate(program, ranks, network=network)))

    def _copied(
        self, arguments: Sequence[tuple[Any, ...]], sent: list[Any]
    ) -> list[tuple[Any, ...]]:
        """Copies of each rank's arguments; a sandbox must be able to get what is `sent`."""
        if self._graded:
            encode(sent)
        # One by one, or ranks that are given the same array would share its copy.
        return [copy.deepcopy(own) for own in arguments]

    def _prepare(self, ranks: int) -> None:
        """Make the function for each rank that has none."""
        while len(self._functions) < ranks:
            self._functions.append(self._retelling("your cell", refusing()(self._make)))

    def _call(self, rank: int, arguments: tuple[Any, ...]) -> Any:
        with refusing():
            value = self._functions[rank](*arguments)
        return travelled(value) if self._graded else value

    def _retelling(self, subject: str, work: Callable[[], Any]) -> Any:
        try:
            return self._within(work)
        except (DiagnosedError, KeyboardInterrupt):
            raise
        except BaseException as error:
            what, where = frames.error_text(error), frames.program_traceback(error)
            raise tell_raised(subject, what, where) from error

    def _within(self, work: Callable[[], Any]) -> Any:
        try:
            with nothing_beside() if self._graded else contextlib.nullcontext():
                return within(self._end - time.monotonic(), work)
        except KeyboardInterrupt:
            raise Interrupted(
                "Interrupted while your function was being checked. A check ends by itself after "
                f"{self._seconds:g} s, and says at which line your function was."
            ) from None
        except OutOfTime as stop:
            where = frames.source_line(stop.frame)
            raise TimedOut(
                f"The time was up: after {self._seconds:g} s your function still ran"
                + (f" at\n\n  {where}" if where else ".")
                + "\n\nWhat to try: find the loop that does not end."
            ) from None


@contextlib.contextmanager
def nothing_beside() -> Iterator[None]:
    """In an empty folder, as in a sandbox: the notebook alone is handed in."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield


class RunningRanks(Protocol):
    """Running processes: the learner's engines, or `ddl_teach.Ranks`."""

    size: int

    def run(
        self, program: Callable[..., Any], ranks: int | None = None, *, timeout: float, **_: Any
    ) -> Run:
        """Run a program on the first `ranks` of them."""


class EnginesStage:
    """The learner's own engines: real processes, real messages."""

    def __init__(
        self, function: Callable[..., Any], engines: RunningRanks, seconds: float = 20.0
    ) -> None:
        self._function = function
        self._engines = engines
        self._end = time.monotonic() + seconds

    def call(self, *arguments: Any) -> Any:
        """A function without ranks: what it returns on one engine."""
        return self._on_engines(_call, 1, [arguments]).results[0]

    def run(
        self, ranks: int, arguments: Sequence[tuple[Any, ...]], *, network: Any = None
    ) -> ProgramOutcome:
        """A rank program; the network of real ranks is what it is."""
        return self._on_engines(_run, ranks, arguments)

    def _on_engines(
        self, program: Callable[..., Any], ranks: int, arguments: Sequence[tuple[Any, ...]]
    ) -> ProgramOutcome:
        left = max(self._end - time.monotonic(), LEAST)
        given = {"function": self._function, "arguments": list(arguments)}
        return _outcome(self._engines.run(program, ranks, timeout=left, strict=True, **given))


def _run(
    comm: Comm, function: Callable[..., Any], arguments: list[tuple[Any, ...]]
) -> tuple[Any, tuple[Any, ...]]:
    own = arguments[comm.rank]
    with contextlib.redirect_stdout(Silence()):
        return function(comm, *own), own


def _call(
    comm: Comm, function: Callable[..., Any], arguments: list[tuple[Any, ...]]
) -> tuple[Any, tuple[Any, ...]]:
    return _run(comm, lambda _, *own: function(*own), arguments)


def _outcome(run: Run) -> ProgramOutcome:
    results, arguments = zip(*run.results, strict=True)
    books = run.ledger, run.time, run.timeline
    return ProgramOutcome(list(results), list(arguments), *books)
