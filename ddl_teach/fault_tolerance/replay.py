"""Replay: the right neighbour computes a micro-batch again, and a wrong gradient is not used.

    replay = Replay(comm, task, every=10)
    train(comm, replay, Synchronous(), steps=100)        # replay.alarms: what was found, and when

At one of `every` steps each rank also computes the gradient of its left neighbour, and both
compare bits. If they differ, all ranks compute the step again: a bit that flipped once is gone.
If that does not help, `CorruptRank` names the ranks that are wrong on both sides. Cost: 1 / every
of the gradients' time, and 24 bytes to each rank. A rank that stays broken is noticed every / 2
steps late in the mean. Google finds broken processors by replays (Gemini Team, 2023).
What to look at: equal programs give equal bits, so a clean training has no alarm. Ranks that add
in another order round otherwise, and then each replay is a false alarm.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ddl_teach.comm import Comm
from ddl_teach.fault_tolerance.corruption import other_copies, replays_differ
from ddl_teach.theory.inputs import count
from ddl_teach.training.tasks.task import LossAndGradient, Trainable, placed


class CorruptRank(RuntimeError):
    """Gradients of the ranks in `differs` still differ from their replays after all retries.

    `suspects` are the ranks that differ from both neighbours.
    """

    def __init__(self, step: int, differs: list[int], ranks: int) -> None:
        self.step, self.differs, self.ranks = step, differs, ranks
        # Of two ranks nobody can say which one is wrong.
        self.suspects = [rank for rank in differs if (rank - 1) % ranks in differs and ranks > 2]
        pairs = ", ".join(f"{rank} and {(rank + 1) % ranks}" for rank in differs)
        who = f"Replace {self.suspects}" if self.suspects else "Test both of each pair"
        super().__init__(f"step {step}: ranks {pairs} get other bits for one gradient. {who}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.step, self.differs, self.ranks)


@dataclass(eq=False)
class Replay:
    """A task whose gradients are replayed. With `retries=None` alarms are only noted."""

    comm: Comm
    task: Trainable
    every: int = 1
    retries: int | None = 2
    alarms: list[tuple[int, list[int]]] = field(default_factory=list)  # the step, whose differ
    replayed: int = 0

    def __post_init__(self) -> None:
        count("every", self.every)
        if self.retries is not None:
            count("retries", self.retries, 0)

    def on(self, device: str) -> "Replay":
        self.task = placed(self.task, device)
        return self

    def initial(self) -> np.ndarray:
        return self.task.initial()

    def gradient(self, weights: np.ndarray, part: int, parts: int, step: int) -> LossAndGradient:
        if (part, parts) != (self.comm.rank, self.comm.size):
            raise ValueError(
                f"Replay: rank {self.comm.rank} of {self.comm.size} computes part {part} of "
                f"{parts}. Every rank must be a worker: train by AllReduce(), without servers"
            )
        answer = self.task.gradient(weights, part, parts, step)
        if step % self.every:
            return answer
        if others := other_copies(self.comm, weights):
            raise ValueError(f"step {step}: ranks {others} have other weights, so gradients "
                             "differ: replay Synchronous(), whose weights are alike")  # fmt: skip
        for tried in range(1 + (self.retries or 0)):
            if tried:
                answer = self.task.gradient(weights, part, parts, step)
            again = self.task.gradient(weights, (part - 1) % parts, parts, step)[1]
            self.replayed += 1
            differs = replays_differ(self.comm, answer[1], again)
            if not differs:
                return answer
            self.alarms.append((step, differs))
        if self.retries is None:
            return answer
        raise CorruptRank(step, differs, parts)
