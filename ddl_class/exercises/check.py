"""`check("06.ring", ring_allreduce)`: is it right, and if not, what is the matter?

The judge of the exercise tries the function at once: with fresh random data, on rank counts that
the learner did not try, first on simulated ranks and then on the learner's engines. A failure is a
message, without the frames of the judge. `hint` helps, and `yours` lets the second half of
a notebook be run, and read, before all exercises of the first are done.
"""

import inspect
import math
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ddl_class.exercises import record
from ddl_class.exercises.exercise import Attempt, Exercise, ProgramRunner, Wrong
from ddl_class.exercises.graded import Nameless, maker, unread
from ddl_class.exercises.kit.texts import Texts, read
from ddl_class.exercises.registry import find_exercise
from ddl_class.exercises.stages import EnginesStage, RunningRanks, SimulatedStage
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.diagnosis.page import paragraphs
from ddl_runtime.pictures.words import time_text

SECONDS = 20.0  # for a check on one ground
FEW_RANKS = 4  # a glance of `yours`; `check` looks closely
FAILURES = 2  # so many failed checks open the third hint
# Exceptions whose own words are hard to read: something is said before them.
HARD = {
    "shapes": "^ValueError.*(broadcast|dimension)",
    "none": "^TypeError.*NoneType",
    "several": "^ValueError.*truth value of an array",
    "too_deep": "^RecursionError",
}
SAY = Texts(read(__package__, "says.toml"))


class CheckFailed(Exception):
    """What is not right yet; in a notebook the message stands alone."""

    def _render_traceback_(self) -> list[str]:
        return paragraphs(str(self)).splitlines()


def check(name: str, function: Callable[..., Any], *, engines: RunningRanks | None = None) -> None:
    """Judge the learner's function at once; says what was right, or raises `CheckFailed`.

    `engines` need not be given in a notebook: the check finds those that run. What the function
    prints meanwhile is not shown.
    """
    exercise = find_exercise(name)
    generator = np.random.default_rng()
    # One more count than those that every hard-coded table would know.
    others = [*filter(exercise.suits, {*range(9, 17)} - {*exercise.ranks})]
    counts = (*exercise.ranks, int(generator.choice(others))) if exercise.ranks else ()
    tried = ", ".join(map(str, exercise.ranks))
    grounds = [SAY("simulated", tried=tried, last=counts[-1])] if counts else []
    reached: list[tuple[float, str]] = []
    problem = verdict_here(
        exercise, function, generator, counts, lambda *noted: reached.append(noted)
    )
    problem = problem or unread(name, function)
    if not engines and (pool := sys.modules.get("ddl_class.engines.pool")):  # else none can run
        running = pool.registered()
        engines = running if running is not None and running.alive else None
    if problem is None and engines is not None and exercise.ranks:
        few = {count for count in (2, 3, engines.size) if count <= engines.size}
        counts = tuple(sorted(count for count in few if exercise.suits(count)))
        problem = verdict(exercise, EnginesStage(function, engines, SECONDS), generator, counts)
        if problem is not None:
            problem = f"{SAY['not_on_engines']}\n\n{problem}"
        grounds.append(SAY("engines", count=engines.size))
    with record.changing() as kept:
        known = record.of(kept, "exercises", name)
        known |= {"tries": known.get("tries", 0) + 1, "last": str(record.today())}
        known["solved"] = known.get("solved", False) or problem is None
        known["failed"] = known.get("failed", 0) + (problem is not None)
        if problem is None and reached:
            amounts = [amount for amount, _ in reached]
            known["best"] = min([*amounts, known.get("best", math.inf)])
    if problem is not None:
        more = known.get("hints", 0) < _open_hints(exercise, known)
        offer = f"\n\n{SAY('offer', name=name)}" if more else ""
        raise CheckFailed(f"✗ {name}: {problem}{offer}")
    right = f"{SAY['right']} {', '.join(grounds)}".rstrip()
    print(paragraphs(f"✓ {name}: {right}.\n{exercise.right}"))
    if reached:
        last, holds = reached[-1]
        own, best, least = (
            f"{amount:g} {exercise.counted}" if exercise.counted else time_text(amount)
            for amount in (last, known["best"], exercise.best_known)
        )
        print(paragraphs(f"{SAY('puzzle', own=own, best=best, least=least)} {holds}"))


