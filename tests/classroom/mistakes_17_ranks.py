"""The usual mistakes of unit 17 with populations and ensembles, and words of each message."""

from collections.abc import Callable

import numpy as np

from ddl_teach import Comm
from ddl_teach.collectives import ring


def exploit_with(
    *,
    sign: float = 1.0,
    moves: tuple[int, ...] = (0, 1),
    in_place: bool = True,
    average: bool = False,
    receives=lambda place: place,
    worse: int = 0,
    to_all: bool = False,
    rounded: bool = False,
) -> Callable:
    """The worst copy the best, right but for what the arguments say."""

    def exploit(
        comm: Comm, weights: np.ndarray, settings: np.ndarray, loss: float, pairs: int
    ) -> None:
        losses = np.full(comm.size, sign * loss)
        ring.allgather(comm, losses)
        order = np.argsort(losses, kind="stable").tolist()
        for place in range(pairs):
            good, bad = order[place], order[::-1][receives(place) + worse]
            for mine in ([weights, settings][place] for place in moves):
                if good == comm.rank:
                    sent = mine.astype(np.float16).astype(mine.dtype) if rounded else mine
                    for to in set(range(comm.size)) - {good} if to_all else [bad]:
                        comm.send(sent, to)
                elif bad == comm.rank or to_all:
                    arriving = np.empty_like(mine)
                    comm.recv(arriving, good)
                    if average:
                        arriving = (arriving + mine) / 2
                    if in_place and bad == comm.rank:
                        mine[...] = arriving

    return exploit


def everybody_sends(
    comm: Comm, weights: np.ndarray, settings: np.ndarray, loss: float, pairs: int
) -> None:
    """The right pairs, and both of a pair send before they receive."""
    losses = np.full(comm.size, loss)
    ring.allgather(comm, losses)
    order = np.argsort(losses, kind="stable").tolist()
    for good, bad in zip(order[:pairs], order[::-1], strict=False):
        if comm.rank in (good, bad):
            other = good + bad - comm.rank
            for mine in (weights, settings):
                arriving = np.empty_like(mine)
                comm.send(mine, other)
                comm.recv(arriving, other)
                if comm.rank == bad:
                    mine[...] = arriving


def one_for_all(
    comm: Comm, weights: np.ndarray, settings: np.ndarray, loss: float, pairs: int
) -> None:
    """All of the worst copy the very best."""
    losses = np.full(comm.size, loss)
    ring.allgather(comm, losses)
    order = np.argsort(losses, kind="stable").tolist()
    for bad in order[comm.size - pairs :]:
        for mine in (weights, settings):
            if comm.rank == order[0]:
                comm.send(mine, bad)
            elif comm.rank == bad:
                comm.recv(mine, order[0])


def into_a_short_array(
    comm: Comm, weights: np.ndarray, settings: np.ndarray, loss: float, pairs: int
) -> None:
    """Receives weights into an array that is too short for them."""
    losses = np.full(comm.size, loss)
    ring.allgather(comm, losses)
    for good, bad in zip(np.argsort(losses)[:pairs], np.argsort(losses)[::-1], strict=False):
        if comm.rank == good:
            comm.send(weights, bad)
        elif comm.rank == bad:
            comm.recv(np.empty(3), good)


