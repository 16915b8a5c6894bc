"""Layers that only take time: the work and the messages of the real ones, without the numbers.

Rows, edges and weights are phantoms, so that thousands of ranks and layers of any width fit into
one process: experts on many ranks, convolutions on tiles, pairs of fully connected layers, states
of an optimizer in shards. `theory.halo` and `theory.split_layers` say the same in formulas.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ddl_runtime.simulator.simulate import simulate
from ddl_runtime.topologies.point_to_point import Machine, Uniform
from ddl_teach.collectives import rabenseifner, ring
from ddl_teach.comm import Comm, Phantom, Request, split_evenly
from ddl_teach.networks.shares import share
from ddl_teach.networks.spatial.tiles import tiles
from ddl_teach.theory import halo
from ddl_teach.theory.experts import COUNT
from ddl_teach.theory.machine import Link
from ddl_teach.theory.split_layers import pair_time

Lines = dict[str, tuple[list[int], Sequence[float]]]
"""By name: numbers of ranks, and the seconds on each of them."""

FLOPS = 1e14  # operations a second of a rank in both comparisons


def experts(
    comm: Comm, rows: Sequence[Sequence[int]], owners: Sequence[int], width: int, hidden: int
) -> int:
    """One forward pass of spread experts, in numbers of 4 bytes; returns the rows of this rank's.

    `rows[r][e]` is how many rows rank r has for expert e, which lies on rank `owners[e]`: counts,
    rows to their experts, the experts' work, answers back. What to look at: the layer takes as
    long as its most liked rank. A capacity cuts that off, and so does a balance loss.
    """
    with comm.span("counts"):
        ring.allgather(comm, Phantom(comm.size * len(owners) * COUNT, len(owners) * COUNT))
    leaving = [0] * comm.size
    for expert, owner in enumerate(owners):
        leaving[owner] += rows[comm.rank][expert]
    mine = [expert for expert, owner in enumerate(owners) if owner == comm.rank]
    coming = [sum(own[expert] for expert in mine) for own in rows]
    with comm.span("dispatch"):
        _exchange(comm, leaving, coming, 4 * width)
    with comm.span("experts"):
        comm.work(flops=4 * width * hidden * sum(coming))  # two products of 2 operations each
    with comm.span("return"):
        _exchange(comm, coming, leaving, 4 * width)
    return sum(coming)


def _exchange(comm: Comm, leaving: Sequence[int], coming: Sequence[int], nbytes: int) -> None:
    """In step k send to rank + k and receive from rank - k, as the product does."""
    for step in range(1, comm.size):
        above, below = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        requests = []
        if coming[below]:
            requests.append(comm.irecv(Phantom(coming[below] * nbytes), below))
        if leaving[above]:
            requests.append(comm.isend(Phantom(leaving[above] * nbytes), above))
        _wait(requests)


def convolution(
    comm: Comm, grid: tuple[int, int], image: tuple[int, int], *, reach: int, flops: float,
    point_bytes: int, overlap: bool = False,
) -> float:  # fmt: skip
    """One layer forwards, on `grid` = (rows, columns) of tiles; returns the seconds it took.

    A point of the output takes `flops` operations and one of the input has `point_bytes` bytes,
    of all maps and images together. Windows have `reach` points (odd) each way. Edges go as in
    `halo`, rows first and then columns of the longer tile; with `overlap` each piece is computed
    as soon as it can be. What to look at: overlap hides a halo until tiles are so small that
    nothing is inside them.
    """
    place, edge = tiles(comm, *grid), (reach - 1) // 2
    height, width = (
        len(share(points, part.size, part.rank))
        for points, part in zip(image, (place.down, place.across), strict=True)
    )
    middle = max(width - 2 * edge, 0) if place.across.size > 1 else width
    core = max(height - 2 * edge, 0) * middle if place.down.size > 1 else height * middle
    comm.barrier()
    begun = comm.now()
    rows = _begin(place.down, edge * width * point_bytes)
    if overlap:
        comm.work(flops=core * flops)
    _wait(rows)
    columns = _begin(place.across, edge * (height + 2 * edge) * point_bytes)
    if overlap:
        comm.work(flops=(height * middle - core) * flops)
    _wait(columns)
    comm.work(flops=(height * (width - middle) if overlap else height * width) * flops)
    return comm.now() - begun


def _begin(comm: Comm, nbytes: int) -> list[Request]:
    """Begin to swap edges of `nbytes` bytes with both neighbours; returns the requests."""
    neighbours = [rank for rank in (comm.rank - 1, comm.rank + 1) if 0 <= rank < comm.size]
    receives = [comm.irecv(Phantom(nbytes), rank) for rank in neighbours]
    return receives + [comm.isend(Phantom(nbytes), rank) for rank in neighbours]


def _wait(requests: list[Request]) -> None:
    for request in requests:
        request.wait()


def compare_tiles(
    counts: Iterable[int], points: int, *, maps: int, images: int, network: Uniform
) -> tuple[Lines, Lines]:
    """Seconds by formula and simulated, over square numbers of tiles, with overlap and without.

    Of a 3 x 3 convolution on square images of `points` points, as many maps in as out, in half
    precision.
    """
    predicted: Lines = {}
    simulated: Lines = {}
    counts, flops = list(counts), images * 2 * 9 * maps**2
    given: dict[str, Any] = {"link": Link.of(network), "per_point": flops / FLOPS}
    for name, overlap in (("halo first", False), ("overlapped", True)):
        layer: dict[str, Any] = {"reach": 3, "point_bytes": 2 * images * maps, "overlap": overlap}
        formula, times = [], []
        for count in counts:
            side = math.isqrt(count)
            formula.append(halo.seconds(points // side, points // side, **given, **layer))
            run = simulate(
                convolution, count, grid=(side, side), image=(points, points), flops=flops,
                **layer, network=network, machine=Machine(flops=FLOPS), trace=False,
            )  # fmt: skip
            times.append(max(run.results))
        predicted[name], simulated[name] = (counts, formula), (counts, times)
    return predicted, simulated


def pair(comm: Comm, tokens: int, width: int, itemsize: int = 2) -> None:
    """One forward pass of a column-row pair, whose middle is four times as wide.

    16 tokens width^2 / P operations, and an all-reduce of tokens x width numbers. What to look at:
    the work shrinks with every rank, the sum does not.
    """
    comm.work(flops=16 * tokens * width**2 / comm.size)
    rabenseifner.allreduce(comm, Phantom(tokens * width * itemsize, itemsize))


def compare_pairs(
    counts: Iterable[int], *, tokens: int, width: int, network: Uniform = Uniform(2e-6, 100e9)
) -> tuple[Lines, Lines]:
    """Seconds over numbers of ranks, by formula and simulated: work alone, and with its sum."""
    layer: dict[str, Any] = {"tokens": tokens, "width": width}
    counts, costs = list(counts), layer | {"flops": FLOPS, "link": Link.of(network)}
    works, sums = zip(*(pair_time(ranks, **costs) for ranks in counts), strict=True)
    given = layer | {"network": network, "machine": Machine(flops=FLOPS), "trace": False}
    times = [simulate(pair, ranks, **given).time for ranks in counts]
    both = [work + its_sum for work, its_sum in zip(works, sums, strict=True)]
    predicted = {"work alone": (counts, works), "with its sum": (counts, both)}
    return predicted, {"with its sum": (counts, times)}


def sharded_step(
    comm: Comm, weights: Sequence[int], stage: int, seconds: float, itemsize: int = 2,
    state: int = 12,
) -> None:  # fmt: skip
    """One step of `weights[k]` weights in layer k, each of which computes for `seconds` seconds.

    Gradients are summed and parted, and weights put together once more: in stages 1 and 2 after
    the update, in stage 3 before they are needed, forwards and backwards. Nothing hides behind
    anything, so the order is of no consequence. What to look at: stage 3 sends half as much again,
    and holds a part of all, as `theory.memory` says, and one layer.
    """
    layers = [Phantom(numbers * itemsize, itemsize) for numbers in weights]
    own = sum(split_evenly(layer, comm.size)[comm.rank].nbytes for layer in layers)
    whole = sum(layer.nbytes for layer in layers)
    comm.hold(own if stage >= 3 else whole, "weights")
    comm.hold(own if stage >= 2 else whole, "gradients")
    comm.hold(own // itemsize * state, "states")
    for layer in layers:
        gathered = comm.hold(layer.nbytes if stage >= 3 else 0, "gathered layers")
        comm.work(seconds=seconds)
        with comm.hold(layer.nbytes if stage >= 2 else 0, "layers' gradients"):
            ring.reduce_scatter(comm, layer)
        for _ in range(2 if stage == 3 else 1):
            ring.allgather(comm, layer)
        gathered.release()
