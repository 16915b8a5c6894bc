"""What a genotype costs: work and depth on one rank, and what is left of them on many.

    compute  = work / flops                       messages = ring all-reduce of the weights' bytes
    seconds  = compute + messages                 efficiency = compute / seconds

for a data-parallel step with an equal number of samples on each rank. Gradients are averaged when
all are there. Work and depth are counted operation by operation (`measure.analysis`) on the
network itself, forward and backward; the loss and the update are not in them.
What to look at: efficiency alone is a bad goal. A network that computes more than it needs is
efficient; `seconds` shows which is which.
"""

from dataclasses import dataclass

import torch

from ddl_measure.analysis import analyse
from ddl_measure.analysis.table import in_turn
from ddl_teach.search.architectures.cells import Genotype
from ddl_teach.search.architectures.network import IMAGE, standing_alone
from ddl_teach.theory.collectives import ring
from ddl_teach.theory.inputs import count
from ddl_teach.theory.machine import Link

ITEMSIZE = 4  # bytes of a weight
GIGABIT = Link(5e-6, 1 / 1.25e8)


@dataclass(frozen=True)
class PlannedJob:
    """The training that is planned: `ranks` with `samples` each; messages as on 1 Gbit/s."""

    ranks: int = 16
    samples: int = 8
    flops: float = 1e10  # operations a second of one rank
    link: Link = GIGABIT

    def __post_init__(self) -> None:
        count("ranks", self.ranks)
        count("samples", self.samples)

    def messages(self, nbytes: float) -> float:
        return ring(self.ranks, nbytes, self.link)


@dataclass(frozen=True)
class StepCosts:
    """Of a training step of one rank: operations, the longest chain of them, bytes to average,
    seconds on all ranks together, and the share of these that is spent on computing."""

    work: int
    depth: int
    nbytes: int
    seconds: float
    efficiency: float


def costs(genotype: Genotype, scaling: PlannedJob = PlannedJob(), channels: int = 8) -> StepCosts:
    """Counted on the genotype's own network."""
    network = standing_alone(genotype, channels)
    counted = analyse(network, torch.empty(scaling.samples, *IMAGE))
    step = in_turn(counted.forward, counted.backward)
    nbytes = counted.parameters * ITEMSIZE
    compute = step.work / scaling.flops
    seconds = compute + scaling.messages(nbytes)
    return StepCosts(step.work, step.depth, nbytes, seconds, compute / seconds)


def step_seconds(
    genotype: Genotype, scaling: PlannedJob = PlannedJob(), channels: int = 8
) -> float:
    """The seconds alone, as `train_cells.Priced` takes them."""
    return costs(genotype, scaling, channels).seconds
