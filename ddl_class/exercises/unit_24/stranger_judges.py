"""The judges of unit 24 without a centre: pairs, workers that join, and workers that lie."""

from functools import partial

import numpy as np

from ddl_class.exercises.kit import Attempt, Wrong, ask, held, ranks, run_ranks, texts
from ddl_class.exercises.kit.answers import array, not_none
from ddl_teach.theory.byzantine import most_liars

PAIR, JOINER, MEDIAN, BEARS, REPLAY = texts(
    __package__, "pair", "joiner", "median", "bears", "replay"
)


def judge_pair(attempt: Attempt) -> None:
    """The outer step of two workers."""
    for count in [count + count % 2 for count in attempt.counts]:
        x = attempt.generator.standard_normal((count, 3, 4))
        given = [(*x[rank], rank ^ 1, 0.5) for rank in range(count)]
        call, outcome = run_ranks(attempt, PAIR, given)
        for rank, (_, slow, _, *_) in enumerate(outcome.arguments):
            mine, theirs = x[rank], x[rank ^ 1]
            change = (mine[0] - mine[1] + theirs[0] - theirs[1]) / 2 + 0.5 * mine[2]
            right = change + (mine[1] + theirs[1]) / 2
            held(PAIR, call, rank, slow, right).compare(
                untouched=mine[1],
                no_pull=mine[1] + change,
                theirs=theirs[0] - theirs[1] + 0.5 * mine[2] + theirs[1],
            )


def judge_joiner(attempt: Attempt) -> None:
    """One rank takes weights and velocity of another."""
    for count in attempt.counts:
        x = attempt.generator.standard_normal((count, 2, 5))
        giver, joiner = attempt.generator.permutation(count)[:2].tolist()
        given = [(row, giver, joiner) for row in x]
        call, outcome = run_ranks(attempt, JOINER, given, giver=giver, joiner=joiner)
        right = x.copy()
        right[joiner] = x[giver]
        for rank, (state, *_) in enumerate(outcome.arguments):
            held(JOINER, call, rank, state, right[rank]).compare(
                untouched=x[rank],
                weights_only=np.stack((x[giver][0], x[rank][1])),
                all_take=x[giver],
            )
        enough = [int(rank == giver) for rank in range(count)]
        ranks.judge_sent(call, outcome, enough, JOINER("too_many"))


def judge_median(attempt: Attempt) -> None:
    """The median of each coordinate."""
    for workers in (5, 4, 1):
        rows = attempt.generator.standard_normal((workers, 6))
        ask(attempt, MEDIAN, (rows,), np.median(rows, 0), read=array).compare(
            mean=rows.mean(0),
            along_rows=np.median(rows, 1),
            one_number=np.median(rows),
            upper=np.sort(rows, 0)[workers // 2],
            not_sorted=rows[workers // 2],
        )


def judge_bears(attempt: Attempt) -> None:
    """How many liars the median bears."""
    for workers in (2, 3, 4, 8, 101):
        right = most_liars("median", workers)
        ask(attempt, BEARS, (workers,), right).compare(
            half=workers // 2, a_part=(workers - 1) / 2, krum=(workers - 3) // 2
        )


def judge_replay(attempt: Attempt) -> None:
    """A change is what the worker's steps give, to the last bit."""

    def gradient(weights: np.ndarray, worker: int, workers: int, step: int) -> np.ndarray:
        return np.asarray(np.sin(weights * (1 + worker)) + np.cos(step + np.arange(4.0)) / workers)

    def replayed(weights: np.ndarray, worker: int, steps: range) -> np.ndarray:
        mine = weights.copy()
        for step in steps:
            mine -= 0.1 * gradient(mine, worker, 5, step)
        return np.asarray(mine - weights)

    weights, steps = attempt.generator.standard_normal(4), range(24, 32)
    of = partial(replayed, weights)
    honest = of(2, steps)
    last_bit = honest.copy()
    last_bit[3] = np.nextafter(honest[3], 9.0)
    claims = {
        "honest": honest, "opposite": -honest, "other_data": of(3, steps),
        "first_steps": of(2, range(8)), "lazy": of(2, steps[:-1]), "last_bit": last_bit,
    }  # fmt: skip
    for name, claimed in claims.items():
        result = attempt.call(claimed, weights.copy(), gradient, 0.1, 2, 5, steps)
        if bool(not_none(result, REPLAY("wanted"))) != (name == "honest"):
            raise Wrong(REPLAY(name))
