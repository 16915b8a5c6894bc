"""The judges of unit 17, second part: the exploit of a population on ranks, and ageing; an
ensemble over ranks, and the loss that distils it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array, items, number, several, whole
from ddl_class.exercises.kit.compare import compare, equal, refuse_if, within
from ddl_teach.search.consolidation import distillation
from ddl_teach.training.tasks.perceptron import softmax

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
            each = zip(weights, settings, losses.tolist(), strict=True)
            given = [(*own, pairs) for own in each]
            outcome = ranks.run(stage, count, given, call, CAUSES)
            order = np.argsort(losses, kind="stable").tolist()
            best, worst = order[:pairs], order[count - pairs :]
            told = f"{call}, losses {losses.tolist()}: "
            _judge_copies(told, outcome, weights, settings, best, worst)
            # Weights are long: they travel from each of the best to one rank, and nowhere else.
            for rank, ledger in enumerate(outcome.ledger):
                long = sum(message.bytes >= size * 4 for message in ledger.messages)
                if long > (rank in best):
                    enough = "once" if rank in best else "it need not send them at all"
                    raise Wrong(
                        f"{call}: everybody has the right weights, but rank {rank} sends weights "
                        f"{long} times, and {enough}. Losses are short: let everybody know those, "
                        "and each rank finds out by itself who sends to whom."
                    )


def _judge_copies(
    told: str, outcome: ProgramOutcome, weights: np.ndarray, settings: np.ndarray, best: list[int],
    worst: list[int],
) -> None:  # fmt: skip
    """Who has whose weights now, and whose settings?"""
    after = [np.asarray(arguments[0]) for arguments in outcome.arguments]
    sources = [_whose(weights, mine) for mine in after]
    owners = [_whose(settings, arguments[1]) for arguments in outcome.arguments]
    everybody = list(range(len(weights)))
    cases = {
        "the settings have moved, and the weights have not": sources == everybody != owners,
        "nobody's weights have changed. What arrives must come into the array that is there: "
        "comm.recv(weights, ...) does that, `weights = ...` only names another one": (
            sources == everybody
        ),
        "the best ranks have the weights of the worst. A lower loss is better, and the best send "
        "while the worst receive": all(sources[rank] in worst for rank in best),
    }
    refuse_if(told, cases if worst else {})
    for rank in sorted(everybody, key=lambda rank: rank in worst):
        source, mine = sources[rank], after[rank]
        has = "some that no rank had" if source is None else f"those of rank {source}"
        means = [(a + b) / 2 for a in weights for b in weights if source is None]
        mixed = any(np.allclose(mine, mean) for mean in means)
        near = "copy, do not average" if mixed else "send the array itself, to the last bit"
        cases = {
            f"is none of the worst {len(worst)}, and must keep its own weights. It has {has}": (
                rank not in worst and source != rank
            ),
            f"has weights that no rank had: {near}": source is None,
            f"is among the worst {len(worst)} and should have the weights of one of the best, "
            f"{best}. It has {has}": rank in worst and source not in best,
        }
        refuse_if(f"{told}rank {rank} ", cases)
    taken = [sources[rank] for rank in worst]
    if len(set(taken)) < len(taken):
        raise Wrong(
            f"{told}the worst have the weights of {taken}. Each of the best gives to one of the "
            "worst: otherwise a population is soon all alike."
        )
    for rank, (source, owner) in enumerate(zip(sources, owners, strict=True)):
        if owner != source:
            kept = "some that no rank had" if owner is None else f"those of rank {owner}"
            raise Wrong(
                f"{told}rank {rank} has the weights of rank {source}, and of settings {kept}. "
                "Weights and settings belong together: copy both, in place."
            )


def _whose(all_of_them: np.ndarray, mine: Any) -> int | None:
    """Which row these are, to the last bit."""
    raw = np.asarray(mine).tobytes()
    return next((rank for rank, row in enumerate(all_of_them) if row.tobytes() == raw), None)


CAUSES: ranks.Causes = {
    "One of the best sends to one of the worst, who receives; nobody else does either. All "
    "ranks must come to the same pairs, so sort the same losses in the same way.": (
        ranks.stuck_or_lost
    ),
}


def judge_evolve(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """Step by step: the best of the tournament has a child, and the oldest leaves."""
    for steps in (1, 1, 2, 3, 5, STEPS):
        size = int(generator.integers(4, 8))
        shape = tuple(int(options) for options in generator.integers(2, 5, 3))
        score = generator.permutation(int(np.prod(shape))).reshape(shape) / 100
        # The best is the oldest, and the worst is young: who drops the worst is found out.
        best, worst = int(score.argmax()), int(score.argmin())
        others = generator.permutation(np.setdiff1d(range(score.size), (best, worst)))
        places = [best, others[0], worst, *others[1 : size - 2]]
        population = [tuple(map(int, np.unravel_index(place, shape))) for place in places]
        tournaments = [_tournament(generator, score, population) for _ in range(steps)]
        places = generator.integers(len(shape), size=steps).tolist()
        mutations = [(place, int(generator.integers(shape[place]))) for place in places]
        given = score, population, tournaments, mutations
        call = f"evolve(score, {population}, {tournaments}, {mutations})"
        call = call if steps < 3 else f"evolve of {size} members over {steps} steps"
        wanted = f"{call}: return the population, a list of tuples of genes"
        found = items(stage.call(*given), wanted, lambda member: tuple(map(whole, member)))
        if not found:
            raise Wrong(f"{wanted}: {size} of them, and yours is empty.")
        usual = {words: _evolve(*given, mistake) for mistake, words in EVOLUTIONS.items()}
        usual["That is the population as it was"] = population
        otherwise = (
            "In each step: the best of the members at the places of the tournament, by "
            "score[genes]; its copy with one gene changed comes to the end; the first one leaves"
        )
        compare(call, found, _evolve(*given), usual, otherwise, equal)


def _tournament(
    generator: np.random.Generator, score: Table, population: Sequence[Genes]
) -> list[int]:
    """Three places, not the youngest's, of which the first is neither the best nor the worst."""
    drawn = generator.permutation(len(population) - 1)[:3].tolist()
    worst, middle, best = sorted(drawn, key=lambda place: score[population[place]])
    return [middle, best, worst]


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

