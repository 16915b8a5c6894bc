"""The steps of an all-reduce as a moving picture, made from a real run of it.

    animate(ring.allreduce)                         on 4 simulated ranks
    animate(my_own_allreduce, ranks=8)              a learner's own function, on 8
    animate(my_own_allreduce, run=engines.run)      on the ranks of this notebook
    animate(ring.reduce_scatter, goal="reduce_scatter")

The arrows are the messages of the run's timeline, the bytes those of its ledger, and what fills
the boxes was found in the ranks' vectors. A wrong algorithm is shown as wrong as it is. As in
`check`, no simulated send ends before its receive has begun.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import NO_BUFFERS
from ddl_class.notebook.recorded_comm import MOST_RANKS, Note, contributions, witness
from ddl_class.notebook.rounds import rounds
from ddl_class.plots.step_player import StepPlayer
from ddl_class.plots.steps import GOALS, DrawnStep, RecordedSteps, StepMessage
from ddl_teach import Run, simulate

as_in_check = partial(simulate, machine=NO_BUFFERS)


def animate(
    allreduce: Callable[..., Any],
    ranks: int = 4,
    *,
    goal: str = "allreduce",
    chunks: int | None = None,
    run: Callable[..., Run] = as_in_check,
) -> StepPlayer:
    """Run `allreduce(comm, x)` and show its steps, with buttons to play them one by one.

    `goal` is what it should come to: "allreduce", "reduce_scatter" or "reduce". Each rank's vector
    has so many `chunks` of one number, as many as there are ranks unless given. `run` runs it:
    `simulate`, `launch`, or the `run` of engines.
    """
    if goal not in GOALS:
        raise ValueError(f"goal is one of {', '.join(map(repr, GOALS))}, not {goal!r}")
    if not 1 <= ranks <= MOST_RANKS:
        raise ValueError(
            f"an animation shows 1 to {MOST_RANKS} ranks, not {ranks}; run.timeline.plot() shows "
            "any number"
        )
    chunks = ranks if chunks is None else chunks
    if chunks < 1:
        raise ValueError(f"a vector has at least 1 chunk, not {chunks}")
    done = run(witness, ranks, allreduce=allreduce, chunks=chunks)
    return StepPlayer(RecordedSteps(_name(allreduce), steps_of(done), goal))


def steps_of(run: Run) -> list[DrawnStep]:
    """The steps of a run of `witness`."""
    messages = [message for message in run.timeline.messages if message.bytes]
    numbers = rounds(messages)
    received: list[list[int]] = [[] for _ in range(run.ranks)]  # the steps of what each received
    for message, number in sorted(zip(messages, numbers, strict=True), key=lambda m: m[0].end):
        received[message.dest].append(number)
    steps = []
    for now in range(max(numbers, default=0) + 1):
        sent = [
            StepMessage(message.source, message.dest, message.bytes)
            for message, number in zip(messages, numbers, strict=True)
            if number == now
        ]
        held = [
            contributions(_held(notes, received[rank], now), run.ranks)
            for rank, notes in enumerate(run.results)
        ]
        steps.append(DrawnStep(tuple(sorted(sent)), np.array(held)))
    return steps


def _held(notes: Sequence[Note], received: Sequence[int], now: int) -> np.ndarray:
    """What a rank's vector held when it had what this step brought, and not yet what came next."""
    so_far = sum(1 for _ in takewhile(lambda number: number <= now, received))
    return [vector for count, vector in notes if count <= so_far][-1]


def _name(allreduce: Callable[..., Any]) -> str:
    """Ours are named after their files, a learner's own as the learner did."""
    function = getattr(allreduce, "func", allreduce)
    name = getattr(function, "__name__", type(function).__name__)
    return function.__module__.split(".")[-1] if name == "allreduce" else name
