"""The usual mistakes of unit 16, and words of the message that must name each."""

from functools import partial

import numpy as np

from ddl_class.exercises.unit_16.judges import packed_signs
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm
from ddl_teach.training.compression.top_k import largest

Pair = tuple[np.ndarray, np.ndarray]


def by_value(vector: np.ndarray, k: int) -> Pair:
    indices = np.sort(np.argsort(vector)[len(vector) - k :])
    return indices, vector[indices]


def smallest(vector: np.ndarray, k: int) -> Pair:
    indices = np.sort(np.argsort(np.abs(vector))[:k])
    return indices, vector[indices]


def without_signs(vector: np.ndarray, k: int) -> Pair:
    indices, values = largest(vector, k)
    return indices, np.abs(values)


def not_in_order(vector: np.ndarray, k: int) -> Pair:
    indices = np.argsort(-np.abs(vector))[:k]
    return indices, vector[indices]


def values_first(vector: np.ndarray, k: int) -> Pair:
    return largest(vector, k)[::-1]


def one_too_few(vector: np.ndarray, k: int) -> Pair:
    indices, values = largest(vector, k)
    return indices[1:], values[1:]


def with_zeros(vector: np.ndarray, k: int) -> np.ndarray:
    arrived = np.zeros_like(vector)
    indices, values = largest(vector, k)
    arrived[indices] = values
    return arrived


def fed_back(vector: np.ndarray, residual: np.ndarray, compress=np.round, *, mistake: str) -> Pair:
    total = vector + residual
    sent, plain, rounded = compress(total), compress(vector), np.round(total)
    return {
        "always rounded": (rounded, total - rounded),
        "old forgotten": (plain, vector - plain),
        "never sent": (plain, total - plain),
        "total without": (sent, vector - sent),
        "wrong sign": (sent, sent - total),
        "nothing kept": (sent, np.zeros_like(vector)),
        "old one kept": (sent, residual),
        "all sent": (total, np.zeros_like(vector)),
        "on top": (plain + residual, vector - plain),
        "turned round": (total - sent, sent),
    }[mistake]


def means_of(vector: np.ndarray, change) -> tuple[np.ndarray, float, float]:
    bits, upper, lower = packed_signs(vector)
    return bits, *change(vector, upper, lower)


def bits_by(vector: np.ndarray, change) -> tuple[np.ndarray, float, float]:
    _, upper, lower = packed_signs(vector)
    return change(vector), upper, lower


def means_of_nothing(vector: np.ndarray) -> tuple[np.ndarray, float, float]:
    above = vector >= 0
    with np.errstate(invalid="ignore"):
        sums = [np.float64(part.sum()) / len(part) for part in (vector[above], vector[~above])]
    return np.packbits(above), *sums


def over_all(vector: np.ndarray, upper: float, lower: float) -> tuple[float, float]:
    return vector[vector >= 0].sum() / len(vector), vector[vector < 0].sum() / len(vector)


def both_alike(vector: np.ndarray, upper: float, lower: float) -> tuple[float, float]:
    return np.abs(vector).mean(), -np.abs(vector).mean()


def quantised(
    vector: np.ndarray, levels: int, draws: np.ndarray, mistake: str
) -> tuple[float, np.ndarray]:
    length = np.linalg.norm(vector)
    signs, scaled = np.sign(vector), levels * np.abs(vector) / (length or 1)
    right = signs * np.floor(scaled + draws)
    if mistake == "largest":
        length = np.abs(vector).max()
    if mistake == "counted":
        length = len(vector)
    return length, {
        "largest": right,
        "counted": right,
        "floor below": np.floor(signs * scaled + draws),
        "signs": np.floor(scaled + draws),
        "nearest": signs * np.round(scaled),
        "down": signs * np.floor(scaled),
        "up": signs * np.ceil(scaled),
        "multiplied": right * length / levels,
        "not whole": signs * (scaled + draws),
        "undivided": signs * np.floor(np.abs(vector) * levels + draws),
    }[mistake]


def divided_by_zero(
    vector: np.ndarray, levels: int, draws: np.ndarray
) -> tuple[float, np.ndarray]:
    length = np.linalg.norm(vector)
    with np.errstate(invalid="ignore"):
        return length, np.sign(vector) * np.floor(levels * np.abs(vector) / length + draws)


