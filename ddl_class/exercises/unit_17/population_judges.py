"""The judges of unit 17, second part: the exploit of a population on ranks, and ageing; and the
loss that distils an ensemble."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, ProgramOutcome, ask, ranks, run_ranks, texts
from ddl_class.exercises.kit.answers import array, number, several, whole_rows
from ddl_class.exercises.kit.compare import compare, equal, within
from ddl_teach.search.consolidation import distillation
from ddl_teach.training.tasks.perceptron import softmax

EXPLOIT, EVOLVE, DISTIL = texts(__package__, "exploit", "evolve", "distil")
SIZES = (301, 3_001)  # weights; the second is longer than what a library sends before a receive
STEPS = 12  # of evolution, in the longest case

Genes = tuple[int, ...]
Table = np.ndarray
"""What each network reaches, by its genes."""
CAUSES = EXPLOIT.each(unlike=ranks.mismatch, pairs=ranks.stuck_or_lost)


def judge_exploit(attempt: Attempt) -> None:
    """The worst ranks have the weights and settings of the best ones, bit for bit."""
    for count in ranks.first(3, attempt.counts):
        for pairs in sorted({0, 1, count // 2} & set(range(count // 2 + 1)), reverse=True):
            size = SIZES[pairs % 2 if count != 3 else 1]
            weights = attempt.generator.standard_normal((count, size)).astype(np.float32)
            weights[:, 0] = -0.0  # a copy keeps the sign of zero, a sum does not
            weights[:, 1] *= np.float32(1e-42)  # and what is too small for a product
            settings = attempt.generator.uniform(0.01, 1.0, (count, 2))
            losses = np.round(attempt.generator.permutation(count) / 7 + 0.1, 3)
            each = zip(weights, settings, losses.tolist(), strict=True)
            given = [(*own, pairs) for own in each]
            call, outcome = run_ranks(attempt, EXPLOIT, given, CAUSES, pairs=pairs)
            order = np.argsort(losses, kind="stable").tolist()
            best, worst = order[:pairs], order[count - pairs :]
            setting = f"{call}, losses {losses.tolist()}"
            _judge_copies(setting, outcome, weights, settings, best, worst)
            # Weights are long: they travel from each of the best to one rank, and nowhere else.
            for rank, ledger in enumerate(outcome.ledger):
                long = sum(message.bytes >= size * 4 for message in ledger.messages)
                enough = EXPLOIT("once" if rank in best else "not_at_all")
                EXPLOIT.refuse_if(
                    {"call": call, "rank": rank, "times": long, "enough": enough},
                    too_often=long > (rank in best),
                )


def _judge_copies(
    setting: str, outcome: ProgramOutcome, weights: np.ndarray, settings: np.ndarray,
    best: list[int], worst: list[int],
) -> None:  # fmt: skip
    """Each member must have the weights and the settings of the right member."""
    after = [np.asarray(arguments[0]) for arguments in outcome.arguments]
    sources = [_whose(weights, mine) for mine in after]
    owners = [_whose(settings, arguments[1]) for arguments in outcome.arguments]
    everybody, known = list(range(len(weights))), {"setting": setting, "best": best}
    if worst:
        EXPLOIT.refuse_if(
            known,
            settings_alone=sources == everybody != owners,
            unchanged=sources == everybody,
            reversed=all(sources[rank] in worst for rank in best),
        )
    for rank in sorted(everybody, key=lambda rank: rank in worst):
        source, mine = sources[rank], after[rank]
        means = [(a + b) / 2 for a in weights for b in weights if source is None]
        EXPLOIT.refuse_if(
            known | {"rank": rank, "pairs": len(worst), "has": _owner(source)},
            not_worst=rank not in worst and source != rank,
            averaged=source is None and any(np.allclose(mine, mean) for mean in means),
            converted=source is None,
            not_best=rank in worst and source not in best,
        )
    taken = [sources[rank] for rank in worst]
    EXPLOIT.refuse_if(known | {"taken": taken}, all_alike=len(set(taken)) < len(taken))
    for rank, (source, owner) in enumerate(zip(sources, owners, strict=True)):
        whose = {"rank": rank, "source": source, "has": _owner(owner)}
        EXPLOIT.refuse_if(known | whose, apart=owner != source)


def _whose(all_of_them: np.ndarray, mine: Any) -> int | None:
    """Which row these are, to the last bit."""
    raw = np.asarray(mine).tobytes()
    return next((rank for rank, row in enumerate(all_of_them) if row.tobytes() == raw), None)


def _owner(rank: int | None) -> str:
    return EXPLOIT("strangers") if rank is None else EXPLOIT("of_rank", rank=rank)


def judge_evolve(attempt: Attempt) -> None:
    """Step by step: the best of the tournament has a child, and the oldest leaves."""
    for steps in (1, 1, 2, 3, 5, STEPS):
        size = int(attempt.generator.integers(4, 8))
        shape = tuple(int(options) for options in attempt.generator.integers(2, 5, 3))
        score = attempt.generator.permutation(int(np.prod(shape))).reshape(shape) / 100
        # The best is the oldest, and the worst is young: a step that drops the worst is found out.
        best, worst = int(score.argmax()), int(score.argmin())
        others = attempt.generator.permutation(np.setdiff1d(range(score.size), (best, worst)))
        places = [best, others[0], worst, *others[1 : size - 2]]
        population = [tuple(map(int, np.unravel_index(place, shape))) for place in places]
        tournaments = []
        for _ in range(steps):  # never the youngest; the first is neither the best nor the worst
            three = attempt.generator.permutation(size - 1)[:3].tolist()
            low, middle, high = sorted(three, key=lambda place: score[population[place]])
            tournaments.append([middle, high, low])
        places = attempt.generator.integers(len(shape), size=steps).tolist()
        mutations = [(place, int(attempt.generator.integers(shape[place]))) for place in places]
        given = score, population, tournaments, mutations
        answer = ask(attempt, EVOLVE, given, _evolve(*given), same=equal, read=whole_rows)
        EVOLVE.refuse_if({"call": answer.setting, "size": size}, empty=not answer.result)
        usual = {mistake: _evolve(*given, mistake) for mistake in EVOLUTIONS}
        answer.compare(**usual, unchanged=population)


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
            "worst_parent": worst, "first_parent": rivals[0],
            "best_of_all": max(alive, key=score.__getitem__),
        }.get(mistake, best)  # fmt: skip
        child = list(parent)
        if mistake != "no_change":
            child[place] = value
        alive.insert(0 if mistake == "child_first" else len(alive), tuple(child))
        if mistake == "worst_leaves":
            alive.remove(min(alive, key=score.__getitem__))
        elif mistake == "worst_of_tournament_leaves":
            alive.remove(worst)
        elif mistake == "parent_leaves":
            alive.remove(parent)
        elif mistake != "nobody_leaves":
            alive.pop({"youngest_leaves": -2, "child_first": -1}.get(mistake, 0))
    return alive


EVOLUTIONS = (
    "worst_leaves", "worst_of_tournament_leaves", "parent_leaves", "youngest_leaves",
    "nobody_leaves", "worst_parent", "best_of_all", "first_parent", "no_change", "child_first",
)  # fmt: skip

Array = np.ndarray


def judge_distil(attempt: Attempt) -> None:
    """The loss of a student that listens to a teacher, and its gradient by the scores."""
    for temperature, soft in ((1.0, 1.0), (4.0, 1.0), (4.0, 0.0), (3.0, 0.7), (0.5, 0.25)):
        scores, of_teacher = 2 * attempt.generator.standard_normal((2, 6, 4))
        teacher = softmax(of_teacher, temperature)
        answers = attempt.generator.integers(0, 4, 6)
        given = (scores, teacher, answers, temperature, soft)
        call = DISTIL("call", temperature=temperature, soft=soft)
        wanted = DISTIL("wanted", call=call)
        loss, gradient = several(attempt.call(*given), 2, wanted)
        loss = number(loss, wanted, part="the loss")
        gradient = array(gradient, f"{wanted}: the gradient is an array of numbers", scores.shape)
        right, slope = distillation.loss(*given)
        warm, cold, sure = softmax(scores, temperature), softmax(scores), np.eye(4)[answers]
        by_teacher, by_answers = _surprise(teacher, warm), _surprise(sure, cold)
        square, hard = temperature**2, 1 - soft
        softer = _surprise(softmax(teacher, temperature), warm)
        divergence = by_teacher - _surprise(teacher, teacher)
        usual = DISTIL.each(
            no_square=soft * by_teacher + hard * by_answers,
            no_second_t=soft * temperature * by_teacher + hard * by_answers,
            shares_swapped=hard * square * by_teacher + soft * by_answers,
            softened_twice=soft * square * softer + hard * by_answers,
            cold_student=soft * square * _surprise(teacher, cold) + hard * by_answers,
            warm_student=soft * square * by_teacher + hard * _surprise(sure, warm),
            divergence=soft * square * divergence + hard * by_answers,
            sum=right * len(scores),
            mean_of_classes=right / scores.shape[1],
            sign=-right,
        )
        compare(f"{call}: the loss", loss, right, usual, DISTIL("otherwise"), within(1e-6, 1e-8))
        # Of both parts the gradients by the scores.
        from_teacher = soft * (warm - teacher) / len(scores)
        from_answers = hard * (cold - sure) / len(scores)
        slopes = DISTIL.each(
            slope_sum=slope * len(scores),
            slope_sign=-slope,
            slope_square=square * from_teacher + from_answers,
            slope_no_t=from_teacher + from_answers,
            slope_no_square=from_teacher / temperature + from_answers,
        )
        setting = f"{call}: the loss is right; the gradient"
        compare(setting, gradient, slope, slopes, same=within(1e-5, 1e-8))


def _surprise(wanted: Array, likely: Array) -> float:
    return float(-(wanted * np.log(likely)).sum(axis=1).mean())