CLOSE = 1e-7
HUGE = 2_000.0  # a score whose exponential is no number any more

Array = np.ndarray


def judge_ensemble(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The mean over all ranks of their probabilities, the same on each."""
    for count in ranks.first(3, counts):
        for huge in (False, True):
            scores = 2 * generator.standard_normal((count, 5, 4))
            if huge:
                scores[:, 0, :] += HUGE
            call = f"ensemble(comm, scores) on {ranks_text(count)}"
            outcome = stage.run(count, [(mine,) for mine in scores])
            for rank, value in enumerate(outcome.results):
                _judge_probabilities(f"{call}, rank {rank}", value, scores, rank, huge)


def _judge_probabilities(call: str, value: Any, scores: Array, rank: int, huge: bool) -> None:
    count, mean = len(scores), scores.mean(axis=0)
    own, right = softmax(scores[rank]), sum(softmax(each) for each in scores) / count
    powers = np.exp(scores - scores.max(axis=(1, 2), keepdims=True))
    found = array(value, f"{call}: return an array of numbers like the scores", right.shape)
    if huge and not np.isfinite(found).all():
        raise Wrong(
            f"{call}: where scores are near {HUGE:g}, np.exp of them is no number any more. "
            "Subtract each row's largest score first: that changes no probability."
        )
    usual = {
        "That is the sum over the ranks: divide by comm.size": right * count,
        "You average scores and then make probabilities of them. Scores of different networks "
        "have no common scale: average probabilities": softmax(mean),
        "Those are averaged scores; make probabilities of them first": mean,
        "Those are this rank's own probabilities: add up over the ranks": own,
        "Those are this rank's own probabilities, divided by comm.size: the others' are missing": (
            own / count
        ),
        "A sample's probabilities are a row and sum to 1: add up along axis 1, with "
        "keepdims=True. Yours sum to 1 down the columns": sum(softmax(each.T).T for each in scores)
        / count,
        "You divide by the sum over all samples: each row must sum to 1, so add up along axis 1, "
        "with keepdims=True": np.mean(powers / powers.sum(axis=(1, 2), keepdims=True), axis=0),
    }
    compare(call, found, right, usual, same=within(1e-6, CLOSE))


def judge_distil(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The loss of a student that listens to a teacher, and its gradient by the scores."""
    for temperature, soft in ((1.0, 1.0), (4.0, 1.0), (4.0, 0.0), (3.0, 0.7), (0.5, 0.25)):
        scores, from_teacher = 2 * generator.standard_normal((2, 6, 4))
        teacher = softmax(from_teacher, temperature)
        answers = generator.integers(0, 4, 6)
        given = (scores, teacher, answers, temperature, soft)
        call = f"distil(scores, teacher, answers, temperature={temperature:g}, soft={soft:g})"
        wanted = f"{call}: return the loss and its gradient, two things"
        loss, gradient = several(stage.call(*given), 2, wanted)
        loss = number(loss, wanted, part="the loss")
        gradient = array(gradient, f"{wanted}: the gradient is an array of numbers", scores.shape)
        right, slope = distillation.loss(*given)
        otherwise = (
            "Try soft=1 and soft=0 apart: the teacher's part, T*T times the mean of -sum q log p, "
            "and the answers' part, the mean of -log of what the right answer gets at temperature "
            "1"
        )
        usual, same = _wrong_losses(*given), within(1e-6, 1e-8)
        compare(f"{call}: the loss", loss, right, usual, otherwise, same)
        told, slopes = f"{call}: the loss is right; the gradient", _wrong_slopes(*given)
        compare(told, gradient, slope, slopes, same=within(1e-5, 1e-8))


def _surprise(wanted: Array, likely: Array) -> float:
    return float(-(wanted * np.log(likely)).sum(axis=1).mean())


def _wrong_losses(
    scores: Array, teacher: Array, answers: Array, temperature: float, soft: float
) -> dict[str, float]:
    """What the usual mistakes give."""
    warm, cold, right = softmax(scores, temperature), softmax(scores), np.eye(4)[answers]
    from_teacher, from_answers = _surprise(teacher, warm), _surprise(right, cold)
    square, hard = temperature**2, 1 - soft
    true = soft * square * from_teacher + hard * from_answers
    softer = _surprise(softmax(teacher, temperature), warm)
    divergence = from_teacher - _surprise(teacher, teacher)
    return {
        "The factor T*T is missing: without it a hotter teacher is a weaker one": (
            soft * from_teacher + hard * from_answers
        ),
        "The teacher's part is multiplied by T*T, not by T": (
            soft * temperature * from_teacher + hard * from_answers
        ),
        "`soft` is the share of the teacher's part, and 1 - soft that of the answers'": (
            hard * square * from_teacher + soft * from_answers
        ),
        "The teacher's probabilities are softened already: take them as they are": (
            soft * square * softer + hard * from_answers
        ),
        "The student must be softened as well where it is compared with the teacher": (
            soft * square * _surprise(teacher, cold) + hard * from_answers
        ),
        "Answers are compared with the student at temperature 1": (
            soft * square * from_teacher + hard * _surprise(right, warm)
        ),
        "Yours is the Kullback-Leibler divergence: right but for the teacher's own entropy, on "
        "which no gradient depends. Here -sum q log p is asked for": (
            soft * square * divergence + hard * from_answers
        ),
        "That is the sum over the samples: take the mean": true * len(scores),
        "That is a mean over samples and classes: add up over the classes, and take the mean over "
        "the samples": true / scores.shape[1],
        "The sign is wrong: a logarithm of a probability is negative": -true,
    }


def _wrong_slopes(
    scores: Array, teacher: Array, answers: Array, temperature: float, soft: float
) -> dict[str, Array]:
    from_teacher = soft * (softmax(scores, temperature) - teacher)
    from_answers = (1 - soft) * (softmax(scores) - np.eye(4)[answers])
    count = len(scores)
    true = temperature * from_teacher + from_answers
    return {
        "It is the gradient of a mean: divide by the number of samples": true,
        "The sign is wrong: where the student gives too much, it is positive": -true / count,
        "Scores are divided by T before the softmax, so one T of T*T is used up: the teacher's "
        "part is multiplied by T": (temperature**2 * from_teacher + from_answers) / count,
        "The teacher's part is multiplied by T: T*T from the loss, 1/T from scores / T": (
            (from_teacher + from_answers) / count
        ),
        "The factor T*T of the loss is missing: the teacher's part is multiplied by T in all": (
            (from_teacher / temperature + from_answers) / count
        ),
    }