def judge(
    name: str,
    stage: ProgramRunner | Callable[..., Any],
    ranks: Sequence[int] = (),
    seed: int | Sequence[int] = 0,
) -> None:
    """Judge with these rank counts and this seed; raises `CheckFailed`. For hidden tests.

    `stage` is where the learner's function runs; a function alone runs on simulated ranks.
    """
    exercise = find_exercise(name)
    generator, counts = np.random.default_rng(seed), ranks or exercise.ranks
    if callable(stage):
        problem = verdict_here(exercise, stage, generator, counts)
    else:
        problem = verdict(exercise, stage, generator, counts)
    if problem is not None:
        raise CheckFailed(f"✗ {name}: {problem}")


def verdict(
    exercise: Exercise,
    stage: ProgramRunner,
    generator: np.random.Generator,
    ranks: Sequence[int],
    note: Callable[[float, str], object] = lambda seconds, holds: None,
) -> str | None:
    """What the judge finds wrong, or None; `note` is told what a puzzle's answer has reached."""
    try:
        exercise.judge(Attempt(stage, generator, ranks, note))
    except Wrong as wrong:
        return str(wrong)
    except DiagnosedError as story:
        # What was called does not run where exercises are graded: the error says why.
        if story.exception == "ForbiddenUse":
            return story.reason
        raised = f"{story.exception}: {story.reason}"
        first = [SAY[words] for words, sign in HARD.items() if re.search(sign, raised)]
        return _unwritten(story) or "\n\n".join([*first, str(story)])
    return None


def verdict_here(
    exercise: Exercise,
    function: Callable[..., Any],
    generator: np.random.Generator,
    ranks: Sequence[int],
    note: Callable[[float, str], object] = lambda seconds, holds: None,
) -> str | None:
    """What is wrong with a function on simulated ranks in this process, or None. In a notebook it
    is made and run as where answers are graded."""
    if problem := misuse(exercise, function):
        return problem
    try:
        make = maker(function, exercise.library)
    except Nameless as nameless:
        return str(nameless)
    return verdict(exercise, SimulatedStage(function, SECONDS, make), generator, ranks, note)


def misuse(exercise: Exercise, function: object) -> str | None:
    """What is wrong with the function before it is called: no function, or other parameters; else
    None."""
    if not callable(function):
        return SAY("no_function", given=repr(function), name=exercise.name)
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        return SAY["generator"]
    wanted = ", ".join(exercise.parameters)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None  # built-in functions have none; then the call itself will show it
    try:
        signature.bind(*exercise.parameters)
    except TypeError:
        called = getattr(function, "__name__", "the function")
        return SAY("signature", called=called, wanted=wanted, signature=signature)
    return None


def _unwritten(story: DiagnosedError) -> str | None:
    """What to say where the function, or one that it calls, still is a stub."""
    if story.exception != "NotImplementedError":
        return None
    outer, *inner = re.findall(r", in (\w+)$", str(story), re.MULTILINE) or [""]
    if inner and inner[-1] != outer:
        return SAY("calls_unwritten", inner=inner[-1])
    return SAY["unwritten"]


def hint(name: str) -> None:
    """Print the hints of an exercise: one more at each call, and a third after failed checks.

    Asking is recorded, so that a teacher sees where a lesson is hard; it costs nothing.
    """
    exercise = find_exercise(name)
    with record.changing() as kept:
        known = record.of(kept, "exercises", name)
        offered = _open_hints(exercise, known)
        known["hints"] = seen = min(known.get("hints", 0) + 1, offered)
    for number, text in enumerate(exercise.hints[:seen], start=1):
        print(paragraphs(SAY("hint", number=number, count=len(exercise.hints), text=text)))
    if seen < offered:
        print(SAY("more_hints", name=name))
    elif offered < len(exercise.hints):
        failed = known.get("failed", 0)
        print(SAY("last_hint", failures=FAILURES, failed=failed))


def _open_hints(exercise: Exercise, known: dict[str, Any]) -> int:
    return len(exercise.hints) if known.get("failed", 0) >= FAILURES else 2


def yours(
    name: str, function: Callable[..., Any], library: Callable[..., Any]
) -> Callable[..., Any]:
    """`function` if it is a right answer to the exercise, also one that is slower than the goal
    of a puzzle, else `library`; says which it is."""
    exercise, reached = find_exercise(name), list[float]()
    counts = [count for count in exercise.ranks if count <= FEW_RANKS]
    generator = np.random.default_rng()
    problem = verdict_here(
        exercise, function, generator, counts, lambda amount, _: reached.append(amount)
    )
    print(SAY("yours" if not problem else "slower" if reached else "library", name=name))
    return library if problem and not reached else function
