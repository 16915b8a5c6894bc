"""The judges of the notebook beside unit 06: a list that all ranks sign, an all-gather and an
all-to-all, each in as many steps as the number of ranks has bits."""

from collections.abc import Sequence

import numpy as np

from ddl_class.exercises.kit import Attempt, ProgramOutcome, Texts, ranks, ranks_text, texts

LIST, GATHER, EXCHANGE = texts(__package__, "dissemination", "bruck", "all_to_all")


def judge_dissemination(attempt: Attempt) -> None:
    """Every rank has the numbers of all ranks, after log2(P) messages."""
    for count in ranks.first(4, attempt.counts):
        own = attempt.generator.integers(1, 1000, count).astype(float)
        given = np.diag(own)
        outcome = _run(attempt, LIST, [(row,) for row in given])
        for rank, (x,) in enumerate(outcome.arguments):
            known = np.count_nonzero(x)
            LIST.refuse_if(
                {"call": _call(LIST, count), "rank": rank, "known": known, "count": count},
                unchanged=count > 1 and np.array_equal(x, given[rank]),
                replaced=x[rank] == 0,
                missing=known < count and ((x == own) | (x == 0)).all(),
                added=(x > own).any() and (x % own == 0).all(),
                otherwise=not np.array_equal(x, own),
            )
        _judge_steps(LIST, outcome)


def judge_bruck(attempt: Attempt) -> None:
    """Every rank has all blocks, after log2(P) messages with P-1 blocks in all."""
    for count in ranks.first(4, attempt.counts):
        each = int(attempt.generator.integers(1, 6))
        own = attempt.generator.integers(1, 1000, (count, each)).astype(float)
        given = [(np.where(np.arange(count)[:, None] == rank, own, 0.0).ravel(),)
                 for rank in range(count)]  # fmt: skip
        outcome = _run(attempt, GATHER, given)
        for rank, (x,) in enumerate(outcome.arguments):
            GATHER.refuse_if(
                {"call": _call(GATHER, count), "rank": rank},
                unchanged=count > 1 and np.array_equal(x, given[rank][0]),
                misplaced=not np.array_equal(x, own.ravel()) and _same_numbers(x, own),
                otherwise=not np.array_equal(x, own.ravel()),
            )
        _judge_steps(GATHER, outcome)
        enough = [(count - 1) * 8 * each] * count
        ranks.judge_sent(_call(GATHER, count), outcome, enough, GATHER("fewer_bytes"), "bytes")


def judge_alltoall(attempt: Attempt) -> None:
    """Every rank has one block of every other, after log2(P) messages."""
    for count in ranks.first(4, attempt.counts):
        each = int(attempt.generator.integers(1, 6))
        own = attempt.generator.integers(1, 1000, (count, count, each)).astype(float)
        given = [(row.ravel(), np.zeros(count * each)) for row in own]
        outcome = _run(attempt, EXCHANGE, given)
        for rank, (x, out) in enumerate(outcome.arguments):
            right = own[:, rank].ravel()
            EXCHANGE.refuse_if(
                {"call": _call(EXCHANGE, count), "rank": rank},
                changed=not np.array_equal(x, given[rank][0]),
                not_sent=count > 1 and _same_numbers(out, own[rank]),
                misplaced=not np.array_equal(out, right) and _same_numbers(out, right),
                otherwise=not np.array_equal(out, right),
            )
        _judge_steps(EXCHANGE, outcome)
        enough = [8 * each * sum(map(int.bit_count, range(count)))] * count
        ranks.judge_sent(_call(EXCHANGE, count), outcome, enough, EXCHANGE("fewer_bytes"), "bytes")


def _call(words: Texts, count: int) -> str:
    return words("call", ranks=ranks_text(count))


def _run(
    attempt: Attempt, words: Texts, given: Sequence[tuple[np.ndarray, ...]]
) -> ProgramOutcome:
    causes = ranks.general(words("advice"))
    return ranks.run(attempt, len(given), given, _call(words, len(given)), causes)


def _judge_steps(words: Texts, outcome: ProgramOutcome) -> None:
    """Raise `Wrong` if a rank sent more messages than log2(P), rounded up."""
    count = len(outcome.ledger)
    enough = [(count - 1).bit_length()] * count
    ranks.judge_sent(_call(words, count), outcome, enough, words("fewer_steps"))


def _same_numbers(x: np.ndarray, right: np.ndarray) -> bool:
    """Whether the same numbers stand somewhere in both."""
    return np.array_equal(np.sort(x), np.sort(right.ravel()))
