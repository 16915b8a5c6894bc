"""GEMS: two replicas of the network in opposite order, so that one fills the other's bubble.

Stage s is on rank s for even micro-batches and on rank P-1-s for odd ones: the backward pass of
one is followed in the same direction by the forward pass of the next, through the other replica.
Cost: P B + F for each micro-batch (and (P-1) F once), about (P-1) / (P + 1/2) of it bubble where
B = 2 F; but every rank keeps the activations of one micro-batch only. Each rank holds two stages'
weights, and the replicas' gradients are summed.
Jain, Awan, Aljuhani et al., "GEMS: GPU-enabled memory-aware model-parallelism system for
distributed DNN training", SC 2020; the bubble: Li and Hoefler, "Chimera", SC 2021, table 2.
What to look at: diagonals that fall and diagonals that rise, and never two at once on a rank.
"""

from collections.abc import Iterator

from ddl_teach.networks.pipelines.instructions import Backward, Forward, Instruction
from ddl_teach.networks.pipelines.messages import with_messages
from ddl_teach.networks.pipelines.schedule import Placement, Schedule


def gems(ranks: int, micro_batches: int) -> Schedule:
    """One micro-batch after the other, in turns through two replicas in opposite order."""
    placement: Placement = (tuple(range(ranks)), tuple(reversed(range(ranks))))
    orders = [order(rank, ranks, micro_batches) for rank in range(ranks)]
    return with_messages("GEMS", micro_batches, placement, orders)


def order(rank: int, ranks: int, micro_batches: int) -> Iterator[Instruction]:
    """What a rank computes."""
    for micro_batch in range(micro_batches):
        stage = rank if micro_batch % 2 == 0 else ranks - 1 - rank
        yield Forward(stage, micro_batch)
        yield Backward(stage, micro_batch)
