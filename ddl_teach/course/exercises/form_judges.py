"""The judges of unit 16's forms: top-k, feedback, one bit, stochastic levels.

What is right stands here as functions, which take the learner's place in a notebook until theirs
are right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ddl_teach.course.exercises.answers import number
from ddl_teach.course.exercises.exercise import Stage, Wrong

CLOSE = 1e-6
Arrays = Sequence[np.ndarray]


def remembered(
    vector: np.ndarray, residual: np.ndarray, compress: Callable[..., Any] = np.round
) -> tuple[np.ndarray, np.ndarray]:
    """What is sent of a vector and an old residual, and what stays."""
    total = vector + residual
    sent = compress(total)
    return sent, total - sent


def packed_signs(vector: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Signs as bits, and the mean of those that are not negative, and of those that are."""
    above = vector >= 0
    means = [float(part.mean()) if len(part) else 0.0 for part in (vector[above], vector[~above])]
    return np.packbits(above), *means


def from_signs(bits: np.ndarray, upper: float, lower: float, size: int) -> np.ndarray:
    """The vector that the receiver of packed signs makes of them."""
    return np.where(np.unpackbits(bits, count=size), upper, lower)


def drawn_levels(vector: np.ndarray, levels: int, draws: np.ndarray) -> tuple[float, np.ndarray]:
    """The vector's length, and whole numbers of which so many levels are that length."""
    length = float(np.linalg.norm(vector))
    return length, np.sign(vector) * np.floor(levels * np.abs(vector) / (length or 1) + draws)


