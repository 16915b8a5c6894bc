"""The judges of unit 23 on collectives: the parents of two trees, the bytes of a host around a
switch that adds, the fastest protocol, and a switch that adds."""

from ddl_class.exercises.exercise import Attempt, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array, number
from ddl_class.exercises.kit.compare import compare
from ddl_class.exercises.kit.texts import texts
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
            usual = PARENTS.each(
                first_tree=parent(rank, count) if rank else -1,
                not_back=mirrored,
            )
            result = number(attempt.call(rank, count), PARENTS("wanted"))
            call = PARENTS("call", rank=rank, ranks=count)
            compare(call, result, count - 1 - mirrored, usual, PARENTS("otherwise"))


def judge_bytes(attempt: Attempt) -> None:
    """How many times fewer bytes a host sends if the switch adds."""
    for count in (2, 3, 8, 100):
        right = 2 * (count - 1) / count
        usual = BYTES.each(upside_down=1 / right, one_way=right / 2, all_ranks=right * count)
        result = number(attempt.call(count), BYTES("wanted"))
        compare(BYTES("call", ranks=count), result, right, usual, BYTES("otherwise"))


def judge_protocol(attempt: Attempt) -> None:
    """The seconds of a ring by a protocol."""
    for count, nbytes in ((2, 1e3), (8, 1e6), (64, 1e9)):
        for name, protocol in nccl.PROTOCOLS.items():
            given = count, nbytes, 25e9, protocol.latency, protocol.fraction
            steps, whole = 2 * (count - 1), nbytes / 25e9
            usual = PROTOCOL.each(
                times_fraction=steps * (given[3] + whole / count * given[4]),
                latency_once=given[3] + steps * whole / count / given[4],
                whole_vector=steps * (given[3] + whole / given[4]),
            )
            right = collectives.ring(count, nbytes, protocol.link(25e9))
            result = number(attempt.call(*given), PROTOCOL("wanted"))
            call = PROTOCOL("call", name=name, ranks=count, nbytes=nbytes)
            compare(call, result, right, usual, PROTOCOL("otherwise"))


def judge_switch(attempt: Attempt) -> None:
    """The last rank adds up the vectors of the others and gives back the sum."""
    for count in attempt.counts:
        x = attempt.generator.standard_normal((count, 6))
        x[-1] = 0
        call = SWITCH("call", ranks=ranks_text(count))
        given = [(row.copy(),) for row in x]
        outcome = ranks.run(attempt, count, given, call, ranks.general(SWITCH("advice")))
        for rank, (mine,) in enumerate(outcome.arguments[:-1]):
            setting = SWITCH("x", call=call, rank=rank)
            usual = SWITCH.each(untouched=x[rank], last_only=x[-2])
            compare(setting, array(mine, setting), x.sum(0), usual, SWITCH("otherwise"))
        limits = [x[0].nbytes] * (count - 1) + [x[0].nbytes * (count - 1)]
        ranks.judge_sent(call, outcome, limits, SWITCH("too_many"), of="bytes")
