"""The judges of unit 16: top-k, feedback, one bit, stochastic levels; and a sum of sparse lists.

What is right stands here as functions, which take the learner's place in a notebook until theirs
are right.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array, arrays, number, several
from ddl_class.exercises.kit.compare import compare, refuse_if, shown, within
from ddl_teach.comm import Comm

CLOSE = 1e-6
SAME = within(CLOSE, 1e-8)
FORMULA = "Look at the formula once more"


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


def judge_top_k(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """The k entries of largest magnitude, by ascending place."""
    for size, k in ((8, 3), (8, 1), (5, 5), (1, 1), (40, 12), (200, 2)):
        vector = generator.permutation(np.linspace(-1, 1.3, size) + 1e-3)
        call = f"top_k of {shown(vector)}, k={k}"
        answer = stage.call(vector, k)
        found = arrays(answer, ("indices", "values"), f"{call}: return (indices, values)")
        order = np.argsort(np.abs(vector))
        chosen = np.sort(order[size - k :])
        right = [chosen, vector[chosen]]
        if SAME(found, right):
            continue
        largest = np.sort(np.argsort(vector)[size - k :])
        smallest = np.sort(order[:k])
        usual = {
            "Return the indices first, then the values": right[::-1],
            "The places are right, and the signs are lost: choose by magnitude, send the entries "
            "themselves": [chosen, np.abs(vector[chosen])],
            "Those are the largest numbers: a gradient of -3 says more than one of 1. Choose by "
            "np.abs(vector)": [largest, vector[largest]],
            "Those are the k smallest: np.argsort puts the largest last": (
                [smallest, vector[smallest]]
            ),
        }
        if len(found[0]) != k:
            raise Wrong(f"{call}: {len(found[0])} places come back; {k} shall travel.")
        if SAME(np.sort(found[0]), chosen) and SAME(found[1], vector[found[0].astype(int)]):
            raise Wrong(
                f"{call}: these are the right entries, but not in the order of their places: "
                f"{shown(found[0])}. Whoever adds two such lists wants them ascending: np.sort."
            )
        compare(call, found, right, usual, FORMULA, SAME)


def judge_feedback(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """What is sent, and what stays for the next time."""
    for size in (4, 1, 30):
        vector, residual = generator.standard_normal((2, size))
        if size == 4:
            vector, residual = np.array([2.0, -1.0, 0.5, 4.0]), np.array([0.25, 3.0, -0.75, 0.5])
        total = vector + residual
        near = np.round(total)
        call = f"feedback of {shown(vector)} with the residual {shown(residual)}"
        said = stage.call(vector, residual)
        found = arrays(said, ("what is sent", "the residual"), f"{call}: return (sent, residual)")
        right, plain = list(remembered(vector, residual)), np.round(vector)
        usual = {
            "Old residuals are forgotten: add the residual to the vector before you compress it": (
                [plain, vector - plain]
            ),
            "The residual is kept and never sent: compress vector + residual, not the vector": (
                [plain, total - plain]
            ),
            "What is sent is right; what stays is the whole total less what was sent, and your "
            "total has no old residual in it": [near, vector - near],
            "The residual has the wrong sign: it is what should have been sent less what was": (
                [near, near - total]
            ),
            "What is sent is right, and nothing is remembered": [near, np.zeros(size)],
            "What is sent is right, the residual still the old one": [near, residual],
            "Everything was sent as it is: send compress(total)": [total, np.zeros(size)],
            "The residual goes into what is compressed, not on top of it: else every number "
            "travels in full": [plain + residual, vector - plain],
            "Return what is sent first, then what stays": right[::-1],
        }
        compare(call, found, right, usual, FORMULA, SAME)


def judge_one_bit(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Packed signs and two means."""
    for size in (8, 16, 13, 1, 64):
        vector = generator.standard_normal(size)
        if size == 8:
            vector = np.array([1.0, -2.0, 0.0, 3.0, -4.0, 5.0, -6.0, 8.0])
        if size == 16:
            vector = -np.abs(vector) - 0.1  # nothing above
        call = f"one_bit of {shown(vector)}"
        wanted = f"{call}: return (bits, upper, lower)"
        bits, *said = several(stage.call(vector), 3, wanted)
        bits, above = array(bits, f"{wanted}: the bits are numbers"), vector >= 0
        right_bits, *means = packed_signs(vector)
        usual = {
            f"the signs are right, and each takes a whole byte: {size} bytes where "
            f"{len(right_bits)} would do. np.packbits puts eight into one": above,
            "a 1 stands for an entry that is not negative": np.packbits(~above),
            "zero belongs to the upper ones: >= 0": np.packbits(vector > 0),
            "the first entry is the highest bit of the first byte, as np.packbits does by "
            "itself": np.packbits(above, bitorder="little"),
        }
        compare(f"{call}: packing the bits", bits, right_bits, usual, same=SAME)
        names = ("the mean of those that are not negative", "the mean of those that are negative")
        pairs = zip(said, names, strict=True)
        found = [number(mean, wanted, finite=False, part=name) for mean, name in pairs]
        if np.isnan(found).any():
            raise Wrong(
                f"{call}: a mean of no entries is nan, and would poison what is decoded: where "
                "there are none of a sign, return 0."
            )
        length = np.abs(vector).mean()
        means_usual = {
            "The lower mean is negative: do not take magnitudes": [means[0], -means[1]],
            "First the upper mean, then the lower": means[::-1],
            "That is one mean for both signs: then the sum of the vector changes on the way. Each "
            "sign has its own": [length, -length],
            "Divide each sum by how many entries have that sign, not by the whole length": (
                [vector[above].sum() / size, vector[~above].sum() / size]
            ),
            "Those are the extremes: the means are nearer to all": [vector.max(), vector.min()],
        }
        compare(call, found, means, means_usual, FORMULA, SAME)


