"""The judge of unit 16 for compressed gossip: copies of neighbours, and only changes travel."""

from collections.abc import Callable

import numpy as np

from ddl_class.exercises.kit import Attempt, compare, held, ranks, run_ranks, texts, within
from ddl_teach.comm import Comm

(CHANGES,) = texts(__package__, "changes")
SIZE, PULL = 30, 0.3
SAME = within(1e-6, 1e-9)

Form = Callable[[np.ndarray], np.ndarray]


def changed(
    comm: Comm, x: np.ndarray, known: np.ndarray, pull: float, compress: Form = np.round
) -> None:
    """The right answer, which takes the learner's place until theirs is right."""
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    change = compress(x - known[1])
    from_left, from_right = np.empty_like(x), np.empty_like(x)
    comm.sendrecv(change, right, from_left, left)
    comm.sendrecv(change, left, from_right, right)
    known += np.array([from_left, change, from_right])
    x += pull * (known.mean(axis=0) - known[1])


def judge_changes(attempt: Attempt) -> None:
    """A step on a ring: copies that all keep alike, and a pull towards them."""
    for count in attempt.counts:
        x = 3 * attempt.generator.standard_normal((count, SIZE))
        copies = x + 2 * attempt.generator.standard_normal((count, SIZE))
        known = _rows(copies)
        given = [(*own, PULL) for own in zip(x, known, strict=True)]
        call, outcome = run_ranks(attempt, CHANGES, given)
        new = _rows(np.round(x - copies)) + known
        for rank, (mine, rows, _) in enumerate(outcome.arguments):
            own = [[0], [1], [0]] * np.round(x - copies)[rank]
            held(CHANGES, call, rank, rows, new[rank], same=SAME).compare(
                untouched=known[rank],
                own_only=known[rank] + own,
                not_own=new[rank] - own,
                no_difference=known[rank] + _rows(np.round(x))[rank],
                replaced=new[rank] - known[rank],
                uncompressed=_rows(x)[rank],
                turned=new[rank][::-1],
            )
            before, mean, copy = x[rank], new[rank].mean(axis=0), new[rank][1]
            usual = CHANGES.each(
                still=before,
                to_own=before + PULL * (mean - before),
                all_of_it=before + (mean - copy),
                away=before - PULL * (mean - copy),
                summed=before + PULL * (new[rank].sum(axis=0) - copy),
            )
            vector, right = CHANGES("vector", call=call, rank=rank), before + PULL * (mean - copy)
            compare(vector, mine, right, usual, CHANGES("pull"), SAME)
        ranks.judge_sent(call, outcome, [2] * count, CHANGES("advice"))


def _rows(changes: np.ndarray) -> np.ndarray:
    """For each rank those of its left neighbour, its own and its right neighbour's."""
    return np.stack([np.roll(changes, 1, axis=0), changes, np.roll(changes, -1, axis=0)], axis=1)
