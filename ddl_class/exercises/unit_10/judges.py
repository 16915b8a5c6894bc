"""The judges of unit 10: how long ranks idle, two orders of passes, a message-driven worker.

An order is judged by what it leads to. A thousand simulated seconds tell whether the ranks wait
too long, and what they keep meanwhile; so other orders that are as good are right as well.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import items, not_none, number
from ddl_class.exercises.kit.compare import compare, first_case, refuse_if, within
from ddl_class.exercises.kit.ranks import HOUR
from ddl_measure.experiments.pipelines.phantom_stage import timed
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import simulate
from ddl_teach.networks.pipelines.messages import written
from ddl_teach.networks.pipelines.schedule import Schedule
from ddl_teach.networks.pipelines.validator import InvalidSchedule, validate
from ddl_teach.theory import pipelines

FREE = Uniform(latency=0.0, bandwidth=math.inf)
PIPELINES = ((1, 3), (2, 1), (2, 4), (3, 5), (4, 8), (4, 2), (6, 7))  # ranks, micro-batches


def judge_idle(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The share of (P - 1) / (m + P - 1)."""
    for count, parts in ((4, 8), (1, 5), (8, 1), *generator.integers(2, 40, (6, 2)).tolist()):
        right = (count - 1) / (parts + count - 1)
        call = f"idle_share({count}, {parts})"
        said = number(
            stage.call(count, parts), f"{call}: return one number, the share of the time"
        )
        usual = {
            "That is idle time divided by work; divide by the whole time": (count - 1) / parts,
            "The first rank waits for nobody: P - 1, not P": count / (parts + count),
            "That is the share in which a rank is busy": parts / (parts + count - 1),
            "That is in per cent; a share is between 0 and 1": 100 * right,
            "That is the number of idle turns; divide by the number of all turns": count - 1,
        }
        otherwise = "Count turns of one forward and one backward: m of work, and all of them"
        compare(call, said, right, usual, otherwise, within(1e-6, 1e-12))


