"""The judges of unit 17, first part: successive halving, promotion without waiting, and a puzzle.

Losses that no trial has been trained for yet stand in the table as well. They are the lowest of
all: a search that looks ahead takes them.
"""

from collections.abc import Iterator

import numpy as np

from ddl_class.exercises.kit import Attempt, Wrong, judge_seconds, texts
from ddl_class.exercises.kit.answers import STRANGE, items, seen, several, short, whole, whole_rows
from ddl_class.exercises.unit_17.race import SEARCHES, Search, WrongJob, drawn, race
from ddl_runtime.pictures.words import time_text

HALVING, PROMOTE = texts(__package__, "halving", "promote")
SHOWN = 240  # letters of what has finished
HALVINGS = ((9, 3, 3), (8, 2, 4), (16, 4, 3), (20, 3, 3), (5, 3, 4), (1, 2, 2), (30, 3, 4))
# trials, eta, rungs
WRONG_ORDERS = ("upwards", "worst", "rounds_up", "by_count", "without")

Finished = list[dict[int, float]]
Promoted = list[list[int]]
Next = tuple[int, int] | None


def judge_halving(attempt: Attempt) -> None:
    """Each rung trains the best 1/eta of the one below, and no later loss is used."""
    for trials, eta, rungs in HALVINGS:
        curves = np.round(attempt.generator.uniform(0.5, 2.5, (trials, rungs)), 3)
        if trials == 20:
            curves[::2, 0] = curves[0, 0]  # equal losses: the lower number is kept
        alive = list(range(trials))
        right = [alive]
        for losses in curves.T[:-1]:
            alive = sorted(alive, key=lambda trial: losses[trial])[: max(1, len(alive) // eta)]
            right.append(alive)
        for rung in range(1, rungs):
            for trial in set(range(trials)) - set(right[rung]):
                curves[trial, rung] = -1.0 - trial  # no trial was trained for it
        call = HALVING("call", eta=eta, trials=trials, rungs=rungs)
        wanted = HALVING("wanted", call=call)
        result = whole_rows(attempt.call(curves, eta), wanted)
        unknown = sorted(set().union(*result) - set(range(trials)))
        HALVING.refuse_if(
            {"call": call, "wanted": wanted, "rungs": rungs, "last": trials - 1}
            | {"unknown": min(unknown, default=None)},
            columns=len(result) != rungs,
            unknown=unknown,
        )
        for rung, (mine, theirs) in enumerate(zip(result, right, strict=True)):
            if sorted(mine) != sorted(theirs):
                values = {"call": call, "rung": rung, "found": short(mine), "right": short(theirs)}
                reason = _why_not(curves, eta, right, rung, list(mine))
                raise Wrong(HALVING("wrong", why=reason, **values))


def _why_not(
    curves: np.ndarray, eta: int, right: list[list[int]], rung: int, mine: list[int]
) -> str:
    """What may have happened to the first rung that is wrong."""
    if rung == 0:
        return HALVING("first_rung")
    before, wanted, many, chosen = right[rung - 1], len(right[rung]), len(mine), sorted(mine)
    losses, fewer = curves[before, rung - 1], len(before) // eta

    def best(scores: np.ndarray) -> list[int]:
        return sorted(before[place] for place in np.argsort(scores, kind="stable")[:wanted])

    stranger = min(set(mine) - set(before), default=None)
    described = {"eta": eta, "rung": rung, "below": rung - 1, "stranger": stranger}
    known = dict(zip(before, losses.tolist(), strict=True))
    return HALVING.first(
        described | {"before": len(before), "wanted": wanted, "losses": known},
        places=chosen == sorted(np.argsort(losses, kind="stable")[:wanted].tolist()),
        unpaid=stranger is not None and curves[stranger, rung - 1] < 0,
        stranger=stranger is not None,
        twice=len(set(mine)) < many,
        drops=many == len(before) - fewer != wanted,
        rounds_up=many == -(-len(before) // eta) != wanted,
        # A halving that keeps all is found out in rung 1, where this count is the right one.
        of_all=many == max(1, len(curves) // eta) != wanted,
        keeps_all=many == len(before) != wanted,
        nobody=many == 0,
        many=many != wanted,
        same_rung=chosen == best(curves[before, rung]),
        old_losses=chosen == best(curves[before, 0]),
        last_losses=chosen == best(curves[before, -1]),
        worst=chosen == best(-losses),
        otherwise=True,
    )


def judge_promote(attempt: Attempt) -> None:
    """The trial that a free worker trains next: from the highest rung with one to promote."""
    for finished, promoted, eta in _states(attempt.generator):
        right, shown = _next(finished, promoted, eta), str(finished)
        shown = shown if len(shown) < SHOWN else f"{shown[:SHOWN]} ..."
        call = PROMOTE("call", finished=shown, promoted=promoted, eta=eta)
        wanted = PROMOTE("wanted", call=call)
        answer = attempt.call(finished, promoted, eta)
        result = (
            None if answer is None else tuple(items(several(answer, 2, wanted), wanted, whole))
        )
        if result == right:
            continue
        trial, rung = result or (None, 0)
        there = rung in range(1, len(finished))
        usual = {order: result == _next(finished, promoted, eta, order) for order in WRONG_ORDERS}
        reason = PROMOTE.first(
            {"trial": trial, "below": rung - 1, "eta": eta},
            highest=rung >= len(finished),
            rung_0=result is not None and rung < 1,
            one_below=right is not None and result == (right[0], right[1] - 1),
            already=there and trial in promoted[rung - 1],
            unfinished=there and trial not in finished[rung - 1],
            **usual,
            deserved=result is None,
            undeserved=right is None,
            otherwise=True,
        )
        raise Wrong(PROMOTE("wrong", call=call, found=result, right=right, why=reason))


def _states(generator: np.random.Generator) -> Iterator[tuple[Finished, Promoted, int]]:
    """Searches as they may stand when a worker gets free."""
    yield [{}, {}, {}], [[], [], []], 3
    yield [{0: 0.5, 1: 0.7}, {}, {}], [[], [], []], 3  # too few to judge
    yield [{0: 0.5, 1: 0.4, 2: 0.9}, {}, {}], [[], [], []], 3
    yield [{0: 0.5, 1: 0.4, 2: 0.9}, {}, {}], [[1], [], []], 3
    yield [{0: 0.5, 1: 0.4, 2: 0.9, 3: 0.8}, {}, {}], [[], [], []], 3  # one more than three
    yield [{0: 0.5, 1: 0.4, 2: 0.9, 3: 0.8}, {}, {}], [[1, 0], [], []], 2  # both have gone
    yield [{0: 0.5, 1: 0.4, 2: 0.9, 3: 0.8}, {1: 0.3, 0: 0.2}, {}], [[1, 0], [], []], 2
    # The one that was promoted is not among the best any more.
    yield [{0: 0.5, 1: 0.6, 2: 0.2, 3: 0.9}, {0: 0.4}, {}], [[0], [], []], 4
    # Both rungs have one to promote, and the top rung has two.
    yield [
        {trial: 0.9 - 0.05 * trial for trial in range(12)},
        {6: 0.6, 7: 0.3, 8: 0.5, 9: 0.2, 10: 0.4},
        {7: 0.25, 8: 0.45},
    ], [[6, 7, 8, 9, 10], [8, 7], []], 2  # fmt: skip
    yield [{0: 0.5, 1: 0.5, 2: 0.7, 3: 0.5}, {}], [[], []], 2  # equal ones
    for eta, rungs, jobs in ((2, 4, 25), (3, 3, 30), (4, 3, 40)):
        finished: Finished = [{} for _ in range(rungs)]
        promoted: Promoted = [[] for _ in range(rungs)]
        under_way: list[tuple[int, int]] = []
        begun = 0
        for step in range(jobs):
            job = _next(finished, promoted, eta)
            if step % 3 == 0:
                yield [dict(rung) for rung in finished], [list(rung) for rung in promoted], eta
            if job is None:
                job, begun = (begun, 0), begun + 1
            else:
                promoted[job[1] - 1].append(job[0])
            under_way.append(job)
            if len(under_way) == 4:  # workers; any of them may be the next to finish
                trial, rung = under_way.pop(int(generator.integers(4)))
                finished[rung][trial] = round(float(generator.uniform(0.1, 1)), 3)


def _next(finished: Finished, promoted: Promoted, eta: int, mistake: str = "") -> Next:
    """The right job; or what comes out of one of the usual mistakes."""
    rungs = range(len(finished) - 1)
    for rung in rungs if mistake == "upwards" else reversed(rungs):
        losses, gone = finished[rung], promoted[rung]
        sign = -1 if mistake == "worst" else 1
        ranked = sorted(losses, key=lambda trial: (sign * losses[trial], trial))
        many = -(-len(ranked) // eta) if mistake == "rounds_up" else len(ranked) // eta
        left = [trial for trial in ranked if trial not in gone]
        best = [trial for trial in ranked[:many] if trial not in gone]
        if mistake == "without":  # as if none had gone before
            best = left[: len(left) // eta]
        elif mistake == "by_count":
            best = left[: max(0, many - len(gone))]
        if best:
            return best[0], rung + 1
    return None


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
