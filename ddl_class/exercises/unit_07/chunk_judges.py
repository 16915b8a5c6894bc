"""The judge of unit 07's pipeline: the right bytes in the right chunks, as fast as they can be.

In chunks as in one piece the bytes say how far they have come. Whether stages overlap shows in the
virtual time alone, and each usual mistake has a time of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit.compare import why, within
from ddl_class.exercises.kit.ranks import virtual
from ddl_class.exercises.unit_07.staging_judges import (
    KERNEL,
    NETWORK,
    NEXT,
    ROUTE,
    StagingCase,
    behind_the_next,
    judge_arrived,
    judge_messages,
    not_too_fast,
    random_values,
    run,
)
from ddl_teach.theory import staging


def judge_pipelined(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """The same in chunks, of which one is copied while another travels."""
    for count in ranks:
        for size, chunk in _chunkings(generator):
            call = f"pipelined(comm, values, chunk={chunk:,}) of {size:,} bytes"
            call += f", on {ranks_text(count)}"
            trial = StagingCase(
                call, random_values(generator, size), random_values(generator, size)
            )
            again = partial(run, stage, trial, count, chunk)
            outcome = again()
            judge_messages(outcome, call, _parts(size, chunk))
            judge_arrived(outcome, trial, chunk)
            _judge_pace(outcome, trial, chunk, again)


def _chunkings(generator: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Even, with a rest, and one that is larger than the message."""
    chunk = int(generator.integers(20_000, 60_000))
    yield 8 * chunk, chunk
    yield 4 * chunk + int(generator.integers(1, chunk)), chunk
    yield chunk // 2, chunk


def _parts(size: int, chunk: int) -> list[int]:
    return [min(chunk, size - first) for first in range(0, size, chunk)]


def _judge_pace(
    outcome: ProgramOutcome, trial: StagingCase, chunk: int, again: Callable[[], ProgramOutcome]
) -> None:
    """Nearly as fast as the formula says, where time is virtual."""
    size = len(trial.values)
    least = KERNEL + staging.pipelined(size, chunk, ROUTE)
    not_too_fast(outcome, least, trial.call, again)
    if outcome.time < 1.1 * least or not virtual(outcome, again):
        return
    if outcome.time > NEXT:
        raise Wrong(f"{trial.call}: the bytes are right, but {behind_the_next(outcome.time)}")
    otherwise = (
        "Draw it, and look which stage waits. Ask for all copies out first; then, chunk by chunk, "
        "wait for its mark and begin to send it with comm.isend"
    )
    words = why(outcome.time, _of_pace(size, chunk), otherwise, within(1e-4))
    raise Wrong(
        f"{trial.call}: the bytes are right, but it takes {outcome.time * 1e3:.2f} ms, where "
        f"{least * 1e3:.2f} are enough. {words}"
    )


def _of_pace(size: int, chunk: int) -> dict[str, float]:
    """How long the usual mistakes take, if the chunks are even."""
    chunks = len(_parts(size, chunk))
    out, wire, come_in = (stage.keeps(chunk) for stage in ROUTE.stages)
    latency, further = NETWORK.latency, chunks - 1
    return {
        words: KERNEL + seconds
        for words, seconds in {
            "Two stages overlap, not three. Does rank 0 wait for its last copy before it sends "
            "the first chunk? Each chunk needs a mark of its own, recorded right behind its copy. "
            "Or does rank 1 receive all before it copies? Ask for each copy as soon as its chunk "
            "has come": chunks * out + wire + latency + come_in + further * max(wire, come_in),
            "One chunk begins its way when the one before has ended it, so two stages stand "
            "idle": chunks * (out + wire + latency + come_in),
            "Nothing overlaps: all copies out, then all messages, then all copies in": (
                chunks * (out + wire + come_in) + latency
            ),
            "A copy out begins only when the message before it was taken: ask for all copies "
            "before you send the first chunk, or begin to send with comm.isend": (
                chunks * (out + wire + latency) + come_in
            ),
            "Rank 1 waits for each copy into the device before it receives again: ask for the "
            "copy and go on, and wait once, at the end": (
                out + wire + latency + come_in + further * (wire + latency + come_in)
            ),
        }.items()
    }
