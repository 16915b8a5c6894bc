"""Unit 06: all-reduce from scratch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ddl_teach.course.exercises.exercise import Exercise, Prediction, Stage, Unit, Wrong


def judge_ring(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """The sum, on all ranks."""
    for count in ranks:
        vectors = [generator.standard_normal(7) for _ in range(count)]
        outcome = stage.run(count, [(x,) for x in vectors])
        for x, *_ in outcome.arguments:
            if not np.allclose(x, sum(vectors)):
                raise Wrong(f"on {count} ranks x does not hold the sum.")


UNIT = Unit(
    "06",
    "All-reduce from scratch",
    exercises=(
        Exercise(
            "06.ring",
            "A ring all-reduce",
            points=3,
            hints=("First.", "Second."),
            judge=judge_ring,
            right="All ranks hold the sum.",
        ),
    ),
    predictions=(
        Prediction(
            "06.crossover",
            "Below how many bytes does recursive doubling beat the ring?",
            "bytes",
        ),
    ),
)
