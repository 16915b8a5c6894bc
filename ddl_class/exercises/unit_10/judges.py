"""The judges of unit 10: three orders of passes, a message-driven worker, and a schedule of one's
own.

An order is judged by what it leads to. A thousand simulated seconds show whether the ranks wait
too long, and what they keep meanwhile; so other orders that are as good are right as well.
"""

import math
import re
from collections import Counter
from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, Wrong, ranks, run_ranks, texts
from ddl_class.exercises.kit.answers import items, not_none, several
from ddl_class.exercises.kit.ranks import HOUR
from ddl_measure.experiments.pipelines import PassSeconds, timed
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import simulate
from ddl_teach.networks.pipelines.cells import written
from ddl_teach.networks.pipelines.schedule import Schedule
from ddl_teach.networks.pipelines.validator import InvalidSchedule, validate
from ddl_teach.networks.pipelines.zero_bubble import zero_bubble
from ddl_teach.theory import pipelines

ORDERS, GPIPE, ONE_F_ONE_B, DRIVEN, HALVES, OWN = texts(
    __package__, "", "gpipe", "one_f_one_b", "message_driven", "zero_bubble", "schedule"
)
FREE = Uniform(latency=0.0, bandwidth=math.inf)
PIPELINES = ((1, 3), (2, 1), (2, 4), (3, 5), (4, 8), (4, 2), (6, 7))  # ranks, micro-batches


def judge_gpipe(attempt: Attempt) -> None:
    """All forward, then all backward."""
    for count, parts in _pipelines(attempt):
        schedule, orders = _schedule(attempt, count, parts)
        for rank, words in enumerate(orders):
            kinds = _kinds(words)
            if kinds != "F" * parts + "B" * parts:
                call, early = _call(rank, count, parts), words[kinds.index("B")]
                raise Wrong(f"{GPIPE('early', call=call, word=early)}\n\n  {' '.join(words)}")
        _judge_time(schedule, pipelines.gpipe(count, parts, 1.0, 2.0))


def judge_one_f_one_b(attempt: Attempt) -> None:
    """GPipe's time with the activations of at most P - r micro-batches."""
    for count, parts in _pipelines(attempt):
        schedule, orders = _schedule(attempt, count, parts)
        wanted = pipelines.one_f_one_b(count, parts, 1.0, 2.0)
        for rank, words in enumerate(orders):
            most = int(np.cumsum([1 if word[0] == "F" else -1 for word in words]).max())
            if most > (enough := wanted.peak[rank]):
                call = _call(rank, count, parts)
                refusal = ONE_F_ONE_B("too_many", call=call, most=most, enough=enough)
                raise Wrong(f"{refusal}\n\n  {' '.join(words)}")
        _judge_time(schedule, wanted)


def judge_zero_bubble(attempt: Attempt) -> None:
    """The time of H1, and on no rank the activations of more than P micro-batches."""
    for count, parts in _pipelines(attempt):
        schedule, orders = _schedule(attempt, count, parts, "FIW")
        for rank, words in enumerate(orders):
            change = {"F": 1, "I": 0, "W": -1}
            most = int(np.cumsum([change[word[0]] for word in words]).max())
            if most > count:
                values = {"call": _call(rank, count, parts), "most": most, "ranks": count}
                raise Wrong(f"{HALVES('too_many', **values)}\n\n  {' '.join(words)}")
        took, wanted = (_time(each) for each in (schedule, zero_bubble(count, parts)))
        at_once = all(re.fullmatch(r"(F|IW)*", _kinds(words)) for words in orders)
        values = {"ranks": count, "parts": parts, "took": took, "wanted": wanted}
        values |= {"why": HALVES("at_once" if at_once else "too_soon")}
        if took > wanted:
            raise Wrong(f"{HALVES('waits', **values)}\n\n{schedule}")


def _pipelines(attempt: Attempt) -> list[tuple[int, ...]]:
    """Some pipelines, and one that is drawn."""
    return [*PIPELINES, tuple(attempt.generator.integers((5, 9), (8, 16)).tolist())]


