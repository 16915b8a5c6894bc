"""A schedule: for every rank, what it does in which order. Plain data that prints itself.

`placement[replica][stage]` says which rank holds a stage. Where there are several replicas of the
network, micro-batch m goes through replica m mod replicas.
What to look at: print one. A row is a rank; read F3 as "micro-batch 3 forward", B3 as "backward".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ddl_runtime.core.checks import whole_number
from ddl_teach.networks.pipelines.instructions import Compute, Instruction, RunArrived, Word

Placement = tuple[tuple[int, ...], ...]
Slip = tuple[str, int, int]  # what it is, of which stage, of which micro-batch
LEAVES = {1: "output", -1: "gradient of the input"}  # what a stage makes for its neighbours
ARRIVES = {1: "input", -1: "gradient"}  # and what it is to them
Orders = Sequence[Iterable[Instruction]]


@dataclass(frozen=True)
class Schedule:
    """Instructions for every rank: `orders[rank]`, in the order in which it follows them."""

    name: str
    micro_batches: int
    placement: Placement
    orders: tuple[tuple[Word, ...], ...]
    # Forward passes, each at once with the next backward.
    overlapped: frozenset[Word] = frozenset()

    def __post_init__(self) -> None:
        whole_number(self.ranks, "a pipeline's ranks", 1)
        whole_number(self.micro_batches, "a pipeline's micro_batches", 1)

    @property
    def ranks(self) -> int:
        return len(self.orders)

    @property
    def stages(self) -> int:
        return len(self.placement[0])

    @property
    def replicas(self) -> int:
        return len(self.placement)

    def replica(self, micro_batch: int) -> int:
        return micro_batch % self.replicas

    def rank_of(self, stage: int, micro_batch: int) -> int:
        return self.placement[self.replica(micro_batch)][stage]

    def passed_on(self, towards: int, stage: int, micro_batch: int) -> Slip | None:
        """The key under which a rank keeps a stage's result: a message to send, or an input of its
        own next stage. None at the network's end."""
        there = stage + towards
        if not 0 <= there < self.stages:
            return None
        if self.rank_of(there, micro_batch) == self.rank_of(stage, micro_batch):
            return ARRIVES[towards], there, micro_batch
        return LEAVES[towards], stage, micro_batch

    def held_by(self, rank: int) -> list[tuple[int, int]]:
        return [
            (replica, stage)
            for replica, ranks in enumerate(self.placement)
            for stage, holder in enumerate(ranks)
            if holder == rank
        ]

    @cached_property
    def places(self) -> dict[tuple[int, int], int]:
        """For each `(replica, stage)` the number of others that its rank holds before it."""
        held = map(self.held_by, range(self.ranks))
        return {place: number for own in held for number, place in enumerate(own)}

    def __deepcopy__(self, memo: object) -> Schedule:
        return self  # nothing in it can change, so a thousand simulated ranks share one

    def computation(self, rank: int) -> list[Word]:
        """The rank's instructions without messages and sums."""
        return [word for word in self.orders[rank] if isinstance(word, (*Compute, RunArrived))]

    def words(self, rank: int) -> list[str]:
        """The rank's computation as texts: F3, or 2F3 with the stage if ranks hold several, or
        (2F3;5B1) for a forward and a backward pass at once."""
        one_each = self.placement == in_a_row(self.ranks)
        texts = [""]
        for word in self.computation(rank):
            text = str(word).removeprefix(str(rank)) if one_each else str(word)
            first = word in self.overlapped
            texts[-1] += f"({text};" if first else f"{text})" if texts[-1] else text
            texts += [] if first else [""]
        return texts[:-1]

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.ranks} ranks, {self.micro_batches} micro-batches"]
        for rank in range(self.ranks):
            words = " ".join(f"{word:<3}" for word in self.words(rank))
            lines.append(f"  rank {rank}  {words}".rstrip())
        return "\n".join(lines)


def in_a_row(ranks: int) -> Placement:
    """Stage s on rank s."""
    return (tuple(range(ranks)),)


def in_loops(ranks: int, stages_per_rank: int) -> Placement:
    """Stage s on rank s mod `ranks`."""
    return (tuple(range(ranks)) * whole_number(stages_per_rank, "stages_per_rank", 1),)


def in_a_v(ranks: int) -> Placement:
    """Two stages on each rank: down to the last rank, and up again to rank 0."""
    return ((*range(ranks), *reversed(range(ranks))),)
