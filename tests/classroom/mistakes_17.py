"""The usual mistakes of unit 17's searches, and words of the message that must name each."""

from collections.abc import Callable

import numpy as np

Finished = list[dict[int, float]]
Promoted = list[list[int]]
Genes = tuple[int, ...]


def last_done(seconds, workers, *, chosen=min, last=max, in_turns=False):
    """Right, but for what the arguments say."""
    free = [0.0] * workers
    for trial, own in enumerate(seconds):
        free[trial % workers if in_turns else free.index(chosen(free))] += own
    return last(free)


def halving_with(
    *,
    kept=lambda alive, everybody, eta: max(1, alive // eta),
    column=lambda rung: rung,
    sign: float = 1.0,
    of_all: bool = False,
    places: bool = False,
    all_at_first: bool = True,
) -> Callable:
    """Successive halving, right but for what the arguments say."""

    def halving(curves: np.ndarray, eta: int) -> list[list[int]]:
        alive, rungs = list(range(len(curves))), []
        for rung in range(curves.shape[1]):
            if rung or not all_at_first:
                losses = sign * curves[:, column(rung - 1)]
                count = kept(len(alive), len(curves), eta)
                if places:
                    alive = np.argsort(losses[alive], kind="stable")[:count].tolist()
                else:
                    among = range(len(curves)) if of_all else alive
                    alive = sorted(among, key=lambda trial: losses[trial])[:count]
            rungs.append(alive)
        return rungs

    return halving


def one_rung_less(curves: np.ndarray, eta: int) -> list[list[int]]:
    return halving_with()(curves, eta)[1:]


def only_the_winner(curves: np.ndarray, eta: int) -> list[int]:
    return halving_with()(curves, eta)[-1]


def promote_with(
    *,
    upwards: bool = False,
    up: int = 1,
    sign: float = 1.0,
    roundup: bool = False,
    again: bool = False,
    by_count: bool = False,
    of_the_rest: bool = False,
    from_the_top: bool = False,
) -> Callable:
    """The asynchronous promotion, right but for what the arguments say."""

    def promote(finished: Finished, promoted: Promoted, eta: int) -> tuple[int, int] | None:
        rungs = range(len(finished) - (not from_the_top))
        for rung in rungs if upwards else reversed(rungs):
            gone = [] if again else promoted[rung]
            losses = {
                trial: loss for trial, loss in finished[rung].items()
                if not (of_the_rest and trial in gone)
            }  # fmt: skip
            ranked = sorted(losses, key=lambda trial: (sign * losses[trial], trial))
            many = -(-len(ranked) // eta) if roundup else len(ranked) // eta
            if by_count:
                best = [trial for trial in ranked if trial not in gone][: max(0, many - len(gone))]
            else:
                best = [trial for trial in ranked[:many] if trial not in gone]
            if best:
                return best[0], rung + up
        return None

    return promote


def a_new_trial(finished: Finished, promoted: Promoted, eta: int) -> tuple[int, int]:
    """Begins a new one by itself where nobody is promoted."""
    return promote_with()(finished, promoted, eta) or (len(finished[0]), 0)


def never(finished: Finished, promoted: Promoted, eta: int) -> None:
    return None


def whole_groups_only(finished: Finished, promoted: Promoted, eta: int) -> tuple[int, int] | None:
    """Waits until a multiple of eta have finished the lowest rung."""
    return None if len(finished[0]) % eta else promote_with()(finished, promoted, eta)


def just_the_trial(finished: Finished, promoted: Promoted, eta: int) -> int | None:
    job = promote_with()(finished, promoted, eta)
    return job and job[0]


def evolve_with(
    *,
    leaves=lambda members, parent, score: members[0],
    choose=lambda rivals, members, score: max(rivals, key=lambda genes: score[genes]),
    changes: bool = True,
    young_first: bool = False,
) -> Callable:
    """Evolution, right but for what the arguments say."""

    def evolve(
        score: np.ndarray,
        population: list[Genes],
        tournaments: list[list[int]],
        mutations: list[tuple[int, int]],
    ) -> list[Genes]:
        members = list(population)
        for tournament, (place, value) in zip(tournaments, mutations, strict=True):
            parent = choose([members[i] for i in tournament], members, score)
            child = list(parent)
            if changes:
                child[place] = value
            gone = leaves(members, parent, score)
            if gone is not None:
                members.remove(gone)
            members.insert(0 if young_first else len(members), tuple(child))
        return members

    return evolve


def the_worst(members: list[Genes], parent: Genes, score: np.ndarray) -> Genes:
    return min(members, key=lambda genes: score[genes])


MISTAKES = [
    ("17.workers", lambda *given: last_done(*given, chosen=max), "as if one worker"),
    ("17.workers", lambda *given: last_done(*given, last=sum), "as if one worker"),
    ("17.workers", lambda *given: last_done(*given, last=min), "others are still at work"),
    ("17.workers", lambda *given: last_done(*given, in_turns=True), "deal them out in turns"),
    ("17.workers", lambda seconds, workers: seconds[0], "You stop after the first trial"),
    ("17.halving", halving_with(sign=-1.0), "Those are the worst"),
    (
        "17.halving",
        halving_with(kept=lambda alive, everybody, eta: alive - alive // eta),
        "keep 1/3",
    ),
    (
        "17.halving",
        halving_with(kept=lambda alive, everybody, eta: -(-alive // eta)),
        "You round up",
    ),
    (
        "17.halving",
        halving_with(kept=lambda alive, everybody, eta: alive // eta),
        "at least 1",
    ),
    (
        "17.halving",
        halving_with(kept=lambda alive, everybody, eta: max(1, everybody // eta)),
        "of all that there were at the beginning",
    ),
    ("17.halving", halving_with(kept=lambda alive, everybody, eta: alive), "You keep all of them"),
    ("17.halving", halving_with(places=True), "not the trials' own numbers"),
    (
        "17.halving",
        halving_with(column=lambda rung: rung + 1),
        "no trial has trained for them yet",
    ),
    ("17.halving", halving_with(column=lambda rung: 0), "newer ones are known"),
    ("17.halving", halving_with(column=lambda rung: -1), "they are not known yet"),
    ("17.halving", halving_with(of_all=True), "Choose among those of the rung below"),
    ("17.halving", halving_with(all_at_first=False), "Rung 0 trains all trials"),
    ("17.halving", one_rung_less, "there are 3 rungs"),
    ("17.halving", only_the_winner, "return a list with the trials of each rung"),
    ("17.promote", promote_with(upwards=True), "You begin at the lowest rung"),
    ("17.promote", promote_with(up=0), "a promotion leads to rung 1 or higher"),
    ("17.promote", promote_with(sign=-1.0), "That is the worst"),
    ("17.promote", promote_with(roundup=True), "You round up"),
    ("17.promote", promote_with(again=True), "has been promoted from rung 0 already"),
    ("17.promote", promote_with(by_count=True), "You only count promotions"),
    ("17.promote", promote_with(of_the_rest=True), "only those that have not been promoted"),
    ("17.promote", promote_with(from_the_top=True), "in the highest rung is done"),
    ("17.promote", a_new_trial, "without one return None"),
    ("17.promote", never, "A trial can be promoted here"),
    ("17.promote", whole_groups_only, "A trial can be promoted here"),
    ("17.promote", just_the_trial, "return (trial, rung)"),
    ("17.evolve", evolve_with(leaves=the_worst), "You remove the worst. Here the oldest leaves"),
    (
        "17.evolve",
        evolve_with(leaves=lambda members, parent, score: parent),
        "in its parent's place",
    ),
    ("17.evolve", evolve_with(leaves=lambda members, *_: members[-1]), "You remove the youngest"),
    ("17.evolve", evolve_with(leaves=lambda *_: None), "No member leaves"),
    (
        "17.evolve",
        evolve_with(choose=lambda rivals, members, score: the_worst(rivals, (), score)),
        "you take the worst",
    ),
    (
        "17.evolve",
        evolve_with(
            choose=lambda rivals, members, score: max(members, key=lambda one: score[one])
        ),
        "not of all",
    ),
    ("17.evolve", evolve_with(choose=lambda rivals, *_: rivals[0]), "the first of the tournament"),
    ("17.evolve", evolve_with(changes=False), "a copy of its parent"),
    (
        "17.evolve",
        evolve_with(leaves=lambda members, *_: members[-1], young_first=True),
        "children come to the end",
    ),
    ("17.evolve", lambda score, population, tournaments, mutations: population, "as it was"),
]