def judge_top_k(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """The k entries of largest magnitude, by ascending place."""
    for size, k in ((8, 3), (8, 1), (5, 5), (1, 1), (40, 12), (200, 2)):
        vector = generator.permutation(np.linspace(-1, 1.3, size) + 1e-3)
        call = f"top_k of {_shown(vector)}, k={k}"
        indices, values = _parts(stage.call(vector.copy(), k), 2, call, "(indices, values)")
        order = np.argsort(np.abs(vector))
        chosen = np.sort(order[size - k :])
        right = [chosen, vector[chosen]]
        if _alike([indices, values], right):
            continue
        largest = np.sort(np.argsort(vector)[size - k :])
        smallest = np.sort(order[:k])
        usual = [
            ([chosen, np.abs(vector[chosen])], "The places are right, and the signs are lost: "
             "choose by magnitude, send the entries themselves"),
            ([largest, vector[largest]], "Those are the largest numbers: a gradient of -3 says "
             "more than one of 1. Choose by np.abs(vector)"),
            ([smallest, vector[smallest]], "Those are the k smallest: np.argsort puts the largest "
             "last"),
        ]  # fmt: skip
        if _alike([values, indices], right):
            raise Wrong(f"{call}: return the indices first, then the values.")
        if len(indices) == len(chosen) and _alike([np.sort(indices)], [chosen]):
            if not _alike([values], [vector[np.asarray(indices, int)]]):
                _named([indices, values], usual, call, right)
            raise Wrong(
                f"{call}: these are the right entries, but not in the order of their places: "
                f"{_shown(indices)}. Whoever adds two such lists wants them ascending: np.sort."
            )
        if len(indices) != k:
            raise Wrong(f"{call}: {len(indices)} places come back; {k} shall travel.")
        _named([indices, values], usual, call, right)


def judge_feedback(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """What is sent, and what stays for the next time."""
    for size in (4, 1, 30):
        vector, residual = generator.standard_normal((2, size))
        if size == 4:
            vector, residual = np.array([2.0, -1.0, 0.5, 4.0]), np.array([0.25, 3.0, -0.75, 0.5])
        total = vector + residual
        near = np.round(total)
        call = f"feedback of {_shown(vector)} with the residual {_shown(residual)}"
        said = stage.call(vector.copy(), residual.copy())
        sent, stays = _parts(said, 2, call, "(sent, residual)")
        right = list(remembered(vector, residual))
        if _alike([sent, stays], right):
            continue
        plain = np.round(vector)
        usual = [
            ([plain, vector - plain], "Old residuals are forgotten: add the residual to the "
             "vector before you compress it"),
            ([plain, total - plain], "The residual is kept and never sent: compress vector + "
             "residual, not the vector"),
            ([near, vector - near], "What is sent is right; what stays is the "
             "whole total less what was sent, and your total has no old residual in it"),
            ([near, near - total], "The residual has the wrong sign: it is what "
             "should have been sent less what was"),
            ([near, np.zeros(size)], "What is sent is right, and nothing is remembered"),
            ([near, residual], "What is sent is right, the residual still the old one"),
            ([total, np.zeros(size)], "Everything was sent as it is: send compress(total)"),
            ([plain + residual, vector - plain], "The residual goes into what is compressed, "
             "not on top of it: else every number travels in full"),
            (right[::-1], "Return what is sent first, then what stays"),
        ]  # fmt: skip
        _named([sent, stays], usual, call, right)


def judge_one_bit(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Packed signs and two means."""
    for size in (8, 16, 13, 1, 64):
        vector = generator.standard_normal(size)
        if size == 8:
            vector = np.array([1.0, -2.0, 0.0, 3.0, -4.0, 5.0, -6.0, 8.0])
        if size == 16:
            vector = -np.abs(vector) - 0.1  # nothing above
        call = f"one_bit of {_shown(vector)}"
        bits, upper, lower = _parts(stage.call(vector.copy()), 3, call, "(bits, upper, lower)")
        above = vector >= 0
        right_bits, *means = packed_signs(vector)
        if _alike([bits], [above]) and size > 1:
            raise Wrong(
                f"{call}: the signs are right, and each takes a whole byte: {size} bytes where "
                f"{len(right_bits)} would do. np.packbits puts eight into one."
            )
        for other, why in (
            (np.packbits(~above), "a 1 stands for an entry that is not negative"),
            (np.packbits(vector > 0), "zero belongs to the upper ones: >= 0"),
            (np.packbits(above, bitorder="little"), "the first entry is the highest bit of the "
             "first byte, as np.packbits does by itself"),
        ):  # fmt: skip
            if _alike([bits], [other]) and not _alike([bits], [right_bits]):
                raise Wrong(f"{call}: the bits are {_shown(bits)}: {why}.")
        if not _alike([bits], [right_bits]):
            raise Wrong(f"{call}: the bits are {_shown(bits)}, and {_shown(right_bits)} is right.")
        found = [
            number(mean, call, finite=False, part=f"the mean of those that are {sign}")
            for mean, sign in ((upper, "not negative"), (lower, "negative"))
        ]
        means = [
            float(part.mean()) if len(part) else 0.0 for part in (vector[above], vector[~above])
        ]
        if np.isnan(found).any():
            raise Wrong(
                f"{call}: a mean of no entries is nan, and would poison what is decoded: where "
                "there are none of a sign, return 0."
            )
        usual = [
            ([means[0], -means[1]], "The lower mean is negative: do not take magnitudes"),
            (means[::-1], "First the upper mean, then the lower"),
            ([np.abs(vector).mean(), -np.abs(vector).mean()], "That is one mean for both signs: "
             "then the sum of the vector changes on the way. Each sign has its own"),
            ([vector[above].sum() / size, vector[~above].sum() / size], "Divide each sum by how "
             "many entries have that sign, not by the whole length"),
            ([vector.max(), vector.min()], "Those are the extremes: the means are nearer to all"),
        ]  # fmt: skip
        if not np.allclose(found, means, rtol=CLOSE):
            _named([np.array(found)], [([np.array(w)], why) for w, why in usual], call,
                   [np.array(means)])  # fmt: skip


def judge_quantise(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Levels drawn so that their expectation is the vector."""
    for size, levels in ((12, 4), (5, 1), (3, 3), (64, 7), (1, 2)):
        vector = generator.standard_normal(size)
        if size == 3:
            vector = np.zeros(3)
        draws = generator.random(size)
        call = f"quantise({_shown(vector)}, {levels}, draws)"
        said = stage.call(vector.copy(), levels, draws.copy())
        length, found = _parts(said, 2, call, "(length, numbers)")
        length = number(length, call, finite=False, part="the length of the vector")
        if np.isnan(length) or np.isnan(found).any():
            raise Wrong(
                f"{call}: nan comes back. A vector of zeros has the length 0: do not divide then."
            )
        right, whole = drawn_levels(vector, levels, draws)
        if np.isclose(length, np.abs(vector).max()) and not np.isclose(length, right):
            raise Wrong(
                f"{call}: the length of a vector is the root of the sum of squares, "
                "np.linalg.norm; yours is the largest entry."
            )
        if not np.isclose(length, right, rtol=CLOSE):
            raise Wrong(f"{call}: the length is {right:.6g}, not {length:.6g}.")
        scaled = levels * vector / (right or 1)
        magnitudes = np.abs(scaled)
        if _alike([found], [whole]):
            continue
        usual = [
            ([np.floor(magnitudes + draws)], "The signs are lost: multiply by np.sign(vector)"),
            ([np.sign(vector) * np.round(magnitudes)], "Rounded to the nearest: then what is "
             "small is zero every time, and the mean of many messages is not the vector. Add the "
             "draws before np.floor"),
            ([np.sign(vector) * np.floor(magnitudes)], "Always rounded down: the mean of many "
             "messages is too small. Add the draws before np.floor"),
            ([np.sign(vector) * np.ceil(magnitudes)], "Always rounded up: add the draws, then "
             "np.floor"),
            ([whole * right / levels], "Whole numbers travel, and the receiver multiplies: leave "
             "length / levels out"),
            ([np.sign(vector) * (magnitudes + draws)], "Those are no whole numbers: np.floor"),
            ([np.sign(vector) * np.floor(np.abs(vector) * levels + draws)], "Divide by the length "
             "first: levels * |x| / length lies between 0 and levels"),
        ]  # fmt: skip
        _named([found], usual, call, [whole])


def _parts(said: Any, count: int, call: str, wanted: str) -> list[Any]:
    """What a learner returned, as arrays of numbers."""
    if said is None:
        raise Wrong(f"{call}: return {wanted}; yours returns None. Is a `return` missing?")
    if not isinstance(said, tuple | list) or len(said) != count:
        raise Wrong(f"{call}: return {count} things, {wanted}, not {str(said)[:60]}.")
    try:
        found = [np.asarray(part, dtype=float) for part in said]
    except (TypeError, ValueError, OverflowError):
        raise Wrong(f"{call}: return {wanted}: numbers and arrays of numbers.") from None
    return found


def _alike(found: Arrays, right: Arrays) -> bool:
    return all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=CLOSE)
        for a, b in zip(found, right, strict=True)
    )


def _named(found: Arrays, usual: Sequence[tuple[Arrays, str]], call: str, right: Arrays) -> None:
    near = next((why for wrong, why in usual if _alike(found, wrong)), None)
    both = " and ".join(_shown(part) for part in found)
    raise Wrong(
        f"{call} gives {both}, and {' and '.join(_shown(part) for part in right)} is right. "
        f"{near or 'Look at the formula once more'}."
    )


def _shown(array: np.ndarray) -> str:
    """The first numbers of it."""
    flat = np.ravel(array)
    some = ", ".join(f"{value:.4g}" for value in flat[:6])
    return f"[{some}{', ...' if len(flat) > 6 else ''}]"
