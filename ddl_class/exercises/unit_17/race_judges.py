"""The judge of unit 17's puzzle: a rule for free workers, by the time that its searches take."""

import numpy as np

from ddl_class.exercises.kit import STRANGE, Attempt, Wrong, judge_seconds, seen, texts, whole
from ddl_class.exercises.unit_17.race import SEARCHES, Search, WrongJob, drawn, race
from ddl_runtime.pictures.words import time_text

(RACE,) = texts(__package__, "race")
GOAL = 32.0  # seconds, the mean of the given searches; successive halving takes far longer
OTHERS, SLACK = 4, 3.0  # drawn searches, which may take so many times as long in the mean


def judge_race(attempt: Attempt) -> None:
    """The mean time of the given searches; others, that are drawn, must end as well."""
    took = [_seconds(attempt, search, number) for number, search in enumerate(SEARCHES)]
    others = [_seconds(attempt, drawn(attempt.generator), -1) for _ in range(OTHERS)]
    mean, elsewhere = float(np.mean(took)), float(np.mean(others))
    known = {"others": time_text(elsewhere)}
    judge_seconds(attempt, RACE, mean, GOAL, known, by_heart=mean <= GOAL < elsewhere / SLACK)


def _seconds(attempt: Attempt, search: Search, number: int) -> float:
    named = RACE("one_of", number=number) if number >= 0 else RACE("other")

    def next_job(*state: object) -> int | None:
        answer = attempt.call(*state)
        try:
            return None if answer is None else whole(answer)
        except STRANGE:
            raise Wrong(RACE("wanted", answer=seen(answer))) from None

    try:
        outcome = race(next_job, search)
    except WrongJob as refused:
        what, trial = refused.args
        RACE.refuse_if(
            {"search": named, "trial": trial},
            again=what == "again",
            done=what == "done",
            unknown=what == "unknown",
        )
    RACE.refuse_if(
        {"search": named, "jobs": len(outcome.jobs)},
        stopped=np.isinf(outcome.seconds) and len(outcome.jobs) < 4 * 81,
        never=np.isinf(outcome.seconds),
    )
    return outcome.seconds
