"""The time of a step on a grid, and what it is spent on.

A stage takes f seconds to send a micro-batch forward and b backward: its operations shared along
tensor and context, the sums along tensor, the journeys of keys and values along context. With m
micro-batches on p stages that take equally long, h for a message between stages and 1F1B as the
schedule, about

    T = m (f + b)  +  (p - 1) (f + b)  +  2 (p - 1) h ceil(m / p)  +  averaging the gradients
        busy          bubble              messages of the pipeline     along data

The second and third term are gone through on paper, with the stages and hops as they are: the one
between nodes is longer than those inside, and on a node's cable activations and gradients meet.
Averaging hides behind as much of the last backward pass as `overlap` says; nothing else hides.
Left out: rings between nodes meet a pipeline's messages too. Narayanan et al., 2021, section 3.
What to look at: which term rules. It says which axis is too long.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import inf

from ddl_teach.theory.collectives import ring
from ddl_teach.theory.grids.grid import Grid
from ddl_teach.theory.grids.layers import Layer, LayerStack
from ddl_teach.theory.grids.sent import micro_batch
from ddl_teach.theory.machine import Cluster
from ddl_teach.theory.pipelines import one_f_one_b_uneven

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
        return float(sum(getattr(self, term.name) for term in fields(self)))

    @property
    def largest_price(self) -> str:
        """What costs most beside computing."""
        prices = [term.name for term in fields(self) if term.name != "compute"]
        return max(prices, key=lambda name: getattr(self, name))


@dataclass(frozen=True)
class StageTime:
    """Seconds of one micro-batch on one stage, forward and backward."""

    compute: tuple[float, float]
    tensor: tuple[float, float]
    context: tuple[float, float]

    @property
    def forward(self) -> float:
        return self.compute[0] + self.tensor[0] + self.context[0]

    @property
    def backward(self) -> float:
        return self.compute[1] + self.tensor[1] + self.context[1]

    @property
    def both(self) -> float:
        return self.forward + self.backward


def stage_time(
    stage: Sequence[Layer], network: LayerStack, grid: Grid, cluster: Cluster, *,
    samples: int, itemsize: int, recompute: bool = False,
) -> StageTime:  # fmt: skip
    """Seconds of one micro-batch of `samples` samples on one stage, on a rank of average share."""
    here = samples * network.length / grid.context
    work = here * sum(layer.work for layer in stage) / grid.tensor / cluster.flops

    def sums(numbers: Sequence[int]) -> float:
        link = grid.link(cluster, "tensor")
        return sum(
            times * float(ring(grid.tensor, here * summed * itemsize, link))
            for summed, times in Counter(numbers).items()
        )

    link = grid.link(cluster, "context")
    block = here * sum(layer.keys_and_values() for layer in stage) / grid.tensor * itemsize
    attentions = sum(layer.heads > 0 for layer in stage)
    hop = attentions * link.latency + block * link.per_byte
    around = grid.context - 1
    both_ways = (
        (work, BACKWARD * work),
        (
            sums([n for layer in stage for n in layer.sums_forward]),
            sums([n for layer in stage for n in layer.sums_backward]),
        ),
        # Backwards the gradients follow the blocks and make one hop more.
        (around * hop, (around + grid.context) * hop if around else 0.0),
    )
    return StageTime(*((first, back + first * recompute) for first, back in both_ways))


def seconds(
    network: LayerStack, grid: Grid, cluster: Cluster, *, batch: int, micro_batches: int,
    itemsize: int = 2, recompute: bool = False, kept: float = 1.0, overlap: float = 0.0,
    most: float = inf,
) -> Seconds:  # fmt: skip
    """The seconds of one step. `recompute`: activations are computed again in the backward pass;
    of pruned weights the share `kept` has gradients to average. Averaging hides behind the share
    `overlap` of the last micro-batch's backward pass, as far as it fits. A step that takes more
    than `most` without its messages between stages is returned without them."""
    samples = micro_batch(batch, grid, micro_batches)
    stages = network.stages(grid.pipeline)
    known = {  # most stages are alike
        stage: stage_time(
            stage, network, grid, cluster, samples=samples, itemsize=itemsize, recompute=recompute
        )
        for stage in set(stages)
    }
    times = [known[stage] for stage in stages]
    slowest = max(times, key=lambda time: time.both)
    turns = micro_batches, [time.forward for time in times], [time.backward for time in times]
    without_hops = one_f_one_b_uneven(*turns, [(0.0, 0.0)] * (grid.pipeline - 1))
    weights = max(sum(layer.weights(grid.tensor) for layer in stage) for stage in stages)
    compute = micro_batches * sum(slowest.compute)
    data = float(ring(grid.replicas, kept * weights * itemsize, grid.link(cluster, "data")))
    # Gradients are complete during the last backward pass.
    hidden = overlap * BACKWARD / (1 + BACKWARD) * compute / micro_batches
    least = Seconds(
        compute=compute,
        bubble=without_hops - micro_batches * slowest.both,
        pipeline=0.0,
        tensor=micro_batches * sum(slowest.tensor),
        context=micro_batches * sum(slowest.context),
        data=max(0.0, data - hidden),
    )
    if least.total > most:
        return least
    hops = []
    for place, stage in enumerate(stages[:-1]):
        link = grid.hop(cluster, place)
        numbers = samples * network.length / grid.context * stage[-1].output
        hops.append((link.latency, numbers * itemsize * link.per_byte))
    with_hops = one_f_one_b_uneven(*turns, hops, grid.nodes_of_stages(cluster))
    return replace(least, pipeline=with_hops - without_hops)
