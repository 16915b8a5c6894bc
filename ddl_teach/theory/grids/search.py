"""Which grid is best? Compute all of them, and name the price of each.

There are so few grids that no cleverer search is needed. AxoNN (Singh and Bhatele, 2022) chooses
its grids in the same way, by a model of communication. What to look at: the best is rarely pure,
and the second best is close. So a rough model will do.
"""

from dataclasses import dataclass
from math import inf
from typing import Any

from ddl_teach.theory.grids import memory
from ddl_teach.theory.grids.grid import Grid, divisors, every
from ddl_teach.theory.grids.layers import LayerStack
from ddl_teach.theory.grids.seconds import Seconds, seconds
from ddl_teach.theory.machine import Cluster
from ddl_teach.theory.memory import HeldBytes

Sizes = dict[str, Any]
NEVER = Seconds(inf, 0, 0, 0, 0, 0)


@dataclass(frozen=True)
class RankedGrid:
    """A grid with its best number of micro-batches, or the reason why it cannot be."""

    grid: Grid
    refused: str = ""
    micro_batches: int = 0
    seconds: Seconds = NEVER
    held: HeldBytes | None = None  # on the rank that holds most


def search(
    network: LayerStack, cluster: Cluster, *, batch: int,
    itemsize: int = 2, state: int = 12, sharding: int = 0, recompute: bool = False,
    kept: float = 1.0, overlap: float = 0.0,
) -> list[RankedGrid]:  # fmt: skip
    """All grids of the cluster's ranks: the fastest first, the impossible ones last."""
    sizes: Sizes = {"itemsize": itemsize, "recompute": recompute, "kept": kept}
    memories = sizes | {"state": state, "sharding": sharding}
    sizes["overlap"] = overlap
    choices = [
        _best(network, grid, cluster, batch, sizes, memories) for grid in every(cluster.ranks)
    ]
    possible = [choice for choice in choices if not choice.refused]
    possible.sort(key=lambda choice: choice.seconds.total)
    return possible + [choice for choice in choices if choice.refused]


def in_order(
    network: LayerStack, cluster: Cluster, *, batch: int, micro_batches: int, itemsize: int = 4
) -> list[RankedGrid]:
    """The grids of networks so small that memory does not count. Every pipeline has the given
    number of micro-batches; a grid without a pipeline has one."""
    choices = []
    for grid in every(cluster.ranks):
        parts = micro_batches if grid.pipeline > 1 else 1
        reason = refused(network, grid, batch)
        if not reason and batch % (grid.data * parts):
            reason = f"data {grid.data} times {parts} micro-batches do not divide {batch} samples"
        split: Sizes = {"batch": batch, "micro_batches": parts, "itemsize": itemsize}
        time = NEVER if reason else seconds(network, grid, cluster, **split)
        choices.append(RankedGrid(grid, reason, parts, time))
    return sorted(choices, key=lambda choice: choice.seconds.total)


def _best(
    network: LayerStack, grid: Grid, cluster: Cluster, batch: int, sizes: Sizes, memories: Sizes
) -> RankedGrid:
    if reason := refused(network, grid, batch):
        return RankedGrid(grid, reason)
    # Of stages alike the first holds most: it has most micro-batches in flight.
    stages = network.stages(grid.pipeline)
    first = {stage: place for place, stage in reversed(list(enumerate(stages)))}
    ranks = [place * grid.stride("pipeline") for place in first.values()]
    best = RankedGrid(grid)
    needs: list[float] = []
    # The most first: their bubble is the shortest, and fewer are walked through with messages only
    # where their bubble alone does not take longer than the best step so far.
    for micro_batches in reversed(divisors(batch // grid.data)):
        split: Sizes = {"batch": batch, "micro_batches": micro_batches}
        on_ranks = (memory.held(network, grid, rank, **split, **memories) for rank in ranks)
        most = max(on_ranks, key=lambda rank: rank.total)
        needs.append(most.total / 1e9)
        if most.total <= cluster.memory:
            limit = best.seconds.total
            time = seconds(network, grid, cluster, **split, **sizes, most=limit)
            if time.total <= limit:
                best = RankedGrid(grid, "", micro_batches, time, most)
    if not best.micro_batches:
        there = cluster.memory / 1e9
        return RankedGrid(grid, f"a rank would hold {min(needs):,.1f} GB and has {there:,.1f}")
    return best


def refused(network: LayerStack, grid: Grid, batch: int) -> str:
    """The reason why this grid cannot train this network; empty if it can."""
    units = {units for layer in network.layers for units, _ in layer.cuts}
    heads = {layer.heads for layer in network.layers if layer.heads}
    for what, numbers in (("heads", heads), ("columns", units - heads)):
        for number in sorted(numbers):
            if grid.tensor > number:
                return f"{number} {what} are too few for tensor {grid.tensor}"
    if any(head % grid.tensor for head in heads):
        return f"tensor {grid.tensor} does not divide {min(heads)} heads"
    if grid.pipeline > len(network.layers):
        return f"{len(network.layers)} layers are too few for pipeline {grid.pipeline}"
    if network.length % grid.context:
        return f"context {grid.context} does not divide {network.length} positions"
    if batch % grid.data:
        return f"data {grid.data} does not divide a batch of {batch}"
    return ""


def why(choice: RankedGrid, best: RankedGrid) -> str:
    """Two lines about a grid: how far it is from the best, and what it spends most on."""
    if choice.refused:
        return f"{choice.grid}: cannot be, {choice.refused}"
    time = choice.seconds
    share = getattr(time, time.largest_price) / time.total
    behind = time.total / best.seconds.total
    names = {"bubble": "the bubble", "pipeline": "messages between stages",
             "tensor": "sums along tensor", "context": "keys and values going round",
             "data": "averaging gradients"}  # fmt: skip
    return (
        f"{choice.grid}:\n    {behind:.2f} times the best; {time.compute / time.total:.0%} is "
        f"computing, {share:.0%} {names[time.largest_price]}"
    )
