"""The steps of a collective as plain data and in words.

A step lets each rank send one message and receive one. Of a chunk of a rank's vector is counted
how often each rank's chunk is in it: 1 everywhere when it is finished, 2 is the usual mistake, and
-1 if it is no sum of the vectors at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ddl_class.plots.frame import counted
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.pictures.words import size_text, spoken

MOST_NAMED = 6  # messages named one by one in words

GOALS = {
    "allreduce": "every rank holds the whole sum",
    "reduce_scatter": "every rank holds its own chunk of the sum",
    "reduce": "rank 0 holds the whole sum",
}
"""What a collective should come to, in words."""


class StepMessage(NamedTuple):
    """One message of a step."""

    source: int
    dest: int
    bytes: int


@dataclass(frozen=True)
class DrawnStep:
    """Messages, and `held[rank, chunk, contributor]` after them."""

    messages: tuple[StepMessage, ...]
    held: np.ndarray


@dataclass(frozen=True)
class RecordedSteps:
    """All steps of one run, the first of them what was there before any message."""

    name: str
    steps: Sequence[DrawnStep]
    goal: str = "allreduce"  # one of GOALS
    error: DiagnosedError | None = None  # that ended the run

    @property
    def wanted(self) -> np.ndarray:
        """Which chunks of which rank must be finished in the end, as `wanted[rank, chunk]`."""
        rank, chunk = np.indices((self.ranks, self.chunks))
        if self.goal == "reduce_scatter":
            first, end = (of * self.chunks // self.ranks for of in (rank, rank + 1))
            return (first <= chunk) & (chunk < end)
        return rank >= 0 if self.goal == "allreduce" else rank == 0

    @property
    def ranks(self) -> int:
        return len(self.steps[0].held)

    @property
    def chunks(self) -> int:
        return int(self.steps[0].held.shape[1])

    @property
    def wrong(self) -> np.ndarray:
        """Rank and chunk of all that should be finished in the end, and are not."""
        return np.argwhere(self.wanted & (self.steps[-1].held != 1).any(axis=2))

    @property
    def is_wrong(self) -> bool:
        return self.error is not None or len(self.wrong) > 0

    @property
    def off_by(self) -> int:
        """How far after the right rank each chunk of a reduce-scatter was finished, or 0."""
        finished = (self.steps[-1].held == 1).all(axis=2)
        shifts = range(self.ranks if self.goal == "reduce_scatter" else 0)
        return next((s for s in shifts if finished[np.roll(self.wanted, -s, axis=0)].all()), 0)

    @property
    def sent(self) -> np.ndarray:
        """Bytes sent so far: a row for each step, a column for each rank."""
        sent = np.zeros((len(self.steps), self.ranks), np.int64)
        for row, step in zip(sent, self.steps, strict=True):
            for message in step.messages:
                row[message.source] += message.bytes
        return sent.cumsum(axis=0)


def finding(steps: RecordedSteps) -> str:
    """What a run came to, in one line: what it should and its price, or the first mistake."""
    held, name = steps.steps[-1].held, spoken(steps.name, first=True)
    wrong = steps.wrong
    if steps.error is not None:
        [story, *_] = str(steps.error).splitlines()
        return f"{name} is wrong. {story.rstrip('.')}"
    if shift := steps.off_by:
        by = min(shift, steps.ranks - shift)
        return (
            f"{name} is wrong: off by {counted(by, 'chunk')}; rank 0 holds the chunk of the sum "
            f"that rank {shift} should hold"
        )
    if len(wrong):
        others = len(wrong) - 1
        more = f", and {counted(others, 'more chunk')} {'are' if others > 1 else 'is'} wrong"
        return f"{name} is wrong: {_mistake(held, *wrong[0])}{more if others else ''}"
    sent = steps.sent[-1]
    who = "each rank" if (sent == sent[0]).all() else "the busiest rank"
    after = f"after {counted(len(steps.steps) - 1, 'step')}"
    return f"{name}: {after} {GOALS[steps.goal]}; {who} sent {size_text(sent.max())}"


def _mistake(held: np.ndarray, rank: int, chunk: int) -> str:
    """What is wrong with a chunk of a rank."""
    where, counts = f"on rank {rank}, chunk {chunk}", held[rank, chunk]
    if (counts < 0).any():
        return f"{where} is no sum of the vectors"
    if (counts > 1).any():
        twice = int(np.argmax(counts > 1))
        times = "twice" if counts[twice] == 2 else f"{counts[twice]} times"
        return f"{where} counts rank {twice} {times}"
    missing = np.flatnonzero(counts == 0)
    return f"{where} lacks rank{'s' * (len(missing) > 1)} {', '.join(map(str, missing))}"


def in_words(steps: RecordedSteps) -> list[str]:
    """A sentence or two for each step, for those who cannot see it."""
    vector = counted(steps.chunks, "chunk")
    words = [f"Before: each of {steps.ranks} ranks holds its own vector of {vector}."]
    for number, step in enumerate(steps.steps[1:], 1):
        finished = (step.held == 1).all(axis=2).sum()
        words.append(
            f"Step {number} of {len(steps.steps) - 1}: {sent_text(step.messages)}. "
            f"{finished} of {steps.ranks * steps.chunks} chunks are finished."
        )
        wrong = np.argwhere(((step.held > 1) | (step.held < 0)).any(axis=2))
        if len(wrong):
            more = f", and {len(wrong) - 1} more are wrong" if len(wrong) > 1 else ""
            words[-1] += f" But {_mistake(step.held, *wrong[0])}{more}."
    return words


def sent_text(messages: Sequence[Any]) -> str:
    """A step's messages, as in "2 messages of 8 B each, rank 0 to rank 1, rank 1 to rank 0"."""
    sizes = [size_text(size) for size in sorted({message.bytes for message in messages})]
    each = " each" if len(messages) > 1 else ""
    size = f"{sizes[0]}{each}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    pairs = [f"rank {message.source} to rank {message.dest}" for message in messages]
    sent = ", ".join([f"{counted(len(messages), 'message')} of {size}", *pairs[:MOST_NAMED]])
    return sent + (f" and {len(pairs) - MOST_NAMED} more" if len(pairs) > MOST_NAMED else "")