def _judge_time(schedule: Schedule, wanted: pipelines.PipelineStep) -> None:
    if (took := _time(schedule)) > wanted.time:
        refusal = ORDERS("slow", schedule=schedule, took=took, wanted=wanted.time)
        raise Wrong(f"{refusal}\n\n{schedule}")


def _time(schedule: Schedule) -> float:
    return simulate(timed, schedule.ranks, network=FREE, trace=False, schedule=schedule).time


def _kinds(words: list[str]) -> str:
    return "".join(word[0] for word in words)


def _schedule(
    attempt: Attempt, count: int, parts: int, kinds: str = "FB"
) -> tuple[Schedule, list[list[str]]]:
    """The learner's orders for all ranks, as words and as a schedule that can be carried out."""
    orders = [_words(attempt, rank, count, parts, kinds) for rank in range(count)]
    schedule = written("yours", orders)
    try:
        validate(schedule)
    except InvalidSchedule as error:
        refusal = ORDERS("refused", ranks=count, parts=parts, refusal=error)
        raise Wrong(f"{refusal}\n\n{schedule}\n\n{ORDERS('reads')}") from error
    return schedule, orders


def _words(attempt: Attempt, rank: int, count: int, parts: int, kinds: str) -> list[str]:
    call = _call(rank, count, parts)
    example = [f"{kind}0" for kind in kinds]
    wanted = ORDERS("wanted", call=call, example=example)
    words = items(attempt.call(rank, count, parts), wanted, _word)
    each = Counter(f"{kind}{part}" for kind in kinds for part in range(parts))
    known = " and ".join(f"{kind}0 to {kind}{parts - 1}" for kind in kinds)
    for mistake, wrong in (
        ("strange", [word for word in words if word not in each]),
        ("missing", list((each - Counter(words)).elements())),
        ("twice", list((Counter(words) - each).elements())),
    ):
        if wrong:
            refusal = ORDERS(mistake, call=call, word=wrong[0], parts=parts, known=known)
            raise Wrong(f"{refusal}\n\n  {' '.join(words)}")
    return words


def _word(word: Any) -> str:
    """A pass, or `ValueError` of what is none, such as a letter of a text."""
    if not re.fullmatch(r"[FBIW]\d+", word):
        raise ValueError
    return str(word)


def _call(rank: int, count: int, parts: int) -> str:
    return ORDERS("call", rank=rank, ranks=count, parts=parts)


# -- the message-driven worker ---------------------------------------------------------------

CAUSES = DRIVEN.each(blocking=ranks.some_send)


