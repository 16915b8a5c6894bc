"""The judges of unit 23 on few steps: a direct all-reduce, and the messages of shared trees."""

from ddl_class.exercises.exercise import Attempt, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array, items, whole
from ddl_class.exercises.kit.compare import compare
from ddl_class.exercises.kit.texts import texts

DIRECT, PAT = texts(__package__, "direct", "pat")


def judge_direct(attempt: Attempt) -> None:
    """The sum in two steps, with a chunk for each rank in each."""
    for count in attempt.counts:
        x = attempt.generator.standard_normal((count, 4 * count))
        call = DIRECT("call", ranks=ranks_text(count))
        given = [(row.copy(),) for row in x]
        outcome = ranks.run(attempt, count, given, call, ranks.general(DIRECT("advice")))
        for rank, (mine,) in enumerate(outcome.arguments):
            own = x[rank].copy()
            own[4 * rank : 4 * rank + 4] = x.sum(0)[4 * rank : 4 * rank + 4]
            setting = DIRECT("x", call=call, rank=rank)
            usual = DIRECT.each(untouched=x[rank], not_gathered=own)
            compare(setting, array(mine, setting), x.sum(0), usual, DIRECT("otherwise"))
        limits = [2 * (count - 1) * x[0].nbytes // count] * count
        ranks.judge_sent(call, outcome, limits, DIRECT("too_many"), of="bytes")
        for rank, ledger in enumerate(outcome.ledger):
            peers = {message.peer for message in ranks.sent(ledger)}
            DIRECT.refuse_if({"call": call, "rank": rank}, passed_on=len(peers) < count - 1)


def judge_pat(attempt: Attempt) -> None:
    """How far each message of an all-gather goes, and how many chunks are in it."""
    for count in (2, 4, 8, 64):
        powers = [2**k for k in range(count.bit_length() - 1)]
        right = list(zip(powers[::-1], powers, strict=True))
        usual = PAT.each(
            near_first=right[::-1],
            as_bruck=list(zip(powers, powers, strict=True)),
            one_chunk=[(distance, 1) for distance, _ in right],
        )
        steps = items(
            attempt.call(count), PAT("wanted"), lambda pair: tuple(whole(n) for n in pair)
        )
        compare(PAT("call", ranks=count), steps, right, usual, PAT("otherwise"))
