"""The judge of the size at which a ring begins to beat recursive doubling."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ddl_class.exercises.exercise import ProgramRunner, Wrong
from ddl_class.exercises.kit.answers import number
from ddl_class.exercises.kit.compare import compare, within
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_teach.theory.crossover import crossovers

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
