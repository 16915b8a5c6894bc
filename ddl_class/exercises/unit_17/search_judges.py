"""The judges of unit 17, first part: successive halving, and the promotion that waits for nobody.

Losses that nobody has trained for yet stand in the table as well, and they are the lowest of all:
whoever looks ahead walks into them.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from ddl_class.exercises.exercise import ProgramRunner, Wrong
from ddl_class.exercises.kit.answers import items, several, short, whole
from ddl_class.exercises.kit.compare import first_case

SHOWN = 240  # letters of what has finished
SEARCHES = ((9, 3, 3), (8, 2, 4), (16, 4, 3), (20, 3, 3), (5, 3, 4), (1, 2, 2), (30, 3, 4))
# trials, eta, rungs

Finished = list[dict[int, float]]
Promoted = list[list[int]]
Next = tuple[int, int] | None


def judge_halving(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Each rung trains the best 1/eta of the one below, and nobody looks ahead."""
    for trials, eta, rungs in SEARCHES:
        curves = np.round(generator.uniform(0.5, 2.5, (trials, rungs)), 3)
        if trials == 20:
            curves[::2, 0] = curves[0, 0]  # equal losses: the lower number is kept
        right = _halve(curves, eta)
        for rung in range(1, rungs):
            for trial in set(range(trials)) - set(right[rung]):
                curves[trial, rung] = -1.0 - trial  # nobody has paid for it
        call = f"halving(curves, eta={eta}) with {trials} trials and {rungs} rungs"
        told = f"{call}: return a list with the trials of each rung, such as [[0, 1, 2], [1]]"
        found = items(stage.call(curves, eta), told, lambda rung: list(map(whole, rung)))
        if len(found) != rungs:
            raise Wrong(f"{told}: there are {rungs} rungs, one for each column.")
        if unknown := sorted(set().union(*found) - set(range(trials))):
            raise Wrong(f"{call}: there is no trial {unknown[0]}; they are 0 to {trials - 1}.")
        for rung, (mine, wanted) in enumerate(zip(found, right, strict=True)):
            if sorted(mine) != sorted(wanted):
                why = _why_not(curves, eta, right, rung, mine)
                raise Wrong(
                    f"{call}: in rung {rung} you train {short(mine)}, and {short(wanted)} is "
                    f"right. {why}"
                )