def ensemble_with(
    *,
    shift: bool = True,
    axis: int | None = 1,
    softmax_first: bool = True,
    softmax_last: bool = False,
    gather: bool = True,
    divide: bool = True,
) -> Callable:
    """The ensemble's probabilities, right but for what the arguments say."""

    def likely(scores: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            top = scores.max(axis=axis, keepdims=axis is not None) if shift else 0.0
            powers = np.exp(scores - top)
            return powers / powers.sum(axis=axis, keepdims=axis is not None)

    def ensemble(comm: Comm, scores: np.ndarray) -> np.ndarray:
        total = likely(scores) if softmax_first else scores.copy()
        if gather:
            ring.allreduce(comm, total)
        if divide:
            total = total / comm.size
        return likely(total) if softmax_last else total

    return ensemble


def softmax(scores: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    powers = np.exp(scores / temperature)
    return powers / powers.sum(axis=1, keepdims=True)


def distil_with(
    *,
    factor=lambda temperature: temperature**2,
    slope_factor=lambda temperature: temperature,
    share=lambda soft: soft,
    again: bool = False,
    warm=lambda temperature: temperature,
    hard_at=lambda temperature: 1.0,
    entropy: bool = False,
    mean=lambda samples, classes: samples,
    slope_mean=lambda samples: samples,
    sign: float = 1.0,
    slope_sign: float = 1.0,
) -> Callable:
    """The loss of distillation and its gradient, right but for what the arguments say."""

    def distil(
        scores: np.ndarray,
        teacher: np.ndarray,
        answers: np.ndarray,
        temperature: float,
        soft: float,
    ) -> tuple[float, np.ndarray]:
        q = softmax(teacher, temperature) if again else teacher
        p, right = softmax(scores, warm(temperature)), np.eye(scores.shape[1])[answers]
        from_teacher = -(q * np.log(p)).sum() + (q * np.log(q)).sum() * entropy
        from_answers = -(right * np.log(softmax(scores, hard_at(temperature)))).sum()
        soft = share(soft)
        loss = soft * factor(temperature) * from_teacher + (1 - soft) * from_answers
        slope = soft * slope_factor(temperature) * (p - q) + (1 - soft) * (softmax(scores) - right)
        return sign * loss / mean(*scores.shape), slope_sign * slope / slope_mean(len(scores))

    return distil


def to_the_last_minus_0(comm, weights, settings, loss, pairs):
    if comm.rank == 0 and pairs:
        comm.send(weights, 0)


def settings_first(comm, weights, settings, loss, pairs):
    if comm.rank == 0 and pairs:
        comm.send(weights, 1)
    if comm.rank == 1 and pairs:
        comm.recv(settings, 0)


MISTAKES = [
    ("17.exploit", exploit_with(sign=-1.0), "A lower loss is better"),
    ("17.exploit", exploit_with(moves=(0,)), "Weights and settings belong together"),
    ("17.exploit", exploit_with(moves=(1,)), "the settings have moved, and the weights have not"),
    ("17.exploit", exploit_with(in_place=False), "`weights = ...` only names another one"),
    ("17.exploit", exploit_with(average=True), "copy, do not average"),
    ("17.exploit", exploit_with(rounded=True), "to the last bit"),
    ("17.exploit", exploit_with(worse=1), "is none of the worst"),
    ("17.exploit", exploit_with(to_all=True), "who sends to whom"),
    ("17.exploit", one_for_all, "Each of the best gives to one"),
    ("17.exploit", to_the_last_minus_0, "order[-0] is the first"),
    ("17.exploit", settings_first, "in the same order"),
    ("17.exploit", into_a_short_array, "does not fit"),
    ("17.exploit", everybody_sends, "of the best sends to one of the worst"),
    ("17.ensemble", ensemble_with(divide=False), "divide by comm.size"),
    (
        "17.ensemble",
        ensemble_with(softmax_first=False, softmax_last=True),
        "average probabilities",
    ),
    ("17.ensemble", ensemble_with(softmax_first=False), "make probabilities of them first"),
    (
        "17.ensemble",
        ensemble_with(gather=False, divide=False),
        "add up over the ranks",
    ),
    ("17.ensemble", ensemble_with(gather=False), "the others' are missing"),
    ("17.ensemble", ensemble_with(axis=0), "down the columns"),
    ("17.ensemble", ensemble_with(axis=None), "the sum over all samples"),
    ("17.ensemble", ensemble_with(shift=False), "Subtract each row's largest score"),
    ("17.distil", distil_with(factor=lambda temperature: 1.0), "The factor T*T is missing"),
    ("17.distil", distil_with(factor=lambda temperature: temperature), "by T*T, not by T"),
    ("17.distil", distil_with(share=lambda soft: 1 - soft), "the share of the teacher's part"),
    ("17.distil", distil_with(again=True), "softened already"),
    ("17.distil", distil_with(warm=lambda temperature: 1.0), "The student must be softened"),
    (
        "17.distil",
        distil_with(hard_at=lambda temperature: temperature),
        "the student at temperature 1",
    ),
    ("17.distil", distil_with(entropy=True), "Kullback-Leibler"),
    ("17.distil", distil_with(mean=lambda samples, classes: 1), "the sum over the samples"),
    (
        "17.distil",
        distil_with(mean=lambda samples, classes: samples * classes),
        "a mean over samples and classes",
    ),
    ("17.distil", distil_with(sign=-1.0), "a logarithm of a probability is negative"),
    ("17.distil", distil_with(slope_mean=lambda samples: 1), "divide by the number of samples"),
    ("17.distil", distil_with(slope_sign=-1.0), "where the student gives too much"),
    (
        "17.distil",
        distil_with(slope_factor=lambda temperature: temperature**2),
        "one T of T*T is used up",
    ),
    (
        "17.distil",
        distil_with(slope_factor=lambda temperature: 1.0),
        "T*T from the loss, 1/T from scores / T",
    ),
    (
        "17.distil",
        distil_with(slope_factor=lambda temperature: 1 / temperature),
        "multiplied by T in all",
    ),
    ("17.distil", lambda scores, *rest: distil_with()(scores, *rest)[0], "two things"),
]
