"""The scores of one submission: its ranks run in sandboxes, simulated ranks outside judge them.

Each sandboxed rank has a simulated rank in the grader, which carries out its requests verb by
verb. So messages, ledger and clock are the grader's own, and the submission is judged by what it
really sent. Only plain values are read from it; anything else ends the exercise.
"""

import ast
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ddl_class.commands.mistake import Mistake
from ddl_class.exercises.check import CheckFailed, judge
from ddl_class.exercises.exercise import ProgramOutcome
from ddl_class.exercises.registry import find_exercise
from ddl_class.grading.inside.wire import Late, Malformed, encode
from ddl_class.grading.magics import as_python
from ddl_class.grading.sandbox import Ended, Limits, Sandboxed, SandboxServer
from ddl_class.grading.submission import Answers, Assignment, GradedExercise, plain
from ddl_class.grading.verbs import Excess, Memory, Verbs
from ddl_runtime.diagnosis import deadlock
from ddl_runtime.simulator.simulate import simulate
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach.comm import Comm

MOST_NUMBERS = 10_000  # that an answer may give at once to a function that it was given


class Raised(Exception):
    """An exception that the submission raised, with its traceback."""

    def __init__(self, what: str, traceback_text: str = "") -> None:
        super().__init__(what)
        self.traceback_text = traceback_text