def _halve(curves: np.ndarray, eta: int) -> list[list[int]]:
    alive = list(range(len(curves)))
    rungs = [alive]
    for losses in curves.T[:-1]:
        alive = sorted(alive, key=lambda trial: losses[trial])[: max(1, len(alive) // eta)]
        rungs.append(alive)
    return rungs


def _why_not(
    curves: np.ndarray, eta: int, right: list[list[int]], rung: int, mine: list[int]
) -> str:
    """What may have happened to the first rung that is wrong."""
    if rung == 0:
        return "Rung 0 trains all trials: before that nothing is known of any of them."
    before, wanted, many, chosen = right[rung - 1], len(right[rung]), len(mine), sorted(mine)
    losses, fewer = curves[before, rung - 1], len(before) // eta

    def best(scores: np.ndarray) -> list[int]:
        return sorted(before[place] for place in np.argsort(scores, kind="stable")[:wanted])

    stranger = min(set(mine) - set(before), default=None)
    unpaid = stranger is not None and curves[stranger, rung - 1] < 0
    nobody = ": its loss there is one that nobody has paid for" if unpaid else ""
    cases = {
        "These are places among the trials that were left, not the trials' own numbers: "
        "np.argsort counts from 0 in whatever it is given": (
            chosen == sorted(np.argsort(losses, kind="stable")[:wanted].tolist())
        ),
        f"Trial {stranger} was not trained in rung {rung - 1}{nobody}. Choose among those of the "
        "rung below only": stranger is not None,
        "One of them stands there twice": len(set(mine)) < many,
        f"You drop 1/{eta} of them: keep 1/{eta}": many == len(before) - fewer != wanted,
        "You round up: it is len(...) // eta, and at least 1": (
            many == -(-len(before) // eta) != wanted
        ),
        # Whoever keeps all is found out in rung 1, where this count is the right one.
        "You take 1/eta of all that there were at the beginning; take it of those that are left": (
            many == max(1, len(curves) // eta) != wanted
        ),
        "You keep all of them": many == len(before) != wanted,
        "Nobody is left: it is len(...) // eta, but at least 1": many == 0,
        f"{len(before)} trials are left before it, so {wanted} go on": many != wanted,
        f"You choose by the losses of rung {rung}, and nobody has trained for them yet: who comes "
        f"into rung {rung} is decided by the losses of rung {rung - 1}": (
            chosen == best(curves[before, rung])
        ),
        "You choose by the losses of rung 0; newer ones are known": (
            chosen == best(curves[before, 0])
        ),
        "You choose by the losses at the end, and nobody knows them yet": (
            chosen == best(curves[before, -1])
        ),
        "Those are the worst: the lowest losses go on": chosen == best(-losses),
    }
    known = dict(zip(before, losses.tolist(), strict=True))
    return first_case(
        cases,
        f"After rung {rung - 1} the losses are {known}; of equal ones the trial with the lower "
        "number goes on",
    )


def judge_promote(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Whom a free worker trains next: from the highest rung where somebody deserves it."""
    for finished, promoted, eta in _states(generator):
        right = _next(finished, promoted, eta)
        shown = str(finished) if len(str(finished)) < SHOWN else f"{str(finished)[:SHOWN]} ..."
        call = f"promote({shown}, {promoted}, eta={eta})"
        wanted = f"{call}: return (trial, rung), or None where nobody is promoted"
        said = stage.call(finished, promoted, eta)
        found = None if said is None else tuple(items(several(said, 2, wanted), wanted, whole))
        if found != right:
            why = _why_not_this(finished, promoted, eta, found, right)
            raise Wrong(f"{call} gives {found}, and {right} is right. {why}".rstrip())


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
        many = -(-len(ranked) // eta) if mistake == "round up" else len(ranked) // eta
        left = [trial for trial in ranked if trial not in gone]
        best = [trial for trial in ranked[:many] if trial not in gone]
        if mistake == "without":  # as if nobody had gone before
            best = left[: len(left) // eta]
        elif mistake == "by count":
            best = left[: max(0, many - len(gone))]
        if best:
            return best[0], rung + 1
    return None


def _why_not_this(
    finished: Finished, promoted: Promoted, eta: int, found: Next, right: Next
) -> str:
    trial, rung = found or (None, 0)
    there = rung in range(1, len(finished))
    mistakes = {
        "You begin at the lowest rung. Begin at the highest: what has gone furthest is worth "
        "most": "upwards",
        "That is the worst: the lowest losses are promoted": "worst",
        f"You round up: of n that have finished a rung the best n // {eta} deserve it, and of "
        "fewer than eta nobody can be told to be among the best": "round up",
        f"You promote as many as n // {eta}, whoever went before. But it is who deserves it: "
        f"among the best n // {eta} of all that have finished the rung, those that have not been "
        "promoted": "by count",
        "You rank only those that have not been promoted. Rank all that have finished the rung; "
        "then leave out who went before": "without",
    }
    cases = {
        "Who has finished the highest rung is done: nobody is promoted from there": (
            rung >= len(finished)
        ),
        "Rung 0 is for new trials, and those are not yours to choose: a promotion leads to rung 1 "
        "or higher, and without one return None": found is not None and rung < 1,
        "Return the rung in which it is to be trained next, one above where it stands": (
            right is not None and found == (right[0], right[1] - 1)
        ),
        f"Trial {trial} has been promoted from rung {rung - 1} already": (
            there and trial in promoted[rung - 1]
        ),
        f"Trial {trial} has not finished rung {rung - 1}": (
            there and trial not in finished[rung - 1]
        ),
        **{
            words: found == _next(finished, promoted, eta, mistake)
            for words, mistake in mistakes.items()
        },
        "Somebody deserves it: a free worker need not begin a new trial here": found is None,
        f"Nobody deserves it yet: of {eta} that have finished a rung one goes on": right is None,
    }
    return first_case(cases, "Of equal losses the trial with the lower number goes first")