def judge_message_driven(attempt: Attempt) -> None:
    """The gradients are right, the ledger shows one message each, and the limit is kept."""
    for count in attempt.counts:
        for parts, limit in ((5, 1), (7, 3), (4, 4)):
            weights = attempt.generator.uniform(0.5, 1.5, count)
            inputs = attempt.generator.standard_normal((parts, 3))
            arguments = [(float(weight), inputs, limit) for weight in weights]
            known = {"parts": parts, "limit": limit}
            slow = Uniform(HOUR, 1e12)
            call, outcome = run_ranks(attempt, DRIVEN, arguments, CAUSES, slow, **known)
            for rank, own in enumerate(outcome.ledger):
                sent = Counter(message.peer for message in ranks.sent(own))
                wanted = {peer: parts for peer in (rank - 1, rank + 1) if 0 <= peer < count}
                if dict(sent) != wanted:
                    each = (f"{many} to rank {peer}" for peer, many in sorted(sent.items()))
                    messages = ", ".join(each) or "nothing"
                    raise Wrong(DRIVEN("messages", call=call, rank=rank, messages=messages))
            # d/dw_r of the sum of |y|^2 / 2, with y the product of all weights times x.
            gradients = np.prod(weights) ** 2 * (inputs**2).sum() / weights
            for rank, (answer, right) in enumerate(zip(outcome.results, gradients, strict=True)):
                not_none(answer, DRIVEN("nothing", call=call, rank=rank))
                result = np.asarray(answer)
                is_number = result.size == 1 and result.dtype.kind == "f"
                if not (is_number and np.isclose(result, right, atol=0)):
                    values = {"rank": rank, "answer": str(answer)[:40], "right": right}
                    raise Wrong(DRIVEN("gradient", call=call, **values))
            # Where only the latency takes time, a round trip lets `limit` micro-batches through.
            around, right = 2 * (count - 1) * HOUR, -(-parts // limit)
            rounds = outcome.time / around if around else right
            if rounds >= 1:  # of real ranks no message takes an hour
                DRIVEN.refuse_if(
                    {"call": call, "rounds": rounds, "limit": limit, "right": right},
                    too_many=rounds < right - 0.01,
                    too_slow=rounds > right + 0.01,
                )


# -- a schedule of one's own -----------------------------------------------------------------

RANKS, LAYERS = 4, 8  # of the machine, and of the network
ROOM = 3  # a rank's memory: whole micro-batches, of which it keeps so many
SPARED = 3.0  # seconds less than 1F1B's


def judge_schedule(attempt: Attempt) -> None:
    """It can be carried out, no rank keeps more than there is room for, and the time is short."""
    for parts in (8, int(attempt.generator.integers(9, 17))):
        call = f"my_schedule({RANKS}, {parts})"
        schedule = _own_schedule(attempt.call(RANKS, parts), parts, call)
        a_rank = schedule.stages // RANKS
        costs = PassSeconds(1 / a_rank, 1 / a_rank, 1 / a_rank)
        run = simulate(timed, RANKS, network=FREE, trace=False, schedule=schedule, costs=costs)
        keeps = [passed.peak / a_rank for passed in run.results]
        fullest = keeps.index(max(keeps))
        goal = pipelines.one_f_one_b(RANKS, parts, 1.0, 2.0).time - SPARED
        values = {"call": call, "rank": fullest, "most": max(keeps), "room": ROOM}
        OWN.refuse_if(
            values | {"took": run.time, "goal": goal, "work": 3 * parts},
            too_much=max(keeps) > ROOM,
            too_slow=run.time > goal,
        )
        if parts == 8:
            attempt.note(run.time, OWN("holds", most=max(keeps), rank=fullest, room=ROOM))


def _own_schedule(answer: Any, parts: int, call: str) -> Schedule:
    """The schedule of these rows, if it can be carried out and does all that there is to do."""
    wanted = OWN("rows", call=call, ranks=RANKS)
    rows = [items(row, wanted, str) for row in several(answer, RANKS, wanted)]
    try:
        schedule = written("yours", rows)
    except ValueError as error:
        raise Wrong(OWN("unreadable", call=call, refusal=error)) from error
    if schedule.stages not in (RANKS, LAYERS):
        raise Wrong(OWN("stages", call=call, stages=schedule.stages, ranks=RANKS, layers=LAYERS))
    for rank in range(RANKS):
        _judge_passes(schedule, rank, parts, call)
    try:
        validate(schedule)
    except InvalidSchedule as error:
        raise Wrong(OWN("deadlock", call=call, refusal=error, reads=ORDERS("reads"))) from error
    return schedule


def _judge_passes(schedule: Schedule, rank: int, parts: int, call: str) -> None:
    """Each micro-batch goes once through each stage of the rank, there and back, in this order."""
    passes = schedule.computation(rank)
    texts = [str(word) for word in passes]
    for word, often in Counter(texts).items():
        OWN.refuse_if({"call": call, "rank": rank, "word": word}, twice=often > 1)
    OWN.refuse_if(
        {"call": call, "parts": parts, "rank": rank, "last": parts - 1},
        unknown=schedule.micro_batches > parts,
    )
    for _, stage in schedule.held_by(rank):
        for part in range(parts):
            at = {kind: f"{stage}{kind}{part}" for kind in "FBIW"}
            does = {kind for kind, word in at.items() if word in texts}
            values = {"call": call, "rank": rank, "stage": stage, "part": part} | at
            OWN.refuse_if(
                values,
                no_forward="F" not in does,
                no_backward=does == {"F"},
                both="B" in does and len(does) > 2,
                no_weights=does == {"F", "I"},
                no_input=does == {"F", "W"},
            )
            places = [texts.index(at[kind]) for kind in "FBIW" if kind in does]
            OWN.refuse_if(
                values, early=places[0] > places[1], weights_early=places[1] > places[-1]
            )
