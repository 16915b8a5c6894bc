"""The bytes that a rank sends in one step, axis by axis, to the byte.

With m micro-batches of b samples, texts of T positions of which a rank holds T/C, and n = b T/C:

    data       2 (R-1)/R weights of the rank        R = data x context ranks hold the same
    pipeline   m n output                            forward, unless last; backward, unless first
    tensor     m times 2 (tensor-1)/tensor n h       for each of four sums a block
    context    m times (6 C - 4)/C b T h/tensor      for each block (theory.context)

What to look at: with more ranks along its axis a sum along data or tensor sends no less.
"""

from dataclasses import dataclass

from ddl_teach.theory import context, ring_bytes
from ddl_teach.theory.grids.grid import Grid
from ddl_teach.theory.grids.layers import LayerStack


@dataclass(frozen=True)
class AxisBytes:
    """Bytes along each axis, or seconds."""

    data: float = 0
    pipeline: float = 0
    tensor: float = 0
    context: float = 0

    @property
    def total(self) -> float:
        return self.data + self.pipeline + self.tensor + self.context


def sent(
    network: LayerStack,
    grid: Grid,
    rank: int,
    *,
    batch: int,
    micro_batches: int,
    itemsize: int = 4,
) -> AxisBytes:
    """What this rank sends in one step of the trainer in `networks.grid`."""
    place, stages = grid.place(rank), network.stages(grid.pipeline)
    stage = stages[place.pipeline]
    samples = micro_batch(batch, grid, micro_batches)
    positions = ring_bytes.even(network.length, grid.context)
    here = samples * positions[place.context]

    weights = sum(layer.weights(grid.tensor, place.tensor) for layer in stage)
    gradients = ring_bytes.allreduce(
        weights, grid.replicas, place.context + grid.context * place.data, itemsize
    )
    hops = 0
    if place.pipeline + 1 < grid.pipeline:
        hops += stage[-1].output
    if place.pipeline > 0:
        hops += stages[place.pipeline - 1][-1].output
    sums = [n for layer in stage for n in (*layer.sums_forward, *layer.sums_backward)]
    tensor = sum(ring_bytes.allreduce(here * n, grid.tensor, place.tensor, itemsize) for n in sums)
    round_trips = 0
    for layer in stage:
        each = samples * layer.keys_and_values(grid.tensor, place.tensor) * itemsize
        round_trips += sum(context.sent([n * each for n in positions], place.context))
    return AxisBytes(
        data=gradients,
        pipeline=micro_batches * here * hops * itemsize,
        tensor=micro_batches * tensor,
        context=micro_batches * round_trips,
    )


def micro_batch(batch: int, grid: Grid, micro_batches: int) -> int:
    """Samples of one micro-batch on one rank along data."""
    parts = grid.data * micro_batches
    if batch % parts:
        raise ValueError(
            f"a batch of {batch} cannot be cut evenly for {grid.data} ranks along data with "
            f"{micro_batches} micro-batches each: take a multiple of {parts}"
        )
    return batch // parts
