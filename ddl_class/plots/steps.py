"""The steps of a collective as plain data: who sent to whom, and what every rank then held.

A step lets each rank send one message and receive one. What a rank holds is counted for each chunk
of its vector: how often each rank's chunk is in it. A chunk is finished when every count is 1; a
count of 2 is the usual mistake, and a chunk that is no sum of the vectors at all counts -1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

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

    @property
    def wanted(self) -> np.ndarray:
        """Which chunks of which rank must be finished in the end, as `wanted[rank, chunk]`."""
        wanted = np.zeros((self.ranks, self.chunks), bool)
        if self.goal == "allreduce":
            wanted[:] = True
        elif self.goal == "reduce":
            wanted[0] = True
        else:
            bounds = np.arange(self.ranks + 1) * self.chunks // self.ranks
            for row, start, end in zip(wanted, bounds, bounds[1:], strict=False):
                row[start:end] = True
        return wanted

    @property
    def ranks(self) -> int:
        return len(self.steps[0].held)

    @property
    def chunks(self) -> int:
        return int(self.steps[0].held.shape[1])

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
    held = steps.steps[-1].held
    name, count = spoken(steps.name, first=True), len(steps.steps) - 1
    wrong = np.argwhere(steps.wanted & (held != 1).any(axis=2))
    if len(wrong):
        others = len(wrong) - 1
        more = (
            f", and {others} more chunk{'s are' if others > 1 else ' is'} wrong" if others else ""
        )
        return f"{name} is wrong: {_chunk_text(held, *wrong[0])}{more}"
    sent = steps.sent[-1]
    who = "each rank" if (sent == sent[0]).all() else "the busiest rank"
    after = f"after {count} step{'' if count == 1 else 's'}"
    return f"{name}: {after} {GOALS[steps.goal]}; {who} sent {size_text(sent.max())}"


def _chunk_text(held: np.ndarray, rank: int, chunk: int) -> str:
    return f"on rank {rank}, chunk {chunk} {mistake_text(held[rank, chunk])}"


def mistake_text(counts: np.ndarray) -> str:
    """What is wrong with a chunk of these counts."""
    if (counts < 0).any():
        return "is no sum of the vectors"
    for rank, count in enumerate(counts):
        if count > 1:
            return f"counts rank {rank} {'twice' if count == 2 else f'{count} times'}"
    missing = [str(rank) for rank, count in enumerate(counts) if count == 0]
    return f"lacks rank{'s' if len(missing) > 1 else ''} {', '.join(missing)}"


def in_words(steps: RecordedSteps) -> list[str]:
    """A sentence or two for each step, for those who cannot see it."""
    vector = f"{steps.chunks} chunk{'s' if steps.chunks > 1 else ''}"
    words = [f"Before: each of {steps.ranks} ranks holds its own vector of {vector}."]
    for number, step in enumerate(steps.steps[1:], 1):
        text = f"Step {number} of {len(steps.steps) - 1}: {_messages_text(step.messages)}."
        words.append(f"{text} {_held_text(step.held)}")
    return words


def size_range(messages: Sequence[StepMessage]) -> str:
    """The bytes of a step's messages, as in "3 messages of 8 B each"."""
    sizes = [size_text(size) for size in sorted({message.bytes for message in messages})]
    if len(messages) == 1:
        return f"1 message of {sizes[0]}"
    price = f"{sizes[0]} each" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    return f"{len(messages)} messages of {price}"


def _messages_text(messages: Sequence[StepMessage]) -> str:
    pairs = [f"rank {message.source} to rank {message.dest}" for message in messages]
    listed = ", ".join(pairs[:MOST_NAMED])
    more = f" and {len(pairs) - MOST_NAMED} more" if len(pairs) > MOST_NAMED else ""
    return f"{size_range(messages)}, {listed}{more}"


def _held_text(held: np.ndarray) -> str:
    finished = (held == 1).all(axis=2).sum()
    text = f"{finished} of {held.shape[0] * held.shape[1]} chunks are finished."
    wrong = np.argwhere(((held > 1) | (held < 0)).any(axis=2))
    if len(wrong):
        more = f", and {len(wrong) - 1} more are wrong" if len(wrong) > 1 else ""
        text += f" But {_chunk_text(held, *wrong[0])}{more}."
    return text