def rank_1(
    first: bool = True, second: bool = True, length=np.linalg.norm, often: int = 1, before=False,
    last=False,
):  # fmt: skip
    """Right, but for what the arguments say."""

    def low_rank(comm: Comm, matrix: np.ndarray, guess: np.ndarray) -> np.ndarray:
        def average(vector: np.ndarray) -> None:
            for _ in range(often):
                ring.allreduce(comm, vector)
                vector /= comm.size

        left = matrix @ guess
        if before:
            left /= length(left)
        if first:
            average(left)
        right = matrix.T @ left
        if not before:
            left /= length(left)
        if not (before or last):
            right = matrix.T @ left
        if second:
            average(right)
        return np.outer(left, right)

    return low_rank


MISTAKES = [
    ("16.low_rank", rank_1(first=False, second=False), "average both vectors"),
    ("16.low_rank", rank_1(second=False), "average right"),
    ("16.low_rank", rank_1(first=False), "the outer product of two means"),
    ("16.low_rank", rank_1(length=len), "np.linalg.norm(left)"),
    ("16.low_rank", rank_1(length=lambda vector: 1.0), "np.linalg.norm(left)"),
    ("16.low_rank", rank_1(often=2), "go round a ring, and no matrix"),
    ("16.low_rank", lambda comm, matrix, guess: None, "yours returns None"),
    ("16.low_rank", lambda comm, matrix, guess: matrix @ guess, "return a matrix"),
    ("16.low_rank", rank_1(before=True), "before you divide it by its length"),
    ("16.low_rank", rank_1(last=True), "before you make the second one of it"),
    (
        "16.top_k",
        lambda vector, k: (np.argsort(-np.abs(vector))[:k], np.ones(k)),
        "have their signs",
    ),
    ("16.top_k", by_value, "Choose by np.abs"),
    ("16.top_k", smallest, "the k smallest"),
    ("16.top_k", without_signs, "the signs are lost"),
    ("16.top_k", not_in_order, "both must ascend"),
    ("16.top_k", values_first, "the indices first"),
    ("16.top_k", one_too_few, "are to travel"),
    ("16.top_k", with_zeros, "return (indices, values)"),
    *[
        ("16.feedback", partial(fed_back, mistake=mistake), words)
        for mistake, words in (
            ("old forgotten", "Old residuals are forgotten"),
            ("never sent", "never sent"),
            ("always rounded", "Another form was given"),
            ("total without", "has no old residual in it"),
            ("wrong sign", "the wrong sign"),
            ("nothing kept", "nothing is remembered"),
            ("old one kept", "still the old one"),
            ("all sent", "send compress(total)"),
            ("on top", "before you compress, not after"),
            ("turned round", "what is sent first"),
        )
    ],
    ("16.one_bit", partial(bits_by, change=lambda x: x >= 0), "takes a whole byte"),
    ("16.one_bit", partial(bits_by, change=lambda x: np.packbits(x < 0)), "not negative"),
    ("16.one_bit", partial(bits_by, change=lambda x: np.packbits(x > 0)), ">= 0"),
    (
        "16.one_bit",
        partial(bits_by, change=lambda x: np.packbits(x >= 0, bitorder="little")),
        "the highest bit",
    ),
    ("16.one_bit", means_of_nothing, "a mean of no entries is nan"),
    ("16.one_bit", partial(means_of, change=lambda x, u, v: (u, -v)), "do not take magnitudes"),
    ("16.one_bit", partial(means_of, change=lambda x, u, v: (v, u)), "then the lower"),
    ("16.one_bit", partial(means_of, change=both_alike), "Each sign has its own"),
    ("16.one_bit", partial(means_of, change=over_all), "not by the whole length"),
    (
        "16.one_bit",
        partial(means_of, change=lambda x, u, v: (x.max(), x.min())),
        "the largest and the smallest entry",
    ),
    *[
        ("16.quantise", partial(quantised, mistake=mistake), words)
        for mistake, words in (
            ("largest", "yours is the largest entry"),
            ("counted", "`len` counts the entries"),
            ("floor below", "Round down the magnitude"),
            ("signs", "The signs are lost"),
            ("nearest", "You round to the nearest level"),
            ("down", "Always rounded down"),
            ("up", "Always rounded up"),
            ("multiplied", "leave length / levels out"),
            ("not whole", "no whole numbers"),
            ("undivided", "Divide by the length first"),
        )
    ],
    ("16.quantise", divided_by_zero, "do not divide then"),
]
