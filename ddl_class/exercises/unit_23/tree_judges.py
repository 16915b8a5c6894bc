"""The judges of unit 23 on collectives: the parents of two trees, the bytes of a host around a
switch that adds, the fastest protocol, and a switch that adds."""

from ddl_class.exercises.kit import Attempt, ask, held, ranks, run_ranks, texts
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
