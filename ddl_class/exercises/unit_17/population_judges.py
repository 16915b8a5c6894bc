"""The judges of unit 17, second part: the exploit of a population on ranks, and ageing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import items, short, whole

SIZES = (301, 3_001)  # weights; the second is longer than what a library sends to nobody
STEPS = 12  # of evolution, in the longest case

Genes = tuple[int, ...]
Table = np.ndarray
"""What each network reaches, by its genes."""


def judge_exploit(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The worst ranks have the weights and settings of the best ones, bit for bit."""
    for count in ranks.first(3, counts):
        for pairs in sorted({0, 1, count // 2} & set(range(count // 2 + 1)), reverse=True):
            size = SIZES[pairs % 2 if count != 3 else 1]
            weights = generator.standard_normal((count, size)).astype(np.float32)
            weights[:, 0] = -0.0  # a copy keeps the sign of zero, a sum does not
            weights[:, 1] *= np.float32(1e-42)  # and what is too small for a product
            settings = generator.uniform(0.01, 1.0, (count, 2))
            losses = np.round(generator.permutation(count) / 7 + 0.1, 3)
            call = f"exploit(comm, weights, settings, loss, pairs={pairs}) on {ranks_text(count)}"
            given = [
                (weights[rank].copy(), settings[rank].copy(), float(losses[rank]), pairs)
                for rank in range(count)
            ]
            outcome = ranks.run(stage, count, given, call, CAUSES)
            order = np.argsort(losses, kind="stable").tolist()
            best, worst = order[:pairs], order[count - pairs :]
            _judge_copies(call, outcome, weights, settings, losses, best, worst)
            _judge_copying(call, outcome, best, size * 4)


def _judge_copies(
    call: str,
    outcome: ProgramOutcome,
    weights: np.ndarray,
    settings: np.ndarray,
    losses: np.ndarray,
    best: list[int],
    worst: list[int],
) -> None:
    """Who has whose weights now?"""
    after = [np.ascontiguousarray(arguments[0]) for arguments in outcome.arguments]
    sources = [_whose(weights, mine) for mine in after]
    told = f"{call}, losses {losses.tolist()}"
    everybody = sorted(range(len(losses)), key=lambda rank: rank in worst)
    if worst and sources == list(range(len(losses))):
        if [_whose(settings, arguments[1]) for arguments in outcome.arguments] != sources:
            raise Wrong(f"{told}: the settings have moved, and the weights have not.")
        raise Wrong(
            f"{told}: nobody's weights have changed. What arrives must come into the array that "
            "is there: comm.recv(weights, ...) does that, `weights = ...` only names another one."
        )
    if worst and all(sources[rank] in worst for rank in best):
        raise Wrong(
            f"{told}: the best ranks have the weights of the worst. A lower loss is better, and "
            "the best send while the worst receive."
        )
    for rank in everybody:
        source = sources[rank]
        if rank not in worst:
            if source != rank:
                raise Wrong(
                    f"{told}: rank {rank} is none of the worst {len(worst)}, and must keep its "
                    f"own weights. {_from(source)}"
                )
            continue
        if source is None:
            mixed = _mixed(weights, after[rank])
            near = "copy, do not average" if mixed else "send the array itself, to the last bit"
            raise Wrong(f"{told}: rank {rank} has weights that no rank had: {near}.")
        if source not in best:
            raise Wrong(
                f"{told}: rank {rank} is among the worst {len(worst)} and should have the weights "
                f"of one of the best, {best}. {_from(source)}"
            )
    taken = [sources[rank] for rank in worst]
    if len(set(taken)) < len(taken):
        raise Wrong(
            f"{told}: the worst have the weights of {taken}. Each of the best gives to one of "
            "the worst: otherwise a population is soon all alike."
        )
    for rank in everybody:
        mine = np.asarray(outcome.arguments[rank][1])
        if mine.tobytes() != settings[sources[rank]].tobytes():
            own = _whose(settings, mine)
            kept = "its own" if own == rank else f"those of rank {own}" if own is not None else ""
            raise Wrong(
                f"{told}: rank {rank} has the weights of rank {sources[rank]}, and "
                f"{f'{kept} settings' if kept else 'settings that no rank had'}. Weights and "
                "settings belong together: copy both, in place."
            )


def _judge_copying(call: str, outcome: ProgramOutcome, best: list[int], nbytes: int) -> None:
    """Weights are long: they travel from each of the best to one rank, and nowhere else."""
    for rank, ledger in enumerate(outcome.ledger):
        long = sum(message.bytes >= nbytes for message in ledger.messages)
        if long > (rank in best):
            raise Wrong(
                f"{call}: everybody has the right weights, but rank {rank} sends weights {long} "
                f"times, and {'once' if rank in best else 'it need not send them at all'}. "
                "Losses are short: let everybody know those, and each rank finds out by itself "
                "who sends to whom."
            )


def _whose(all_of_them: np.ndarray, mine: Any) -> int | None:
    """Which row these are, to the last bit."""
    raw = np.asarray(mine).tobytes()
    return next((rank for rank, row in enumerate(all_of_them) if row.tobytes() == raw), None)


def _mixed(weights: np.ndarray, mine: np.ndarray) -> bool:
    return any(np.allclose(mine, (a + b) / 2) for a in weights for b in weights)


def _from(source: int | None) -> str:
    return "It has some that no rank had." if source is None else f"It has those of rank {source}."


CAUSES: ranks.Causes = (
    (
        ranks.stuck_or_lost,
        "One of the best sends to one of the worst, who receives; nobody else does either. All "
        "ranks must come to the same pairs, so sort the same losses in the same way.",
    ),
)


def judge_evolve(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """Step by step: the best of the tournament has a child, and the oldest leaves."""
    for steps in (1, 1, 2, 3, 5, STEPS):
        size = int(generator.integers(4, 8))
        shape = tuple(int(options) for options in generator.integers(2, 5, 3))
        score = generator.permutation(int(np.prod(shape))).reshape(shape) / 100
        population = [_drawn(generator, shape) for _ in range(size)]
        # The best is the oldest, and the worst is young: who drops the worst is found out.
        population[0] = tuple(int(at) for at in np.unravel_index(score.argmax(), shape))
        population[2] = tuple(int(at) for at in np.unravel_index(score.argmin(), shape))
        tournaments = [_tournament(generator, score, population) for _ in range(steps)]
        mutations = [_mutation(generator, shape) for _ in range(steps)]
        found = stage.call(score, population, tournaments, mutations)
        call = f"evolve(score, {population}, {tournaments}, {mutations})"
        call = call if steps < 3 else f"evolve of {size} members over {steps} steps"
        mine = _members(found, call, size)
        right = _evolve(score, population, tournaments, mutations)
        if mine == right:
            continue
        why = _why_not_these(mine, population, score, tournaments, mutations)
        raise Wrong(
            f"{call} gives {short(mine, 8)}, and {short(right, 8)} is right. {why}".rstrip()
        )


def _evolve(
    score: Table, population: Sequence[Genes], tournaments: Sequence[Sequence[int]],
    mutations: Sequence[tuple[int, int]], mistake: str = "",
) -> list[Genes]:  # fmt: skip
    """The population after all steps; or what comes out of one of the usual mistakes."""
    alive = list(population)
    for tournament, (place, value) in zip(tournaments, mutations, strict=True):
        rivals = [alive[member] for member in tournament]
        best, worst = (choose(rivals, key=score.__getitem__) for choose in (max, min))
        parent = {
            "worst parent": worst, "first parent": rivals[0],
            "best of all": max(alive, key=score.__getitem__),
        }.get(mistake, best)  # fmt: skip
        child = list(parent)
        if mistake != "no change":
            child[place] = value
        alive.insert(0 if mistake == "child first" else len(alive), tuple(child))
        if mistake == "worst leaves":
            alive.remove(min(alive, key=score.__getitem__))
        elif mistake == "worst of the tournament leaves":
            alive.remove(worst)
        elif mistake == "parent leaves":
            alive.remove(parent)
        elif mistake != "nobody leaves":
            alive.pop({"youngest leaves": -2, "child first": -1}.get(mistake, 0))
    return alive


EVOLUTIONS = {
    "worst leaves": "You remove the worst. Here the oldest leaves, however good it is: what was "
    "lucky once must prove itself again, through its children.",
    "worst of the tournament leaves": "You remove the worst of the tournament. The oldest leaves: "
    "the first in the list.",
    "parent leaves": "You put the child in its parent's place. It is the oldest that leaves, and "
    "children come to the end.",
    "youngest leaves": "You remove the youngest of those that were there. The oldest leaves, the "
    "first in the list.",
    "nobody leaves": "Nobody leaves: the oldest must, or the population grows.",
    "worst parent": "The parent is the best of its tournament; you take the worst.",
    "best of all": "The parent is the best of its tournament, not of all: otherwise a single one "
    "would have all the children.",
    "first parent": "You take the first of the tournament: take the best of it.",
    "no change": "The child is a copy of its parent: gene `place` must become `value`.",
    "child first": "The list is ordered by age, the oldest first: children come to the end.",
}


def _why_not_these(mine: list[Genes], population: Sequence[Genes], *given: Any) -> str:
    score, tournaments, mutations = given
    for mistake, why in EVOLUTIONS.items():
        if mine == _evolve(score, population, tournaments, mutations, mistake):
            return why
    if mine == list(population):
        return "That is the population as it was."
    return (
        "In each step: the best of the members at the places of the tournament, by "
        "score[genes]; its copy with one gene changed comes to the end; the first one leaves."
    )


def _members(value: Any, call: str, size: int) -> list[Genes]:
    wanted = f"{call}: return the population, a list of tuples of genes"
    found = items(value, wanted, lambda member: tuple(map(whole, member)))
    if not found:
        raise Wrong(f"{wanted}: {size} of them, and yours is empty.")
    return found


def _drawn(generator: np.random.Generator, shape: tuple[int, ...]) -> Genes:
    return tuple(int(generator.integers(options)) for options in shape)


def _tournament(
    generator: np.random.Generator, score: Table, population: Sequence[Genes]
) -> list[int]:
    """Three places, so that the first of them is neither the best nor the worst."""
    drawn = generator.permutation(len(population))[:3].tolist()
    worst, middle, best = sorted(drawn, key=lambda place: score[population[place]])
    return [middle, best, worst]


def _mutation(generator: np.random.Generator, shape: tuple[int, ...]) -> tuple[int, int]:
    place = int(generator.integers(len(shape)))
    return place, int(generator.integers(shape[place]))