def judge_quantise(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Levels drawn so that their expectation is the vector."""
    for size, levels in ((12, 4), (5, 1), (3, 3), (64, 7), (1, 2)):
        vector = np.zeros(3) if size == 3 else generator.standard_normal(size)
        draws = generator.random(size)
        call = f"quantise({shown(vector)}, {levels}, draws)"
        wanted = f"{call}: return (length, numbers)"
        length, found = several(stage.call(vector, levels, draws), 2, wanted)
        length = number(length, wanted, finite=False, part="the length of the vector")
        found = array(found, f"{wanted}: the second are numbers")
        if np.isnan(length) or np.isnan(found).any():
            raise Wrong(
                f"{call}: nan comes back. A vector of zeros has the length 0: do not divide then."
            )
        right, whole = drawn_levels(vector, levels, draws)
        root = "the length of a vector is the root of the sum of squares, np.linalg.norm"
        largest = {f"{root}; yours is the largest entry": np.abs(vector).max()}
        compare(f"{call}: measuring the vector", length, right, largest, same=within(CLOSE))
        sign, magnitudes = np.sign(vector), levels * np.abs(vector) / (right or 1)
        usual = {
            "The signs are lost: multiply by np.sign(vector)": np.floor(magnitudes + draws),
            "Rounded to the nearest: then what is small is zero every time, and the mean of many "
            "messages is not the vector. Add the draws before np.floor": (
                sign * np.round(magnitudes)
            ),
            "Always rounded down: the mean of many messages is too small. Add the draws before "
            "np.floor": sign * np.floor(magnitudes),
            "Always rounded up: add the draws, then np.floor": sign * np.ceil(magnitudes),
            "Whole numbers travel, and the receiver multiplies: leave length / levels out": (
                whole * right / levels
            ),
            "Those are no whole numbers: np.floor": sign * (magnitudes + draws),
            "Divide by the length first: levels * |x| / length lies between 0 and levels": (
                sign * np.floor(np.abs(vector) * levels + draws)
            ),
        }
        compare(call, found, whole, usual, FORMULA, SAME)


SIZE = 40
MESSAGES = 3  # a step: a length, the indices, the values
Lists = tuple[np.ndarray, np.ndarray]


def merge(
    indices: np.ndarray, values: np.ndarray, others: np.ndarray, more: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The notebook's sum of two sparse vectors: all places that either has."""
    union = np.union1d(indices, others)
    total = np.zeros(len(union))
    total[np.searchsorted(union, indices)] += values
    total[np.searchsorted(union, others)] += more
    return union, total


def swapped(comm: Comm, indices: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The right answer, which takes the learner's place until theirs is right."""
    distance = 1
    while distance < comm.size:
        partner = comm.rank ^ distance
        count = np.empty(1, int)
        comm.sendrecv(np.array([len(indices)]), partner, count, partner)
        others, more = np.empty(count[0], indices.dtype), np.empty(count[0])
        comm.sendrecv(indices, partner, others, partner)
        comm.sendrecv(values, partner, more, partner)
        indices, values = merge(indices, values, others, more)
        distance *= 2
    return indices, values


def judge_sparse_sum(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The entries of the sum on every rank, in few messages."""
    for count in ranks.first(3, counts):
        for alike in (True, False):
            # First equally many, so that other mistakes show; then as in life.
            most = [5] * count if alike else generator.permutation(np.arange(count) % 4 * 2)
            places = [np.sort(generator.choice(SIZE, many, replace=False)) for many in most]
            # Whole numbers, so that sums are exact.
            given = [(own, generator.integers(1, 50, len(own)).astype(float)) for own in places]
            call = f"sparse_sum on {ranks_text(count)} with {list(map(int, most))} entries"
            outcome = ranks.run(stage, count, given, call, CAUSES)
            _judge_lists(call, outcome, given)
            steps = count.bit_length() - 1
            swap = f"{MESSAGES} in each of {steps} steps. Swap the sum so far with the rank 1, 2, "
            advice = f"{swap}4, ... away (comm.rank ^ distance)"
            ranks.judge_sent(call, outcome, [MESSAGES * steps] * count, advice)


CAUSES: ranks.Causes = {
    "What arrives is not as long as the array that should take it. The others have more or "
    "fewer entries than you: send the number of them first, and make room for that many. "
    "Indices are whole numbers (int64), values are not (float64).": ranks.mismatch,
    "A message is for a rank that does not exist: stop when the distance is comm.size.": (
        ranks.no_such_rank
    ),
}


def _judge_lists(call: str, outcome: ProgramOutcome, given: Sequence[Lists]) -> None:
    dense = np.array([_dense(*own) for own in given])
    places = set(np.concatenate([indices for indices, _ in given]))
    right, partners = dense.sum(axis=0), 2 ** np.arange(len(dense).bit_length() - 1)
    for rank, result in enumerate(outcome.results):
        indices, values = _pair(call, rank, result)
        found = _dense(indices, values)
        missing = np.flatnonzero((right != 0) & (found == 0))
        first = int((found != right).argmax())
        own, ascending = dense[rank], list(indices) == sorted(set(indices))
        cases = {
            "the indices do not ascend, each once: merge adds two lists; np.concatenate only puts "
            "one after the other": not ascending,
            "only its own entries come back: merge makes new arrays, so keep what it returns": (
                len(dense) > 1 and np.array_equal(found, own)
            ),
            "the entries of two ranks are in it: after the neighbour comes the rank 2 away, then "
            "4, and what you swap is the sum so far": (
                len(dense) > 2 and np.array_equal(found, own + dense[rank ^ 1])
            ),
            "it heard its partners' own entries only. In the second step each partner holds the "
            "sum of two ranks already: swap the sum so far, not what you began with": (
                len(dense) > 2 and np.array_equal(found, own + dense[rank ^ partners].sum(axis=0))
            ),
            "the places are right and the values are not: is somebody's part in it twice? Merge "
            "each list once": np.array_equal(found == 0, right == 0),
            f"there is nothing at the places {missing.tolist()}": len(missing),
            f"place {first} holds {found[first]:g}, and {right[first]:g} is right": True,
        }
        if not (ascending and places <= set(indices) and np.array_equal(found, right)):
            refuse_if(f"{call}: on rank {rank} ", cases)


def _pair(call: str, rank: int, result: object) -> Lists:
    wanted = f"{call}: return two arrays, (indices, values), on every rank"
    if result is None:
        raise Wrong(f"{wanted}; rank {rank} returns None, and what was given cannot grow.")
    pair = arrays(result, ("the indices", "the values"), wanted)
    indices, values = np.asarray(several(result, 2, wanted)[0]), pair[1]
    whole = indices.dtype.kind in "iu" or not len(indices)
    cases = {
        "no (indices, values): first whole numbers": (
            indices.ndim != 1 or values.ndim != 1 or not whole
        ),
        f"{len(values)} values for {len(indices)} indices": len(values) != len(indices),
        f"the place {indices.max(initial=0)}, which nobody sent": (
            indices.min(initial=0) < 0 or indices.max(initial=0) >= SIZE
        ),
    }
    refuse_if(f"{call}: rank {rank} returns ", cases)
    return indices.astype(int), values


def _dense(indices: np.ndarray, values: np.ndarray) -> np.ndarray:
    vector = np.zeros(SIZE)
    vector[indices] = values
    return vector