def judge_gpipe(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """All forward, then all backward."""
    for count, parts in PIPELINES:
        schedule, orders = _schedule(stage, count, parts)
        for rank, words in enumerate(orders):
            kinds = "".join(word[0] for word in words)
            if kinds != "F" * parts + "B" * parts:
                early = words[kinds.index("B")]
                raise Wrong(
                    f"{_call(rank, count, parts)}: {early} comes before the last forward pass. In "
                    "GPipe all micro-batches go forward before the first goes backward.\n\n"
                    f"  {' '.join(words)}"
                )
        _judge_time(schedule, pipelines.gpipe(count, parts, 1.0, 2.0))


def judge_one_f_one_b(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """GPipe's time with the activations of at most P - r micro-batches."""
    for count, parts in PIPELINES:
        schedule, orders = _schedule(stage, count, parts)
        wanted = pipelines.one_f_one_b(count, parts, 1.0, 2.0)
        for rank, words in enumerate(orders):
            most = int(np.cumsum([1 if word[0] == "F" else -1 for word in words]).max())
            if most > wanted.peak[rank]:
                raise Wrong(
                    f"{_call(rank, count, parts)} keeps the activations of {most} micro-batches "
                    f"at once, where {wanted.peak[rank]} are enough: rank r runs only "
                    "ranks - 1 - r micro-batches ahead, as many as there are ranks behind it.\n\n"
                    f"  {' '.join(words)}"
                )
        _judge_time(schedule, wanted)


def _judge_time(schedule: Schedule, wanted: pipelines.PipelineStep) -> None:
    took = simulate(timed, schedule.ranks, network=FREE, trace=False, schedule=schedule).time
    if took > wanted.time:
        raise Wrong(
            f"{schedule.ranks} ranks, {schedule.micro_batches} micro-batches, 1 second forward "
            f"and 2 backward: yours takes {took:g} seconds, where {wanted.time:g} are enough. "
            "Some rank waits although there is something to do: draw it, look for the white.\n\n"
            f"{schedule}"
        )


def _schedule(stage: ProgramRunner, count: int, parts: int) -> tuple[Schedule, list[list[str]]]:
    """The learner's orders for all ranks, as words and as a schedule that can be carried out."""
    orders = [_words(stage, rank, count, parts) for rank in range(count)]
    schedule = written("yours", orders)
    try:
        validate(schedule)
    except InvalidSchedule as refusal:
        raise Wrong(
            f"with {count} ranks and {parts} micro-batches your orders cannot be carried out: "
            f"{refusal}\n\n{schedule}\n\n(1RA0 reads: stage 1 receives the activation of "
            "micro-batch 0; SA sends it, RG and SG are the same for gradients.)"
        ) from refusal
    return schedule, orders


def _words(stage: ProgramRunner, rank: int, count: int, parts: int) -> list[str]:
    call, wanted = _call(rank, count, parts), "return a list of words such as ['F0', 'B0']"
    words = items(stage.call(rank, count, parts), f"{call}: {wanted}", _word)
    each, last = Counter(f"{kind}{part}" for kind in "FB" for part in range(parts)), parts - 1
    strange = [word for word in words if word not in each]
    missing = list((each - Counter(words)).elements())
    twice = list((Counter(words) - each).elements())
    cases = {
        f"says {next(iter(strange), '')!r}: with {parts} micro-batches there are F0 to F{last} "
        f"and B0 to B{last}": strange,
        f"never does {''.join(missing[:1])}. Each micro-batch goes forward once and backward "
        "once": missing,
        f"does {''.join(twice[:1])} twice": twice,
    }
    if refusal := first_case(cases):
        raise Wrong(f"{call} {refusal}\n\n  {' '.join(words)}")
    return words


def _word(word: Any) -> str:
    """A pass, or `ValueError` of what is none, such as a letter of a text."""
    if not re.fullmatch(r"[FB]\d+", word):
        raise ValueError
    return str(word)


def _call(rank: int, count: int, parts: int) -> str:
    return f"rank {rank} of {count} with {parts} micro-batches"


# -- the message-driven worker ---------------------------------------------------------------


def judge_message_driven(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The gradients are right, the ledger shows one message each, and the limit is kept."""
    for count in counts:
        for parts, limit in ((5, 1), (7, 3), (4, 4)):
            weights = generator.uniform(0.5, 1.5, count)
            inputs = generator.standard_normal((parts, 3))
            arguments = [(float(weight), inputs, limit) for weight in weights]
            call = f"message_driven on {count} ranks, {parts} micro-batches, in_flight={limit}"
            outcome = ranks.run(stage, count, arguments, call, CAUSES, Uniform(HOUR, 1e12))
            _judge_messages(outcome, parts, call)
            _judge_gradients(outcome, weights, inputs, call)
            # Where only the latency takes time, a round trip lets `limit` micro-batches through.
            around, right = 2 * (count - 1) * HOUR, -(-parts // limit)
            rounds = outcome.time / around if around else right
            cases = {
                f"all were through after {rounds:.3g} round trips, so more than {limit} were on "
                "their way at once. Rank 0 may let in another one only while entered - returned "
                "< in_flight": rounds < right - 0.01,
                f"it took {rounds:.3g} round trips, where {right} are enough. Somebody waits for "
                "one particular message although another has arrived, or rank 0 lets in fewer "
                "than it may": rounds > right + 0.01,
            }
            if rounds >= 1:  # of real ranks no message takes an hour
                refuse_if(f"{call}: ", cases)


CAUSES: ranks.Causes = {
    "Two neighbours send to each other, and each waits until the other receives: an "
    "activation goes up while a gradient comes down. Begin to send with comm.isend, and wait "
    "for the sends at the end.": ranks.some_send,
}


def _judge_messages(outcome: ProgramOutcome, parts: int, call: str) -> None:
    last = len(outcome.ledger) - 1
    for rank, own in enumerate(outcome.ledger):
        sent = Counter(message.peer for message in ranks.sent(own))
        wanted = {peer: parts for peer in (rank - 1, rank + 1) if 0 <= peer <= last}
        if dict(sent) != wanted:
            told = ", ".join(f"{many} to rank {peer}" for peer, many in sorted(sent.items()))
            raise Wrong(
                f"{call}: rank {rank} sent {told or 'nothing'}. For each micro-batch it sends one "
                "activation to the next rank and one gradient to the rank before, where these "
                "exist."
            )


def _judge_gradients(
    outcome: ProgramOutcome, weights: np.ndarray, inputs: np.ndarray, call: str
) -> None:
    """d/dw_r of the sum of |y|^2 / 2, with y the product of all weights times x."""
    product = float(np.prod(weights))
    energy = float((inputs**2).sum())
    for rank, said in enumerate(outcome.results):
        not_none(said, f"{call}: return the gradient of the weight of rank {rank}")
        right = product * product * energy / weights[rank]
        number = np.asarray(said)
        if number.size != 1 or number.dtype.kind != "f" or not np.isclose(number, right, atol=0):
            raise Wrong(
                f"{call}: rank {rank} returned {str(said)[:40]}, where {right:.6g} is right. Its "
                "gradient is the sum over all micro-batches of (gradient of the output) · (input "
                "of the same micro-batch). Two things go wrong easily: what has been received is "
                "overwritten by the next message unless you keep a copy; and gradients come back "
                "in the order in which the inputs came, so the oldest input is the one to take."
            )
