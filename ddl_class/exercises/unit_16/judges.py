"""The judges of unit 16: top-k, one bit, random levels; a sum of sparse lists.

What is right stands here as functions, which take the learner's place in a notebook until theirs
are right.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, ProgramOutcome, Wrong, ranks, texts
from ddl_class.exercises.kit.answers import array, arrays, number, numbers, several
from ddl_class.exercises.kit.asked import ask, run_ranks
from ddl_class.exercises.kit.compare import AnyOf, compare, shown, within
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm

EACH, TOP_K, ONE_BIT, QUANTISE, SPARSE = texts(
    __package__, "", "top_k", "one_bit", "quantise", "sparse_sum"
)
CLOSE = 1e-6
SAME = within(CLOSE, 1e-8)


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
    """The vector's length, and its entries as whole numbers; `levels` stands for that length."""
    length = float(np.linalg.norm(vector))
    return length, np.sign(vector) * np.floor(levels * np.abs(vector) / (length or 1) + draws)


def judge_top_k(attempt: Attempt) -> None:
    """The k entries of largest magnitude, by ascending place."""
    names = "indices", "values"
    for size, k in ((8, 3), (8, 1), (5, 5), (1, 1), (40, 12), (200, 2)):
        vector = attempt.generator.permutation(np.linspace(-1, 1.3, size) + 1e-3)
        order = np.argsort(np.abs(vector))
        chosen = np.sort(order[size - k :])
        right = [chosen, vector[chosen]]
        answer = ask(attempt, TOP_K, (vector, k), right, same=SAME, names=names, read=arrays)
        if SAME(answer.result, right):
            continue
        places, values = answer.result
        call = answer.setting
        TOP_K.refuse_if({"call": call, "found": len(places), "k": k}, many=len(places) != k)
        if SAME(np.sort(places), chosen) and SAME(values, vector[places.astype(int)]):
            raise Wrong(TOP_K("order", call=call, found=shown(places)))
        largest, smallest = np.sort(np.argsort(vector)[size - k :]), np.sort(order[:k])
        answer.compare(
            swapped=right[::-1],
            no_signs=[chosen, np.abs(vector[chosen])],
            largest=[largest, vector[largest]],
            smallest=[smallest, vector[smallest]],
        )


def judge_one_bit(attempt: Attempt) -> None:
    """Packed signs and two means."""
    names = ("the mean of those that are not negative", "the mean of those that are negative")
    for size in (8, 16, 13, 1, 64):
        vector = attempt.generator.standard_normal(size)
        if size == 8:
            vector = np.array([1.0, -2.0, 0.0, 3.0, -4.0, 5.0, -6.0, 8.0])
        if size == 16:
            vector = -np.abs(vector) - 0.1  # nothing above
        call = ONE_BIT("call", vector=shown(vector))
        wanted = ONE_BIT("wanted", call=call)
        bits, *each = several(attempt.call(vector), 3, wanted)
        bits, above = array(bits, f"{wanted}: the bits are numbers"), vector >= 0
        right_bits, *means = packed_signs(vector)
        usual = ONE_BIT.each(
            {"size": size, "enough": len(right_bits)},
            unpacked=AnyOf(above, vector > 0),
            inverted=np.packbits(~above),
            zero=np.packbits(vector > 0),
            bit_order=np.packbits(above, bitorder="little"),
        )
        compare(f"{call}: packing the bits", bits, right_bits, usual, same=SAME)
        result = numbers(each, names, wanted, finite=False)
        ONE_BIT.refuse_if({"call": call}, no_entries=np.isnan(result).any())
        length = np.abs(vector).mean()
        means_usual = ONE_BIT.each(
            magnitudes=[means[0], -means[1]],
            swapped=means[::-1],
            one_mean=[length, -length],
            whole_length=[vector[above].sum() / size, vector[~above].sum() / size],
            extremes=[vector.max(), vector.min()],
        )
        compare(call, result, means, means_usual, EACH("otherwise"), SAME)


