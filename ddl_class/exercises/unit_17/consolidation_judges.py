"""The judges of unit 17, third part: an ensemble over ranks, and the loss that distils it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import Stage, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array, number, several
from ddl_class.exercises.kit.compare import compare, within
from ddl_teach.search.consolidation import distillation
from ddl_teach.training.tasks.perceptron import softmax

CLOSE = 1e-7
HUGE = 2_000.0  # a score whose exponential is no number any more

Array = np.ndarray


def judge_ensemble(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
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


def judge_distil(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
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
