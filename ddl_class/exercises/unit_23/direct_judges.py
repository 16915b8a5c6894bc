"""The judges of unit 23 on few steps: a direct all-reduce, and the messages of shared trees."""

from typing import Any

from ddl_class.exercises.kit import Attempt, ask, held, items, ranks, run_ranks, texts, whole

DIRECT, PAT = texts(__package__, "direct", "pat")


def judge_direct(attempt: Attempt) -> None:
    """The sum in two steps, with a chunk for each rank in each."""
    for count in attempt.counts:
        x = attempt.generator.standard_normal((count, 4 * count))
        total = x.sum(0)
        call, outcome = run_ranks(attempt, DIRECT, [(row,) for row in x])
        for rank, (mine,) in enumerate(outcome.arguments):
            own, chunk = x[rank].copy(), slice(4 * rank, 4 * rank + 4)
            own[chunk] = total[chunk]
            held(DIRECT, call, rank, mine, total).compare(untouched=x[rank], not_gathered=own)
        limits = [2 * (count - 1) * x[0].nbytes // count] * count
        ranks.judge_sent(call, outcome, limits, DIRECT("too_many"), of="bytes")
        for rank, ledger in enumerate(outcome.ledger):
            peers = {message.peer for message in ranks.sent(ledger)}
            DIRECT.refuse_if({"call": call, "rank": rank}, passed_on=len(peers) < count - 1)


def judge_pat(attempt: Attempt) -> None:
    """How far each message of an all-gather goes, and how many chunks are in it."""

    def read(value: Any, wanted: str) -> list[tuple[int, ...]]:
        return items(value, wanted, lambda pair: tuple(map(whole, pair)))

    for count in (2, 4, 8, 64):
        powers = [2**k for k in range(count.bit_length() - 1)]
        right = list(zip(powers[::-1], powers, strict=True))
        ask(attempt, PAT, (count,), right, read=read).compare(
            near_first=right[::-1],
            as_bruck=list(zip(powers, powers, strict=True)),
            one_chunk=[(distance, 1) for distance, _ in right],
        )
