"""Unit 06, all-reduce from scratch: its exercises, hints and predictions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ddl_teach.course.exercises import allreduce_judges as judges
from ddl_teach.course.exercises.answers import number
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Stage, Unit, Wrong
from ddl_teach.theory.crossover import crossovers

POWERS = (1, 2, 4, 8)
WANTED = "return a number of bytes"
TWO_RANKS = (
    "There both send the same number of bytes and the ring pays one latency more, so it never "
    "wins: return math.inf."
)


def judge_crossover(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """The size at which the two formulas meet, for powers of two."""
    for count in (8, 4, 1024, 65_536):
        latency = float(generator.uniform(0.5e-6, 50e-6))
        bandwidth = float(generator.uniform(0.1e9, 50e9))
        [meeting] = crossovers("recursive_doubling", "ring", count, latency, 1 / bandwidth)
        right = meeting.nbytes
        said = number(stage.call(count, latency, bandwidth), WANTED, finite=False)
        if not math.isclose(said, right, rel_tol=1e-6):
            usual = _usual_crossover(said, count, latency, bandwidth)
            raise Wrong(
                f"{usual}crossover({count}, {latency:.3g}, {bandwidth:.3g}) gives {_bytes(said)}, "
                f"where {_bytes(right)} are right. Put your size into both formulas: "
                "the two times must be the same."
            )
    try:
        said = number(stage.call(2, 1e-6, 1e9), WANTED, finite=False)
    except Exception as error:
        if "ZeroDivisionError" not in str(error):
            raise
        raise Wrong(f"Right, but for 2 ranks you divide by zero. {TWO_RANKS}") from error
    if said != math.inf:
        raise Wrong(f"Right, but for 2 ranks you return {_bytes(said)}. {TWO_RANKS}")


def _bytes(number: float) -> str:
    return f"{number:,.0f} bytes" if abs(number) >= 1 else f"{number:.3g} bytes"


def _usual_crossover(said: float, ranks: int, latency: float, bandwidth: float) -> str:
    """The mistake behind a wrong size, if it is one of the usual ones."""
    steps, levels, share = 2 * (ranks - 1), math.log2(ranks), 2 * (ranks - 1) / ranks

    def meeting(steps: float, levels: float, share: float, factor: float = bandwidth) -> float:
        return (steps - levels) * latency * factor / (levels - share) if levels != share else 0.0

    usual: Mapping[str, float] = {
        "You divide by the bandwidth, where the size grows with it. ": meeting(
            steps, levels, share, 1 / bandwidth
        ),
        "In the ring a step moves a chunk of n/P bytes, not the whole vector. ": meeting(
            steps, levels, steps
        ),
        "That is the natural logarithm; recursive doubling takes log2(P) steps. ": meeting(
            steps, math.log(ranks), share
        ),
        "The ring goes round twice: 2 (P-1) steps. ": meeting(steps / 2, levels, share / 2),
        "Each round of the ring takes P-1 steps, not P. ": meeting(2 * ranks, levels, 2),
        "The sign is wrong: few latencies at the cost of many bytes. ": -meeting(
            steps, levels, share
        ),
    }
    for mistake, value in usual.items():
        if math.isclose(said, value, rel_tol=1e-6):
            return mistake
    return ""


UNIT = Unit(
    "06",
    "All-reduce from scratch",
    exercises=(
        Exercise(
            "06.reduce_scatter",
            "Once round the ring: everybody finishes a chunk",
            points=2,
            hints=(
                "Draw four ranks in a circle, each with chunks 0 to 3. Chunk 0 must be complete "
                "on rank 0, so its last hop is from rank 3 to rank 0, and its first from rank 0 "
                "to rank 1: on rank 1 begins the adding. Now say in words: which chunk does rank "
                "r send in step 1, in step 2, ... and which one comes from the left?",
                "In step s = 1, 2, ..., P-1 rank r sends chunk (r - s) % P to the right and "
                "receives chunk (r - s - 1) % P from the left. Receive it into `arriving`, with "
                "comm.sendrecv, and then add: chunks[incoming] += arriving[incoming].",
            ),
            judge=judges.judge_reduce_scatter,
            right="Every rank has finished its chunk, and the ledger shows one round of the ring.",
        ),
        Exercise(
            "06.ring",
            "A ring all-reduce",
            points=2,
            hints=(
                "After the first half rank r owns the finished chunk r. Nothing is added any "
                "more: what comes from the left is finished, and goes on to the right in the "
                "step after. Which chunk does rank r send first? And then?",
                "In step s = 0, 1, ..., P-2 rank r sends chunk (r - s) % P to the right and "
                "receives chunk (r - s - 1) % P from the left, straight into its place: "
                "comm.sendrecv(chunks[outgoing], right, chunks[incoming], left).",
            ),
            judge=judges.judge_ring,
            right="The sum is on every rank, and each sent 2 (P-1)/P of its vector, no byte more.",
        ),
        Exercise(
            "06.swap",
            "Swap and add, 1, 2, 4, ... ranks away",
            points=2,
            hints=(
                "Partners send to each other at the same time: that is what comm.sendrecv is for. "
                "Receive into an array of your own and add it, or you lose what you had.",
                "distance = 1; while distance < comm.size: the partner is comm.rank ^ distance; "
                "comm.sendrecv(x, partner, arriving, partner); x += arriving; distance *= 2.",
            ),
            judge=judges.judge_doubling,
            right="The sum is on every rank after log2(P) steps.",
            ranks=POWERS,
            powers_of_two=True,
        ),
        Exercise(
            "06.recursive_doubling",
            "Recursive doubling on any number of ranks",
            points=3,
            hints=(
                "There are three kinds of ranks: those from `core` on, which hand their vector in "
                "and wait for the result; those below that have such a guest; and those below "
                "that have none. Write down for P = 6 who is what.",
                "A rank from core on sends x to comm.rank - core, receives x from there, and is "
                "done. A host first receives from comm.rank + core and adds, swaps as before "
                "while distance < core, and at the end sends x to its guest.",
            ),
            judge=judges.judge_doubling,
            right="The sum is on every rank, whatever their number; guests cost two steps more.",
        ),
        Exercise(
            "06.crossover",
            "From which size on does the ring win?",
            points=2,
            hints=(
                "Write both times as start + slope * n. Two straight lines meet where the "
                "difference of the starts is eaten up by the difference of the slopes.",
                "n = (2 (P-1) - log2 P) * latency * bandwidth / (log2 P - 2 (P-1)/P), and for "
                "2 ranks, where the slopes are the same, math.inf.",
            ),
            judge=judge_crossover,
            right="At this size both take the same time; above it the ring wins.",
            parameters=("ranks", "latency", "bandwidth"),
            ranks=(),
        ),
        Exercise(
            "06.rabenseifner",
            "Rabenseifner: halve on the way out, double on the way back",
            points=3,
            hints=(
                "Think of one step: my partner and I both hold the same stretch of the vector. I "
                "keep one half and send the other; what arrives is my partner's version of the "
                "half that I keep. All that is left to do happens inside my half.",
                "comm.sendrecv(given, partner, arriving, partner); kept += arriving; then "
                "rabenseifner(comm, kept, distance // 2) completes `kept`; and on the way back "
                "comm.sendrecv(kept, partner, given, partner).",
            ),
            judge=judges.judge_rabenseifner,
            right="The sum is on every rank: the ring's bytes in 2 log2(P) steps.",
            ranks=POWERS,
            powers_of_two=True,
        ),
    ),
    predictions=(
        Prediction(
            "06.crossover",
            "With 4 ranks on your machine: from how many bytes on is the ring faster than "
            "recursive doubling?",
            "bytes",
            close=4.0,
        ),
        Prediction(
            "06.many",
            "On 65,536 ranks, with vectors of 1 MiB, a latency of 1 µs and 10 GB/s: how many "
            "times as long as recursive doubling does the ring take?",
            "times",
        ),
    ),
)