class UntrustedStage(AbstractContextManager["UntrustedStage"]):
    """Runs `function`, which the notebook's `cells` define, in sandboxes.

    `cells` are pairs of a name, shown in errors, and source code. Names that they lack are taken
    from the first of the cells `around` that has them. Functions of the `library` run on the
    grader's ranks. All runs together have the time of the `limits`, from the first run on. `limit`
    says which limit ended the function: "time", "memory", "time or memory" where both can be, or
    "".
    """

    def __init__(
        self,
        server: SandboxServer,
        cells: Sequence[tuple[str, str]],
        function: str,
        limits: Limits = Limits(),
        around: Sequence[Sequence[tuple[str, str]]] = (),
        library: Sequence[str] = (),
    ) -> None:
        self.printed = ""
        self.limit = ""
        self._server = server
        self._cells, *self._around = (
            [(name, as_python(source)) for name, source in each] for each in (cells, *around)
        )
        self._library = list(library)
        self._function = function
        self._limits = limits
        self._chosen: Any = None  # the statements of the cells that are needed: a rank's answer
        self._ranks: list[Sandboxed] = []
        self._deadline = 0.0
        self._verbs: dict[int, Verbs] = {}

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for rank in self._ranks:
            rank.end()
        self._ranks.clear()

    def call(self, *arguments: Any) -> Any:
        """A function without ranks: what it returns for these arguments."""
        with self._retelling("your function"):
            self._prepare(1)
            functions = {
                place: argument for place, argument in enumerate(arguments) if callable(argument)
            }
            plain_ones = tuple(None if callable(argument) else argument for argument in arguments)
            [rank, *_] = self._ranks
            rank.tell(("call", plain_ones, list(functions)), self._deadline)
            while (message := rank.hear(self._deadline)) and message[:1] == ("call back",):
                rank.tell(_call_back(functions, *message[1:]), self._deadline)
            return self._conclude(message, plain_ones)[0]

    def run(
        self, ranks: int, arguments: Sequence[tuple], *, network: Any = Uniform()
    ) -> ProgramOutcome:
        """A rank program: `function(comm, *arguments[comm.rank])` on every rank."""
        left: list[tuple] = [()] * ranks
        memory = Memory(self._limits.under_way)

        def follow(comm: Comm) -> Any:
            rank = self._ranks[comm.rank]
            verbs = self._verbs[comm.rank] = Verbs(comm, memory, self._library)
            while True:
                verbs.computing = True
                message = rank.hear(self._deadline)
                verbs.computing = False
                if isinstance(message, tuple) and message[:1] in (("returned",), ("raised",)):
                    value, left[comm.rank] = self._conclude(message, arguments[comm.rank])
                    return value
                if (answer := verbs.carry_out(message)) is not None:
                    rank.tell(answer, self._deadline)

        self._verbs.clear()
        with self._retelling("your cell", ranks):
            self._prepare(ranks)
            for number, rank in enumerate(self._ranks[:ranks]):  # they compute at the same time
                place = (number, ranks, network.node(number))
                rank.tell(("run", arguments[number], *place), self._deadline)
            run = simulate(follow, ranks, network=network, trace=False, strict=True)
        return ProgramOutcome(run.results, left, run.ledger, run.time)

    def _prepare(self, ranks: int) -> None:
        """Start as many ranks as are missing, and send them what they need of the cells. The cells
        are read in a sandbox only, once for all ranks."""
        if not self._deadline:
            self._deadline = time.monotonic() + self._limits.seconds
        fresh = [self._server.start_rank(self._limits) for _ in range(ranks - len(self._ranks))]
        self._ranks += fresh
        if fresh and self._chosen is None:
            task = ("choose", self._cells, self._around, self._function)
            fresh[0].tell(task, self._deadline)
            self._chosen, _ = self._conclude(fresh[0].hear(self._deadline), ())
            self.printed = ""  # what the compiler warned of; the cells have not run
        for rank in fresh:
            rank.tell(("cells", self._chosen, self._library), self._deadline)
        for rank in fresh:
            self._conclude(rank.hear(self._deadline), ())

    def _conclude(self, message: Any, arguments: tuple) -> tuple[Any, tuple]:
        """What a rank returned, and its arguments as they are now; raises if it raised."""
        if not (isinstance(message, tuple) and len(message) == 4 and isinstance(message[3], str)):
            raise Malformed("a rank did not answer with a result or an exception")
        kind, value, left, printed = message
        self.printed = self.printed or plain(printed)
        if kind == "raised" and isinstance(value, str) and isinstance(left, str):
            if value.partition(":")[0].endswith("MemoryError"):  # Python's, or NumPy's own
                self.limit = self.limit or "memory"
            raise Raised(plain(value), plain(left))
        if kind != "returned" or not isinstance(left, tuple) or len(left) != len(arguments):
            raise Malformed("a rank did not answer with a result or an exception")
        for before, after in zip(arguments, left, strict=True):
            alike = type(before) is type(after)
            if isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
                alike = before.shape == after.shape and before.dtype == after.dtype
            if not alike:
                raise Malformed("a rank returned arguments of another type or shape")
        return value, left

    @contextmanager
    def _retelling(self, subject: str, ranks: int = 0) -> Iterator[None]:
        """Replace errors of the grader's ranks by errors about the learner's program."""
        try:
            yield
        except (Raised, Late, Ended, Malformed, deadlock.DiagnosedError) as error:
            retold = self._retold(error, subject, ranks)
            self.close()  # ranks stand anywhere in their programs: the next run begins anew
            raise retold from None

    def _retold(
        self, error: BaseException | None, subject: str, ranks: int
    ) -> deadlock.DiagnosedError:
        who, rank = "your function", None
        if isinstance(error, deadlock.RankFailed):
            who, rank, error = f"rank {error.rank}", error.rank, error.__cause__
        elif isinstance(error, deadlock.Deadlock):
            waits = [replace(wait, where=self._verbs[wait.rank].where) for wait in error.waits]
            return deadlock.tell_deadlock(waits, {*range(ranks)} - {wait.rank for wait in waits})
        elif isinstance(error, deadlock.DiagnosedError):
            return error
        if isinstance(error, Raised):
            what, where = str(error), error.traceback_text
            if rank is None:
                return deadlock.tell_raised(subject, what, where)
            return deadlock.tell_failure(rank, what, where, mismatch=self._verbs[rank].mismatch)
        if isinstance(error, Late):
            self.limit = self.limit or "time"
            positions = {number: verbs.position() for number, verbs in self._verbs.items()}
            head = f"The time was up after {self._limits.seconds:g} s: {who} still computed."
            return deadlock.TimedOut(deadlock.tell_positions(head, positions).rstrip())
        if isinstance(error, Ended):
            self.limit = self.limit or error.limit
            return deadlock.RankFailed(f"{who} {error}", rank or 0)
        if not isinstance(error, (Malformed, Excess)):  # it made one of our own steps fail
            error = Malformed(f"{type(error).__name__}: {error}")
        what = plain(f"{who} sent the grader a malformed message: {error}")
        return deadlock.RankFailed(what, rank or 0)


