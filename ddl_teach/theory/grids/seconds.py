"""The time of a step on a grid, and what it is spent on.

A stage takes f seconds to send a micro-batch forward and b backward: its operations shared along
tensor and context, the sums along tensor, the journeys of keys and values along context. With m
micro-batches on p stages, h for a message between stages and 1F1B as the schedule,

    T = m (f + b)  +  (p - 1) (f + b)  +  2 (p - 1) h ceil(m / p)  +  averaging the gradients
        busy          bubble              messages of the pipeline     along data

Nothing is hidden behind anything here: overlap can save at most the smaller of two terms.
The third term is the in-flight limit's: no stage may be more than p micro-batches ahead, so each
round of p pays for the way there and back.
Narayanan et al., 2021, section 3. What to look at: which term rules. It says which axis is too
long.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields

from ddl_teach.theory.collectives import ring
from ddl_teach.theory.grids.grid import Cluster, Grid
from ddl_teach.theory.grids.layers import Layer, LayerStack
from ddl_teach.theory.grids.sent import micro_batch

BACKWARD = 2.0  # times the work of a forward pass: both factors of each product have a gradient


@dataclass(frozen=True)
class Seconds:
    """Where the time of a step goes."""

    compute: float
    bubble: float
    pipeline: float
    tensor: float
    context: float
    data: float

    @property
    def total(self) -> float:
        return float(sum(getattr(self, one.name) for one in fields(self)))

    @property
    def largest_price(self) -> str:
        """What costs most beside computing."""
        prices = [one.name for one in fields(self) if one.name != "compute"]
        return max(prices, key=lambda name: getattr(self, name))


@dataclass(frozen=True)
class StageTime:
    """Seconds of one micro-batch on one stage, forward and backward."""

    compute: tuple[float, float]
    tensor: tuple[float, float]
    context: tuple[float, float]

    @property
    def both(self) -> float:
        return sum(self.compute) + sum(self.tensor) + sum(self.context)


def stage_time(
    stage: Sequence[Layer], network: LayerStack, grid: Grid, cluster: Cluster, *,
    samples: int, itemsize: int, recompute: bool = False,
) -> StageTime:  # fmt: skip
    """One micro-batch of so many `samples` on one stage, on a rank of average share."""
    here = samples * network.length / grid.context
    work = here * sum(layer.work for layer in stage) / grid.tensor / cluster.flops

    def sums(numbers: Sequence[int]) -> float:
        link = cluster.link(grid, "tensor")
        return sum(
            times * float(ring(grid.tensor, here * one * itemsize, *link))
            for one, times in Counter(numbers).items()
        )

    latency, per_byte = cluster.link(grid, "context")
    block = here * sum(layer.keys_and_values() for layer in stage) / grid.tensor * itemsize
    attentions = sum(layer.heads > 0 for layer in stage)
    hop = attentions * latency + block * per_byte
    around = grid.context - 1
    forward = StageTime(
        (work, BACKWARD * work),
        (
            sums([n for layer in stage for n in layer.sums_forward]),
            sums([n for layer in stage for n in layer.sums_backward]),
        ),
        # Backwards the gradients follow the blocks and make one hop more.
        (around * hop, (around + grid.context) * hop if around else 0.0),
    )
    if not recompute:
        return forward
    again = (forward.compute, forward.tensor, forward.context)
    return StageTime(*((first, first + back) for first, back in again))


def seconds(
    network: LayerStack, grid: Grid, cluster: Cluster, *, batch: int, micro_batches: int,
    itemsize: int = 2, recompute: bool = False, kept: float = 1.0,
) -> Seconds:  # fmt: skip
    """One step. `recompute`: activations are computed again in the backward pass; of pruned
    weights only `kept` of all have gradients to average."""
    samples = micro_batch(batch, grid, micro_batches)
    stages = network.stages(grid.pipeline)
    slowest = max(
        (
            stage_time(stage, network, grid, cluster, samples=samples, itemsize=itemsize,
                       recompute=recompute)
            for stage in stages
        ),
        key=lambda one: one.both,
    )  # fmt: skip
    latency, per_byte = cluster.link(grid, "pipeline")
    thickest = max((stage[-1].output for stage in stages[:-1]), default=0)
    hop = latency + samples * network.length / grid.context * thickest * itemsize * per_byte
    rounds = -(-micro_batches // grid.pipeline)
    weights = max(sum(layer.weights(grid.tensor) for layer in stage) for stage in stages)
    return Seconds(
        compute=micro_batches * sum(slowest.compute),
        bubble=(grid.pipeline - 1) * slowest.both,
        pipeline=2 * (grid.pipeline - 1) * hop * rounds,
        tensor=micro_batches * sum(slowest.tensor),
        context=micro_batches * sum(slowest.context),
        data=float(ring(grid.replicas, kept * weights * itemsize, *cluster.link(grid, "data"))),
    )
