"""What a rank of a grid holds: weights, gradients, optimizer states, activations.

Weights, gradients and states are cut by tensor and pipeline, and not by data or context (unless
they are sharded as well: `theory.memory`). Activations of a micro-batch are cut by context and, in
part, by tensor; and a stage s of p keeps min(m, p - s) micro-batches of them under 1F1B.
Korthikanti et al., "Reducing activation recomputation in large transformer models", 2022.
What to look at: the first stage holds the most activations, and deeper pipelines do not change it.
"""

from math import ceil

from ddl_teach.theory import memory
from ddl_teach.theory.grids.grid import Grid
from ddl_teach.theory.grids.layers import LayerStack
from ddl_teach.theory.grids.sent import micro_batch
from ddl_teach.theory.memory import HeldBytes


def held(
    network: LayerStack, grid: Grid, rank: int, *, batch: int, micro_batches: int,
    itemsize: int = 2, state: int = 12, sharding: int = 0, recompute: bool = False,
    kept: float = 1.0,
) -> HeldBytes:  # fmt: skip
    """Bytes on this rank. `itemsize` and `state` are bytes of a number and of a weight's states,
    `sharding` is a stage of `theory.memory`. With `recompute` only a layer's input is kept, and
    all of the layer that is being computed again. Of pruned weights the share `kept` has gradients
    and states."""
    place = grid.place(rank)
    stage = network.stages(grid.pipeline)[place.pipeline]
    weights = sum(layer.weights(grid.tensor, place.tensor) for layer in stage)
    whole = memory.held(sharding, [weights], grid.replicas, weight=itemsize, state=state)
    here = micro_batch(batch, grid, micro_batches) * ceil(network.length / grid.context)
    in_flight = min(micro_batches, grid.pipeline - place.pipeline)
    each = [layer.kept + layer.kept_split / grid.tensor for layer in stage]
    numbers = in_flight * sum(each)
    if recompute:
        numbers = in_flight * sum(layer.output for layer in stage) + max(each)
    activations = round(here * numbers * itemsize)
    trained = round(kept * whole.gradients), round(kept * whole.states)
    return HeldBytes(whole.weights, *trained, activations)