def _call_back(functions: Mapping[int, Callable[..., Any]], *asked: Any) -> tuple[str, Any]:
    """The result of a function that was given to an answer, for small plain arguments."""
    match asked:
        case (int(place), tuple(arguments)) if place in functions:
            pass
        case _:
            raise Malformed("it calls a function that it was not given")
    try:
        if sum(np.size(array) for array in arguments) > MOST_NUMBERS:
            return "ValueError", f"a function was given more than {MOST_NUMBERS:,} numbers"
        with np.errstate(all="ignore"):
            value = functions[place](*arguments)
        encode(value)
        return "done", value
    except Exception as error:  # of a stranger's arguments
        return "ValueError", plain(f"it does not work for these arguments: {error}", 200)


@dataclass(frozen=True)
class Score:
    """What one exercise earned, and why."""

    exercise: str
    points: float
    of: float
    message: str
    printed: str = ""
    doubtful: bool = False  # the check itself failed or a limit was reached: a person should look
    limit: str = ""  # which limit: "time", "memory" or "time or memory"
    seed: int = 0  # of the hidden data, which are drawn anew for each attempt


def score_answers(
    server: SandboxServer,
    assignment: Assignment,
    answers: Answers,
    seed: int,
    limits: Limits = Limits(),
    earlier: Sequence[Score] = (),
) -> list[Score]:
    """The scores of all exercises. An answer that fails costs its own exercise only.

    Doubtful ones of the `earlier` scores get one more try; call this then while no other sandbox
    runs.
    """
    before = {score.exercise: score for score in earlier}
    scores = []
    for exercise in assignment.exercises:
        score = before.get(exercise.name)
        if score is None or score.doubtful:
            first = score.limit if score else ""
            score = _score(server, assignment, exercise, answers, seed, limits)
            if first and score.limit:
                times = "twice" if first == score.limit else f"at first, then the {score.limit}"
                what = f"{score.message}\n\nThe {first} was used up {times}, the second time with "
                what += "no other submission beside it. A person should look at it."
                score = replace(score, message=what)
        scores.append(score)
    return scores


def no_scores(assignment: Assignment, why: str) -> list[Score]:
    """The scores of a submission that cannot be read."""
    return [Score(exercise.name, 0.0, exercise.points, why) for exercise in assignment.exercises]


def _score(
    server: SandboxServer,
    assignment: Assignment,
    exercise: GradedExercise,
    answers: Answers,
    seed: int,
    limits: Limits,
) -> Score:
    if exercise.name not in answers:
        what = f"there is no answer cell and no function {exercise.function} in the notebook"
        return Score(exercise.name, 0.0, exercise.points, what)
    own = [(f"the answer to {exercise.name}", answers[exercise.name])]
    handed_out = [
        (f"code cell {place} as handed out", source)
        for place, source in enumerate(assignment.handed_out, start=1)
    ]
    around = [*answers.around(exercise.name), handed_out]
    allowed = find_exercise(exercise.name).library
    function = answers.functions.get(exercise.name, exercise.function)
    with UntrustedStage(server, own, function, limits, around, allowed) as stage:
        points, message, doubtful = 0.0, "right", False
        try:
            _run_the_check(exercise, stage, seed)
            points = exercise.points
        except CheckFailed as failed:
            message, doubtful = str(failed), bool(stage.limit)
        except Mistake:
            raise
        except Exception as error:  # unforeseen values, or a defect of the check
            doubtful = True
            message = (
                "the check itself failed on what the function left behind, so a person should "
                f"look at it ({type(error).__name__}: {error})"
            )
    limit = stage.limit if doubtful else ""
    outcome = plain(message), stage.printed, doubtful, limit, seed
    return Score(exercise.name, points, exercise.points, *outcome)


def _run_the_check(exercise: GradedExercise, stage: UntrustedStage, seed: int) -> None:
    """Run the instructor's cell, in which the learner's function is a stage."""

    def secretly(name: str, stage: UntrustedStage, ranks: Sequence[int] = (), **own: Any) -> None:
        # With a seed that can be guessed a rank would know what the others were given.
        judge(name, stage, ranks, [seed, own.get("seed", 0)])

    names = {"check": secretly, "judge": secretly, "np": np, "engines": None}
    names[exercise.function] = stage
    program = ast.parse(exercise.checking)
    program.body = [  # the classroom's check and judge shall not take the place of the grader's
        line
        for line in program.body
        if not (isinstance(line, ast.ImportFrom) and line.module == "ddl_class")
    ]
    exec(compile(program, f"the check of {exercise.name}", "exec"), names)
