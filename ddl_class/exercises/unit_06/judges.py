"""Judging all-reduce: the right sum on all ranks, and by the algorithm that was asked for.

The sum tells who was counted how often (see `sums`), the ledger which algorithm it was: how many
messages, to whom, how long.
"""

import math
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong
from ddl_class.exercises.kit import sums
from ddl_class.exercises.kit.answers import number
from ddl_class.exercises.kit.compare import compare, first_case, within
from ddl_class.exercises.kit.ranks import listed
from ddl_class.exercises.kit.sums import Parts
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_teach.theory.crossover import crossovers

SAME_CHUNK = (
    "If rank r sends chunk c, rank r + 1 must wait for chunk c in that very step: compare the two "
    "lines that say which chunk goes out and which comes in."
)
SAME_PART = (
    "Partners must agree on what travels: what one of them sends must be as long as what the "
    "other one has made room for."
)
OTHER = "The sum is right, but by another algorithm:"
RIGHT = {1: "chunks are", 2: "sum is"}  # after so many rounds of a ring


def judge_reduce_scatter(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Chunk r is complete on rank r, after P-1 steps round the ring."""
    for parts in sums.trials(generator, ranks):
        outcome = sums.run(stage, parts, SAME_CHUNK)
        counted = np.array([parts.counted(x) for x in sums.vectors_left(parts, outcome)])
        for rank in range(parts.ranks):
            own = parts.chunk(rank)
            if (counted[rank, own] != 1).any():
                usual = _explain_once_round(parts, counted)
                sums.refuse(parts, usual, counted[rank], rank, first=own.start)
        refuse_native(outcome)
        _follow_the_ring(parts, outcome, rounds=1)


def _explain_once_round(parts: Parts, counted: np.ndarray) -> str:
    count = parts.ranks
    for shift in range(1, count):
        chunks = [parts.chunk((rank + shift) % count) for rank in range(count)]
        if all((counted[rank, chunk] == 1).all() for rank, chunk in enumerate(chunks)):
            distance = min(shift, count - shift)
            return (
                f"Off by {'one chunk' if distance == 1 else f'{distance} chunks'}: every rank r "
                f"completes chunk (r + {shift}) % {count}, where it should be chunk r. Let each "
                "journey begin at another rank."
            )
    own = np.concatenate([counted[rank, parts.chunk(rank)] for rank in range(count)])
    alone = [counted[rank, parts.chunk(rank), rank] for rank in range(count)]
    cases = {
        SAME_CHUNK: (own < 0).any(),
        f"Chunk r never comes to rank r: {count} ranks need {count - 1} steps": all(
            (part == own[0].sum()).all() for part in alone
        ),
        "What arrives takes the place of what was there: add it instead": (
            count > 2 and (own.sum(axis=1) == 1).all()
        ),
    }
    return first_case(cases)


def judge_ring(stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """The sum on all ranks, after 2 (P-1) steps round the ring."""
    _judge(stage, generator, ranks, SAME_CHUNK, _explain_ring, _follow_the_ring)


def _explain_ring(parts: Parts, counted: np.ndarray) -> str:
    count, complete = parts.ranks, (counted == 1).all(axis=2)
    first_half = all(complete[rank, parts.chunk(rank)].all() for rank in range(count))
    reduced = _explain(parts, counted)
    spread = complete.sum(axis=0)  # how many ranks have an element; at the end all should
    cases = {
        SAME_CHUNK: (counted < 0).any(),
        "In the second half the chunks are finished: they replace what was there": (
            first_half and counted.max() > 1
        ),
        "The first half is right, the second is missing: each rank has one finished chunk": (
            first_half and (spread == 1).all()
        ),
        f"One chunk never arrives: the second half needs {count - 1} steps as well": (
            first_half and (spread == count - 1).all()
        ),
        reduced: reduced,
        "A chunk that was finished has been overwritten by one that was not: in its first step "
        "rank r must send the chunk that it has finished, chunk r": not first_half,
    }
    return first_case(cases)


def _follow_the_ring(parts: Parts, outcome: ProgramOutcome, rounds: int = 2) -> None:
    count, size, right = parts.ranks, parts.pattern.nbytes, f"The {RIGHT[rounds]} right, but"
    peers = [{message.peer for message in ledger.messages} for ledger in outcome.ledger]
    # A ring may turn either way.
    if not any(
        all(own <= {(rank + step) % count} for rank, own in enumerate(peers)) for step in (1, -1)
    ):
        rank = max(range(count), key=lambda rank: len(peers[rank]))
        raise Wrong(
            f"{right} not by a ring: rank {rank} sent to {listed(peers[rank])}, while in a ring "
            f"it only ever sends to its right neighbour.\n{parts.setting}."
        )
    steps = rounds * (count - 1)
    most, _, total, lengths = _sent(outcome)
    # Of vectors shorter than the ring some chunks are empty, and need not be sent.
    if total != steps * size or (most != steps and len(parts.pattern) >= count):
        needs = f"a ring needs {steps} messages a rank and {steps * size:,} bytes in all"
        why = "Whole vectors travel, where a chunk would do." if size in lengths else ""
        _refuse_other(parts, outcome, right, needs, why)


def judge_doubling(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """The sum on all ranks by swapping; where the count is no power of two, by folding first."""
    _judge(stage, generator, ranks, SAME_PART, _explain_doubling, _follow_the_doubling)


def _explain_doubling(parts: Parts, counted: np.ndarray) -> str:
    count = parts.ranks
    if (counted < 0).any():
        return SAME_PART
    flat = counted[:, 0]  # how often each part is in the vector of each rank
    core = 2 ** (count.bit_length() - 1)
    aside = flat[core:]
    if len(aside) and (flat[:core] == 1).all():
        return f"Ranks 0 to {core - 1} are right, but the others never get the result back."
    # Who folds into whom is the learner's choice; who is in no sum was not folded.
    lost = np.flatnonzero((flat[: count // 2] == 0).all(axis=0))
    if count > core and len(lost):
        return f"Nobody adds the vector of {listed(lost)}: it must be handed in before the swaps."
    if (flat.sum(axis=1) == 1).all():
        return "What arrives takes the place of what was there; it should be added to it."
    if count > 2 and flat.max() > 1 and ((flat > 0).sum(axis=1) <= 2).all():
        return "It is the same partner in every step: the distance must double, 1, 2, 4, ..."
    if count == core and (flat <= 1).all() and len(set(flat.sum(axis=1))) == 1:
        done, needed = int(math.log2(flat[0].sum())), core.bit_length() - 1
        return f"It ends after {done} of {needed} steps: go on while distance < comm.size."
    return _explain(parts, counted)


def _follow_the_doubling(parts: Parts, outcome: ProgramOutcome) -> None:
    core, size = 2 ** (parts.ranks.bit_length() - 1), parts.pattern.nbytes
    steps, folded = core.bit_length() - 1, parts.ranks - core
    most, every, _, lengths = _sent(outcome)
    at_most, in_all = steps + (folded > 0), core * steps + 2 * folded
    if every != in_all or most > at_most or lengths - {size}:
        needs = f"recursive doubling takes {at_most} a rank, {in_all} in all, each a whole vector"
        _refuse_other(parts, outcome, OTHER, f"{needs} of {size:,} bytes")


def judge_rabenseifner(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """The sum on all ranks, first by halving, then by doubling."""
    _judge(stage, generator, ranks, SAME_PART, _explain_halving, _follow_the_halving)


def _explain_halving(parts: Parts, counted: np.ndarray) -> str:
    if (counted < 0).any():
        return SAME_PART
    complete = (counted == 1).all(axis=2)
    if complete.any(axis=0).all() and counted.max() > 1:
        return "On the way back the parts are finished: they replace what was there."
    if (complete.sum(axis=0) == 1).all():
        return "The way out is right, the way back is missing: each rank has one finished part."
    return _explain(parts, counted)


def _follow_the_halving(parts: Parts, outcome: ProgramOutcome) -> None:
    count, size = parts.ranks, parts.pattern.nbytes
    steps, in_all = 2 * (count.bit_length() - 1), 2 * (count - 1) * size
    most, every, total, _ = _sent(outcome)
    if most != steps or every != count * steps or total != in_all:
        whole = total == count * steps // 2 * size and count > 2
        why = "That is recursive doubling: whole vectors travel." if whole else ""
        needs = f"halving and doubling takes {steps} messages a rank and {in_all:,} bytes in all"
        _refuse_other(parts, outcome, OTHER, needs, why)


def _sent(outcome: ProgramOutcome) -> tuple[int, int, int, set[int]]:
    """The most messages of a rank, the messages and bytes of all, and the lengths that occur."""
    messages = [ledger.messages_sent for ledger in outcome.ledger]
    total = sum(ledger.bytes_sent for ledger in outcome.ledger)
    lengths = {message.bytes for ledger in outcome.ledger for message in ledger.messages}
    return max(messages), sum(messages), total, lengths


def _refuse_other(
    parts: Parts, outcome: ProgramOutcome, told: str, needs: str, why: str = ""
) -> NoReturn:
    most, every, total, _ = _sent(outcome)
    raise Wrong(
        f"{told} one rank sent {most} message{'s' * (most != 1)}, and all together {every}, of "
        f"{total:,} bytes, where {needs}. {why}\n{parts.setting}."
    )


def _judge(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int], advice: str,
    explain: sums.Explain, follow: Callable[[Parts, ProgramOutcome], None],
) -> None:  # fmt: skip
    for parts in sums.trials(generator, ranks):
        outcome = sums.run(stage, parts, advice)
        sums.compare(parts, outcome, explain)
        refuse_native(outcome)
        follow(parts, outcome)


def _explain(parts: Parts, counted: np.ndarray) -> str:
    """Mistakes that any all-reduce can make."""
    complete = (counted == 1).all(axis=(1, 2))
    if parts.ranks > 1 and list(np.flatnonzero(complete)) == [0]:
        return "Only rank 0 has the sum: that is a reduce, and the others need it as well."
    return ""


def refuse_native(outcome: ProgramOutcome) -> None:
    """`Wrong` if MPI did it."""
    if any(ledger.by_kind()["native"] for ledger in outcome.ledger):
        raise Wrong("The ledger shows a call to MPI's own collective: here you write your own.")


WANTED = "return a number of bytes"
TWO_RANKS = (
    "There both send the same number of bytes and the ring pays one latency more, so it never "
    "wins: return math.inf."
)


def judge_crossover(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """The size at which the two formulas meet, for powers of two."""
    for count in (8, 4, 1024, 65_536):
        latency = float(generator.uniform(0.5e-6, 50e-6))
        bandwidth = float(generator.uniform(0.1e9, 50e9))
        [meeting] = crossovers("recursive_doubling", "ring", count, latency, 1 / bandwidth)
        right = meeting.nbytes
        said = number(stage.call(count, latency, bandwidth), WANTED, finite=False)
        usual = _usual(count, latency, bandwidth)
        otherwise = "Put your size into both formulas: the two times must be the same"
        call = f"crossover({count}, {latency:.3g}, {bandwidth:.3g})"
        compare(call, said, right, usual, otherwise, within(1e-6))
    try:
        said = number(stage.call(2, 1e-6, 1e9), WANTED, finite=False)
    except DiagnosedError as story:
        if story.exception != "ZeroDivisionError":
            raise
        raise Wrong(f"Right, but for 2 ranks you divide by zero. {TWO_RANKS}") from story
    if said != math.inf:
        raise Wrong(f"Right, but for 2 ranks you return {said:,.6g} bytes. {TWO_RANKS}")


def _usual(ranks: int, latency: float, bandwidth: float) -> dict[str, float]:
    steps, levels, share = 2 * (ranks - 1), math.log2(ranks), 2 * (ranks - 1) / ranks

    def meeting(steps: float, levels: float, share: float, factor: float = bandwidth) -> float:
        return (steps - levels) * latency * factor / (levels - share) if levels != share else 0.0

    return {
        "You divide by the bandwidth, where the size grows with it": (
            meeting(steps, levels, share, 1 / bandwidth)
        ),
        "In the ring a step moves a chunk of n/P bytes, not the whole vector": (
            meeting(steps, levels, steps)
        ),
        "That is the natural logarithm; recursive doubling takes log2(P) steps": (
            meeting(steps, math.log(ranks), share)
        ),
        "The ring goes round twice: 2 (P-1) steps": meeting(steps / 2, levels, share / 2),
        "Each round of the ring takes P-1 steps, not P": meeting(2 * ranks, levels, 2),
        "The sign is wrong: few latencies at the cost of many bytes": (
            -meeting(steps, levels, share)
        ),
    }
