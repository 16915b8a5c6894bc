"""A convolution on tiles without its numbers: how long ranks compute, and wait for edges.

Edges are phantoms, so that thousands of ranks and images of any size fit into one process. The
messages are those of `halo`, rows first and then columns of the longer tile; with `overlap` the
pieces are those of `overlapped`, each computed as soon as it can be.
What to look at: the timeline of both. Overlap hides a halo until tiles are so small that there is
nothing inside them to hide it behind.
"""

import math
from collections.abc import Iterable

from ddl_runtime.simulator.simulate import simulate
from ddl_runtime.topologies.point_to_point import Machine, Uniform
from ddl_teach.comm import Comm, Phantom, Request
from ddl_teach.networks.shares import share
from ddl_teach.networks.spatial.tiles import tiles as arranged
from ddl_teach.theory import halo as theory


def convolution(
    comm: Comm, grid: tuple[int, int], image: tuple[int, int], *, reach: int, flops: float,
    point_bytes: int, overlap: bool = False,
) -> float:  # fmt: skip
    """One layer forwards, on `grid` = (rows, columns) of tiles; returns the seconds it took.

    A point of the output takes `flops` operations and one of the input has `point_bytes` bytes,
    of all maps and images together. Windows have `reach` points (odd) each way.
    """
    place, edge = arranged(comm, *grid), (reach - 1) // 2
    height, width = (
        len(share(points, one.size, one.rank))
        for points, one in zip(image, (place.down, place.across), strict=True)
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


def compared(
    counts: Iterable[int], points: int, *, maps: int, images: int, network: Uniform,
    rate: float = 1e14,
) -> tuple[dict[str, tuple], dict[str, tuple]]:  # fmt: skip
    """Seconds by formula and simulated, over square numbers of tiles, with overlap and without.

    Of a 3 x 3 convolution on square images of so many `points`, as many maps in as out, in half
    precision, on ranks that make `rate` operations a second.
    """
    counts, predicted, simulated = list(counts), {}, {}
    latency, per_byte = network.fixed_link
    flops = images * 2 * 9 * maps**2
    for name, overlap in (("halo first", False), ("overlapped", True)):
        layer = {"reach": 3, "point_bytes": 2 * images * maps, "overlap": overlap}
        formula, times = [], []
        for count in counts:
            side = math.isqrt(count)
            own = points // side
            costs = {"per_point": flops / rate, "latency": latency, "per_byte": per_byte}
            formula.append(theory.seconds(own, own, **costs, **layer))
            run = simulate(
                convolution, count, grid=(side, side), image=(points, points), flops=flops,
                **layer, network=network, machine=Machine(flops=rate), trace=False,
            )  # fmt: skip
            times.append(max(run.results))
        predicted[name], simulated[name] = (counts, formula), (counts, times)
    return predicted, simulated


def _begin(comm: Comm, nbytes: int) -> list[Request]:
    """Swap edges of so many bytes with both neighbours."""
    neighbours = [rank for rank in (comm.rank - 1, comm.rank + 1) if 0 <= rank < comm.size]
    receives = [comm.irecv(Phantom(nbytes), rank) for rank in neighbours]
    return receives + [comm.isend(Phantom(nbytes), rank) for rank in neighbours]


def _wait(requests: list[Request]) -> None:
    for request in requests:
        request.wait()
