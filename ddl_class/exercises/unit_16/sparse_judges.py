"""The judge of unit 16's sparse all-reduce: lists of entries, added up on the way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import arrays, several
from ddl_teach.comm import Comm

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
            given = [_entries(generator, int(entries)) for entries in most]
            told = (
                f"sparse_sum on {ranks_text(count)} with {[len(own[0]) for own in given]} entries"
            )
            outcome = ranks.run(stage, count, given, told, CAUSES)
            _judge_lists(told, outcome, given)
            _judge_messages(told, outcome)


def _entries(generator: np.random.Generator, count: int) -> Lists:
    """Whole numbers, so that sums are exact, at ascending places."""
    places = np.sort(generator.choice(SIZE, count, replace=False))
    return places, generator.integers(1, 50, count).astype(float)


CAUSES: ranks.Causes = (
    (
        ranks.mismatch,
        "What arrives is not as long as the array that should take it. The others have more or "
        "fewer entries than you: send the number of them first, and make room for that many. "
        "Indices are whole numbers (int64), values are not (float64).",
    ),
    (
        ranks.no_such_rank,
        "A message is for a rank that does not exist: stop when the distance is comm.size.",
    ),
)


def _judge_lists(told: str, outcome: ProgramOutcome, given: Sequence[Lists]) -> None:
    dense = [_dense(*own) for own in given]
    places = np.unique(np.concatenate([indices for indices, _ in given]))
    right = np.sum(dense, axis=0)
    for rank, result in enumerate(outcome.results):
        indices, values = _pair(told, rank, result)
        if (np.diff(indices) < 1).any():
            raise Wrong(
                f"{told}: on rank {rank} the indices do not ascend, each once: merge adds two "
                "lists; np.concatenate only puts one after the other."
            )
        found = _dense(indices, values) if len(indices) == len(values) else None
        if found is not None and np.array_equal(found, right) and set(places) <= set(indices):
            continue
        raise Wrong(f"{told}: on rank {rank} {_why(rank, found, dense, right)}.")


def _why(rank: int, found: np.ndarray | None, dense: list[np.ndarray], right: np.ndarray) -> str:
    steps = len(dense).bit_length() - 1
    if found is None:
        return "there are not as many values as indices"
    if np.array_equal(found, dense[rank]):
        return "only its own entries come back: merge makes new arrays, so keep what it returns"
    if np.array_equal(found, dense[rank] + dense[rank ^ 1]):
        return (
            "the entries of two ranks are in it: after the neighbour comes the rank 2 away, then "
            "4, and what you swap is the sum so far"
        )
    if np.array_equal(found, sum(dense[rank ^ (1 << k)] for k in range(steps))
                      + dense[rank]):  # fmt: skip
        return (
            "it heard its partners' own entries only. In the second step each partner holds the "
            "sum of two ranks already: swap the sum so far, not what you began with"
        )
    if np.array_equal(found == 0, right == 0):
        return (
            "the places are right and the values are not: is somebody's part in it twice? Merge "
            "each list once"
        )
    missing = np.flatnonzero((right != 0) & (found == 0))
    if len(missing):
        return f"there is nothing at place {missing[0]}, where the sum is {right[missing[0]]:g}"
    first = int(np.flatnonzero(found != right)[0])
    return f"place {first} holds {found[first]:g}, and {right[first]:g} is right"


def _judge_messages(told: str, outcome: ProgramOutcome) -> None:
    steps = len(outcome.ledger).bit_length() - 1
    for rank, ledger in enumerate(outcome.ledger):
        if ledger.messages_sent > MESSAGES * steps:
            raise Wrong(
                f"{told}: the sums are right, but rank {rank} sent {ledger.messages_sent} "
                f"messages, where {steps} steps of {MESSAGES} suffice: swap the sum so far with "
                "the rank 1, 2, 4, ... away (comm.rank ^ distance)."
            )


def _pair(told: str, rank: int, result: object) -> Lists:
    wanted = f"{told}: return two arrays, (indices, values), on every rank"
    if result is None:
        raise Wrong(f"{wanted}; rank {rank} returns None, and what was given cannot grow.")
    pair = several(result, 2, wanted)
    arrays(pair, ("the indices", "the values"), wanted)
    indices, values = np.asarray(pair[0]), np.asarray(pair[1], float)
    whole = indices.dtype.kind in "iu" or not len(indices)
    if indices.ndim != 1 or values.ndim != 1 or not whole:
        raise Wrong(f"{told}: rank {rank} returns no (indices, values): first whole numbers.")
    if len(indices) and not 0 <= indices.min() <= indices.max() < SIZE:
        raise Wrong(f"{told}: rank {rank} returns the place {indices.max()}, which nobody sent.")
    return indices.astype(int), values


def _dense(indices: np.ndarray, values: np.ndarray) -> np.ndarray:
    vector = np.zeros(SIZE)
    vector[indices] = values
    return vector
