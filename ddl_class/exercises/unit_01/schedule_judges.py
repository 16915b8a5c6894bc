"""Judging a greedy scheduler: it is a schedule, and nobody idles while there is something to do.

Which of the ready operations go first is the learner's choice, so there is no one right answer:
a judge replays what was handed in, step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import Stage, Wrong
from ddl_class.exercises.kit.answers import number, several
from ddl_class.exercises.unit_01.judges import SMALL, random_graph

WANTED = "return a list with the step of each operation, the first step being 0"


def judge_greedy(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Random graphs on one, some and too many processors."""
    trials: list[tuple[list[list[int]], int]] = [(SMALL, 2), (SMALL, 1), ([[]] * 7, 3)]
    for processors in (1, 2, 3, 4, 7, 100):
        trials += [(random_graph(generator), processors) for _ in range(4)]
    for predecessors, processors in trials:
        steps = _steps(stage.call(predecessors, processors), len(predecessors))
        if usual := _replay(predecessors, processors, steps):
            shown = f"\n\n  predecessors = {predecessors}\n  your steps   = {steps}"
            few = shown if len(predecessors) <= 12 else ""
            raise Wrong(
                f"{len(predecessors)} operations on {processors} "
                f"processor{'s' if processors > 1 else ''}: {usual}{few}"
            )


def _replay(predecessors: list[list[int]], processors: int, steps: list[int]) -> str:
    """What is wrong with a schedule, step by step; nothing where it is right."""
    for one, before in enumerate(predecessors):
        for other in before:
            if steps[other] >= steps[one]:
                return _too_early(one, other, steps)
    if min(steps) > 0:
        return f"nothing is done before step {min(steps)}. The first step is 0."
    for step in range(max(steps) + 1):
        done = steps.count(step)
        if done > processors:
            return (
                f"{done} operations in step {step}. Each processor does one in a step: who finds "
                "none that is free waits in the queue."
            )
        ready = [
            one
            for one, before in enumerate(predecessors)
            if steps[one] > step and all(steps[other] < step for other in before)
        ]
        if ready and done < processors:
            return _idle(step, processors - done, ready[0], steps)
    return ""


def _too_early(one: int, other: int, steps: list[int]) -> str:
    if steps[other] == steps[one]:
        return (
            f"operation {one} waits for {other}, and both are done in step {steps[one]}. What "
            "becomes ready in a step can be done in the next one: put it into the queue only "
            "when the step is over."
        )
    return (
        f"operation {one} is done in step {steps[one]}, yet it waits for {other}, done in step "
        f"{steps[other]}. It is ready only when all that it waits for are done."
    )


def _idle(step: int, free: int, ready: int, steps: list[int]) -> str:
    idle = "a processor has" if free == 1 else f"{free} processors have"
    nothing = steps.count(step) == 0
    why = (
        "Nothing at all is done in that step: count a step only when something is done in it."
        if nothing
        else "Do not wait until a whole level is done: who is ready may begin at once."
    )
    return f"in step {step} {idle} nothing to do, though operation {ready} is ready. {why}"


def _steps(value: Any, operations: int) -> list[int]:
    """A learner's list of steps, or `Wrong`."""
    wanted = f"{WANTED}: {operations} steps, in the order of `predecessors`"
    value = several(value.tolist() if isinstance(value, np.ndarray) else value, operations, wanted)
    left = [one for one, step in enumerate(value) if step is None]
    if left:
        raise Wrong(f"operation {left[0]} is never done: {WANTED}.")
    numbers = [number(step, f"{WANTED}; a step") for step in value]
    if not all(step.is_integer() for step in numbers):
        raise Wrong(f"{WANTED}; steps are whole numbers.")
    steps = [int(step) for step in numbers]
    if min(steps) < 0:
        one = steps.index(min(steps))
        raise Wrong(f"operation {one} is never done: its step is {min(steps)}.")
    return steps
