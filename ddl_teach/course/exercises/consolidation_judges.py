"""The judges of unit 17, third part: an ensemble over ranks, and the loss that distils it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_teach.course.exercises.answers import number
from ddl_teach.course.exercises.exercise import Outcome, Stage, Wrong, ranks_text
from ddl_teach.course.exercises.split_judges import hardest_first
from ddl_teach.search.consolidation import distillation
from ddl_teach.sgd.perceptron import softmax

CLOSE = 1e-7
HUGE = 2_000.0  # a score whose exponential is no number any more
SHOWN = 60  # letters of an answer that is no array

Array = np.ndarray


def judge_ensemble(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """The mean over all ranks of their probabilities, the same on each."""
    for count in hardest_first(ranks):
        for huge in (False, True):
            scores = 2 * generator.standard_normal((count, 5, 4))
            if huge:
                scores[:, 0, :] += HUGE
            given = [(mine.copy(),) for mine in scores]
            call = f"ensemble(comm, scores) on {ranks_text(count)}"
            outcome = stage.run(count, given)
            _judge_probabilities(call, outcome, scores, huge)


def _judge_probabilities(call: str, outcome: Outcome, scores: Array, huge: bool) -> None:
    count = len(scores)
    right = sum(softmax(each) for each in scores) / count
    for rank, value in enumerate(outcome.results):
        found = _array(value, f"{call}, rank {rank}", right.shape)
        if huge and not np.isfinite(found).all():
            raise Wrong(
                f"{call}: where scores are near {HUGE:g}, np.exp of them is no number any more. "
                "Subtract each row's largest score first: that changes no probability."
            )
        if np.allclose(found, right, rtol=CLOSE, atol=CLOSE):
            continue
        mine, mean = scores[rank], scores.mean(axis=0)
        own = softmax(mine)
        down = sum(softmax(each.T).T for each in scores) / count
        powers = [np.exp(each - each.max()) for each in scores]
        all_over = sum(power / power.sum() for power in powers) / count
        mistakes = (
            (right * count, "That is the sum over the ranks: divide by comm.size"),
            (softmax(mean), "You average scores and then make probabilities of them. Scores of "
             "different networks have no common scale: average probabilities"),
            (mean, "Those are averaged scores; make probabilities of them first"),
            (own, "Those are this rank's own probabilities: add up over the ranks"),
            (own / count, "Those are this rank's own probabilities, divided by comm.size: the "
             "others' are missing"),
            (down, "A sample's probabilities are a row and sum to 1: add up along axis 1, with "
             "keepdims=True. Yours sum to 1 down the columns"),
            (all_over, "You divide by the sum over all samples: each row must sum to 1, so add "
             "up along axis 1, with keepdims=True"),
        )  # fmt: skip
        for wrong, why in mistakes:
            if np.allclose(found, wrong, rtol=1e-5, atol=1e-7):
                raise Wrong(f"{call}: {why}.")
        raise Wrong(
            f"{call}: on rank {rank} the first sample has {np.round(found[0], 4).tolist()}, and "
            f"{np.round(right[0], 4).tolist()} is right."
        )


def judge_distil(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """The loss of a student that listens to a teacher, and its gradient by the scores."""
    for temperature, soft in ((1.0, 1.0), (4.0, 1.0), (4.0, 0.0), (3.0, 0.7), (0.5, 0.25)):
        scores, from_teacher = 2 * generator.standard_normal((2, 6, 4))
        teacher = softmax(from_teacher, temperature)
        answers = generator.integers(0, 4, 6)
        given = (scores, teacher, answers, temperature, soft)
        call = f"distil(scores, teacher, answers, temperature={temperature:g}, soft={soft:g})"
        loss, gradient = _pair(stage.call(*given), call, scores.shape)
        right, slope = distillation.loss(*given)
        if not np.isclose(loss, right, rtol=1e-6):
            for wrong, why in _wrong_losses(*given):
                if np.isclose(loss, wrong, rtol=1e-6):
                    raise Wrong(f"{call}: the loss is {loss:.6g}, and {right:.6g} is right. {why}")
            raise Wrong(
                f"{call}: the loss is {loss:.6g}, and {right:.6g} is right. Try soft=1 and soft=0 "
                "apart: the teacher's part, T*T times the mean of -sum q log p, and the answers' "
                "part, the mean of -log of what the right answer gets at temperature 1."
            )
        if not np.allclose(gradient, slope, rtol=1e-5, atol=1e-8):
            for wrong, why in _wrong_slopes(*given):
                if np.allclose(gradient, wrong, rtol=1e-5, atol=1e-8):
                    raise Wrong(f"{call}: the loss is right, the gradient is not. {why}")
            raise Wrong(
                f"{call}: the loss is right, the gradient is not: it begins with "
                f"{gradient.flat[0]:.6g}, and {slope.flat[0]:.6g} is right."
            )


def _surprise(wanted: Array, likely: Array) -> float:
    return float(-(wanted * np.log(likely)).sum(axis=1).mean())


def _wrong_losses(
    scores: Array, teacher: Array, answers: Array, temperature: float, soft: float
) -> list[tuple[float, str]]:
    """What the usual mistakes give."""
    warm, cold, right = softmax(scores, temperature), softmax(scores), np.eye(4)[answers]
    from_teacher, from_answers = _surprise(teacher, warm), _surprise(right, cold)
    square, hard = temperature**2, 1 - soft
    true = soft * square * from_teacher + hard * from_answers
    return [
        (soft * from_teacher + hard * from_answers,
         "The factor T*T is missing: without it a hotter teacher is a weaker one."),
        (soft * temperature * from_teacher + hard * from_answers,
         "The teacher's part is multiplied by T*T, not by T."),
        (hard * square * from_teacher + soft * from_answers,
         "`soft` is the share of the teacher's part, and 1 - soft that of the answers'."),
        (soft * square * _surprise(softmax(teacher, temperature), warm) + hard * from_answers,
         "The teacher's probabilities are softened already: take them as they are."),
        (soft * square * _surprise(teacher, cold) + hard * from_answers,
         "The student must be softened as well where it is compared with the teacher."),
        (soft * square * from_teacher + hard * _surprise(right, warm),
         "Answers are compared with the student at temperature 1."),
        (soft * square * (from_teacher - _surprise(teacher, teacher)) + hard * from_answers,
         "Yours is the Kullback-Leibler divergence: right but for the teacher's own entropy, on "
         "which no gradient depends. Here -sum q log p is asked for."),
        (true * len(scores), "That is the sum over the samples: take the mean."),
        (true / scores.shape[1], "That is a mean over samples and classes: add up over the "
         "classes, and take the mean over the samples."),
        (-true, "The sign is wrong: a logarithm of a probability is negative."),
    ]  # fmt: skip


def _wrong_slopes(
    scores: Array, teacher: Array, answers: Array, temperature: float, soft: float
) -> list[tuple[Array, str]]:
    from_teacher = soft * (softmax(scores, temperature) - teacher)
    from_answers = (1 - soft) * (softmax(scores) - np.eye(4)[answers])
    count = len(scores)
    true = temperature * from_teacher + from_answers
    return [
        (true, "It is the gradient of a mean: divide by the number of samples."),
        (-true / count, "The sign is wrong: where the student gives too much, it is positive."),
        ((temperature**2 * from_teacher + from_answers) / count,
         "Scores are divided by T before the softmax, so one T of T*T is used up: the teacher's "
         "part is multiplied by T."),
        ((from_teacher + from_answers) / count,
         "The teacher's part is multiplied by T: T*T from the loss, 1/T from scores / T."),
        ((from_teacher / temperature + from_answers) / count,
         "The factor T*T of the loss is missing: the teacher's part is multiplied by T in all."),
    ]  # fmt: skip


def _pair(value: Any, call: str, shape: tuple[int, ...]) -> tuple[float, Array]:
    if value is None:
        raise Wrong(f"{call} returns None. Is a `return` missing?")
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise Wrong(f"{call}: return the loss and its gradient, two things, not "
                    f"{str(value)[:SHOWN]}.")  # fmt: skip
    loss = number(value[0], call, part="the loss")
    return loss, _array(value[1], f"{call}: the gradient", shape)


def _array(value: Any, what: str, shape: tuple[int, ...]) -> Array:
    if value is None:
        raise Wrong(f"{what}: None came back. Is a `return` missing?")
    try:
        found = np.asarray(value, dtype=float)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise Wrong(f"{what} is an array of numbers, not {str(value)[:SHOWN]}.") from None
    if found.shape != shape:
        raise Wrong(f"{what} has the shape of the scores, {shape}, not {found.shape}.")
    return found
