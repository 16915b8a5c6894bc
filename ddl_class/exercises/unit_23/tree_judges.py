"""The judges of unit 23 on collectives: the parents of two trees, the bytes of a host around a
switch that adds, the fastest protocol, a switch that adds; and an all-reduce in few steps."""

from typing import Any

from ddl_class.exercises.kit import Attempt, ask, held, items, ranks, run_ranks, texts, whole
from ddl_teach.plain.double_binary_tree import parent
from ddl_teach.theory import collectives, nccl

PARENTS, BYTES, PROTOCOL, SWITCH = texts(
    __package__, "parents", "switch_bytes", "protocol", "switch"
)


def judge_parents(attempt: Attempt) -> None:
    """The rank above in the second tree, of an even number of ranks."""
    for count in (4, 6, 8, 16):
        for rank in range(count - 1):
            mirrored = parent(count - 1 - rank, count)
            ask(attempt, PARENTS, (rank, count), count - 1 - mirrored).compare(
                first_tree=parent(rank, count) if rank else -1,
                not_back=mirrored,
            )


def judge_bytes(attempt: Attempt) -> None:
    """How many times fewer bytes a host sends if the switch adds."""
    for count in (2, 3, 8, 100):
        right = 2 * (count - 1) / count
        ask(attempt, BYTES, (count,), right).compare(
            upside_down=1 / right, one_way=right / 2, all_ranks=right * count
        )


def judge_protocol(attempt: Attempt) -> None:
    """The seconds of a ring by a protocol."""
    for count, nbytes in ((2, 1e3), (8, 1e6), (64, 1e9)):
        for name, protocol in nccl.PROTOCOLS.items():
            given = count, nbytes, 25e9, protocol.latency, protocol.fraction
            steps, whole = 2 * (count - 1), nbytes / 25e9
            right = collectives.ring(count, nbytes, protocol.link(25e9))
            ask(attempt, PROTOCOL, given, right, name=name).compare(
                times_fraction=steps * (given[3] + whole / count * given[4]),
                latency_once=given[3] + steps * whole / count / given[4],
                whole_vector=steps * (given[3] + whole / given[4]),
            )


def judge_switch(attempt: Attempt) -> None:
    """The last rank adds up the vectors of the others and gives back the sum."""
    for count in attempt.counts:
        x = attempt.generator.standard_normal((count, 6))
        x[-1] = 0
        call, outcome = run_ranks(attempt, SWITCH, [(row,) for row in x])
        for rank, (mine,) in enumerate(outcome.arguments[:-1]):
            held(SWITCH, call, rank, mine, x.sum(0)).compare(untouched=x[rank], last_only=x[-2])
        limits = [x[0].nbytes] * (count - 1) + [x[0].nbytes * (count - 1)]
        ranks.judge_sent(call, outcome, limits, SWITCH("too_many"), of="bytes")


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
