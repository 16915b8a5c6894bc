"""An order of passes that counts: every pass takes the next micro-batch of its stage.

The schedules in the shape of a V are given as phases: a number of passes of one stage, then of
another. Which micro-batches they are follows. What to look at: `overlap`, for two passes at once.
"""

from collections import Counter, deque

from ddl_teach.networks.pipelines.instructions import (
    Backward,
    BackwardInput,
    BackwardWeight,
    Forward,
    Instruction,
)


class PassOrder:
    """The passes of one rank, in order."""

    def __init__(self) -> None:
        self.order: list[Instruction] = []
        self.overlapped: set[Instruction] = set()
        self.forwards: Counter[int] = Counter()  # by stage
        self.backwards: Counter[int] = Counter()
        self._put_off: deque[tuple[int, int]] = deque()

    def forward(self, stage: int) -> None:
        self.order.append(Forward(stage, self.forwards[stage]))
        self.forwards[stage] += 1

    def backward(self, stage: int) -> None:
        self.order.append(Backward(stage, self.backwards[stage]))
        self.backwards[stage] += 1

    def backward_input(self, stage: int) -> None:
        self._put_off.append((stage, self.backwards[stage]))
        self.order.append(BackwardInput(stage, self.backwards[stage]))
        self.backwards[stage] += 1

    def backward_weight(self, stage: int | None = None) -> None:
        """Of all that have been put off the oldest one, or the oldest one of this stage."""
        waiting = [turn for turn in self._put_off if stage in (None, turn[0])]
        if waiting:
            self._put_off.remove(waiting[0])
            self.order.append(BackwardWeight(*waiting[0]))

    def overlap(self, forward: int, backward: int) -> None:
        """A forward pass of one stage and a backward pass of another, at once."""
        self.forward(forward)
        self.overlapped.add(self.order[-1])
        self.backward(backward)