def judge_quantise(attempt: Attempt) -> None:
    """Levels drawn so that their expectation is the vector."""
    for size, levels in ((12, 4), (5, 1), (3, 3), (64, 7), (1, 2)):
        vector = np.zeros(3) if size == 3 else attempt.generator.standard_normal(size)
        draws = attempt.generator.random(size)
        call = QUANTISE("call", vector=shown(vector), levels=levels)
        wanted = QUANTISE("wanted", call=call)
        length, result = several(attempt.call(vector, levels, draws), 2, wanted)
        length = number(length, wanted, finite=False, part="the length of the vector")
        result = array(result, f"{wanted}: the second are numbers")
        QUANTISE.refuse_if({"call": call}, zeros=np.isnan(length) or np.isnan(result).any())
        right, whole = drawn_levels(vector, levels, draws)
        others = QUANTISE.each(largest=np.abs(vector).max(), counted=len(vector))
        compare(f"{call}: measuring the vector", length, right, others, same=within(CLOSE))
        sign, magnitudes = np.sign(vector), levels * np.abs(vector) / (right or 1)
        usual = QUANTISE.each(
            no_signs=np.floor(magnitudes + draws),
            nearest=sign * np.round(magnitudes),
            down=sign * np.floor(magnitudes),
            up=sign * np.ceil(magnitudes),
            multiplied=whole * right / levels,
            not_whole=sign * (magnitudes + draws),
            floor_below=np.floor(sign * magnitudes + draws),
            undivided=sign * np.floor(np.abs(vector) * levels + draws),
        )
        compare(call, result, whole, usual, EACH("otherwise"), SAME)


def outer_product(comm: Comm, matrix: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """A step of PowerSGD of rank 1, which takes the learner's place until theirs is right."""
    left = matrix @ guess
    ring.allreduce(comm, left)
    left /= np.linalg.norm(left)
    right = matrix.T @ left
    ring.allreduce(comm, right)
    return np.outer(left, right / comm.size)


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


def judge_sparse_sum(attempt: Attempt) -> None:
    """The entries of the sum on every rank, in few messages."""
    draw = attempt.generator
    for count in ranks.first(3, attempt.counts):
        for alike in (True, False):
            # First equally many, so that other mistakes show; then as in life.
            entries = [5] * count if alike else draw.permutation(np.arange(count) % 4 * 2).tolist()
            places = [np.sort(draw.choice(SIZE, many, replace=False)) for many in entries]
            # Whole numbers, so that sums are exact.
            given = [(own, draw.integers(1, 50, len(own)).astype(float)) for own in places]
            call, outcome = run_ranks(attempt, SPARSE, given, CAUSES, entries=entries)
            _judge_lists(call, outcome, given)
            steps = count.bit_length() - 1
            advice = SPARSE("advice", messages=MESSAGES, steps=steps)
            ranks.judge_sent(call, outcome, [MESSAGES * steps] * count, advice)


CAUSES = SPARSE.each(room=ranks.mismatch, no_rank=ranks.no_such_rank)


def _judge_lists(call: str, outcome: ProgramOutcome, given: Sequence[Lists]) -> None:
    dense = np.array([_dense(*own) for own in given])
    places = set(np.concatenate([indices for indices, _ in given]))
    right, partners = dense.sum(axis=0), 2 ** np.arange(len(dense).bit_length() - 1)
    for rank, result in enumerate(outcome.results):
        indices, values = _pair(call, rank, result)
        dense_sum = _dense(indices, values)
        ascending = list(indices) == sorted(set(indices))
        if ascending and places <= set(indices) and np.array_equal(dense_sum, right):
            continue
        own, missing = dense[rank], np.flatnonzero((right != 0) & (dense_sum == 0)).tolist()
        place = int((dense_sum != right).argmax())
        heard = own + dense[rank ^ partners].sum(axis=0)
        described = {"call": call, "rank": rank, "place": place, "missing": missing}
        SPARSE.refuse_if(
            described | {"found": dense_sum[place], "right": right[place]},
            disordered=not ascending,
            own=len(dense) > 1 and np.array_equal(dense_sum, own),
            two=len(dense) > 2 and np.array_equal(dense_sum, own + dense[rank ^ 1]),
            partners=len(dense) > 2 and np.array_equal(dense_sum, heard),
            twice=np.array_equal(dense_sum == 0, right == 0),
            missing=missing,
            wrong=True,
        )


def _pair(call: str, rank: int, result: object) -> Lists:
    wanted = SPARSE("wanted", call=call)
    SPARSE.refuse_if({"wanted": wanted, "rank": rank}, returns_none=result is None)
    pair = arrays(result, ("the indices", "the values"), wanted)
    indices, values = np.asarray(several(result, 2, wanted)[0]), pair[1]
    whole = indices.dtype.kind in "iu" or not len(indices)
    most = indices.max(initial=0)
    lengths = {"values": len(values), "indices": len(indices)}
    SPARSE.refuse_if(
        {"call": call, "rank": rank, "place": most, **lengths},
        no_pair=indices.ndim != 1 or values.ndim != 1 or not whole,
        unequal=len(values) != len(indices),
        stranger=indices.min(initial=0) < 0 or most >= SIZE,
    )
    return indices.astype(int), values


def _dense(indices: np.ndarray, values: np.ndarray) -> np.ndarray:
    vector = np.zeros(SIZE)
    vector[indices] = values
    return vector
