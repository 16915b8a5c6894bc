"""Seconds of an average over all ranks in packed messages, measured and simulated.

What is compared takes turns, so that whatever disturbs the machine disturbs all of it. On real
ranks packing and unpacking are real. The links are what they are, as on the nodes of a box; a
`bandwidth` slows them by injected delay (`measure.slow_links`): say so beside the figures. A
bandwidth of `inf` is no delay at all. On simulated ranks messages are phantoms and packing is
`comm.work`, so 1,000 ranks can show when compression pays, on a network of any shape. What to look
at: on a uniform network those times are `theory.compression`'s.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from ddl_measure.repetitions import own_turns, slowest_in_turns
from ddl_measure.slow_links import SlowLinks
from ddl_runtime.simulator.simulate import simulate
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach.collectives import pairwise, ring
from ddl_teach.comm import Comm, Phantom
from ddl_teach.training.compression.averaging import Average, averager
from ddl_teach.training.compression.compressor import Compressor


def averages(
    comm: Comm, compressor: Compressor, size: int, bandwidths: Sequence[float], turns: int = 5
) -> np.ndarray:
    """This rank's seconds for vectors of `size` float32 numbers: turn, bandwidth."""
    room = _gradient(comm, size)
    ways = [partial(_averager(comm, compressor, size, rate), room) for rate in bandwidths]
    return own_turns(comm, ways, turns, _refill(comm, room))


def in_turns(
    comm: Comm,
    compressors: Mapping[str, Compressor],
    size: int,
    turns: int,
    bandwidth: float = math.inf,
) -> dict[str, np.ndarray]:
    """The slowest rank's seconds of an average in each compressor, turn by turn; on all ranks."""
    room = _gradient(comm, size)
    ways = {
        name: partial(_averager(comm, compressor, size, bandwidth), room)
        for name, compressor in compressors.items()
    }
    return slowest_in_turns(comm, ways, turns, _refill(comm, room))


def packing(
    comm: Comm, compressors: Mapping[str, Compressor], size: int, turns: int
) -> dict[str, tuple[float, float]]:
    """Seconds to pack a vector, and to unpack a message; all ranks do it at once, as they will,
    and ranks that share a core share it here too."""
    x = _gradient(comm, size)
    packs, unpacks = {}, {}
    for name, compressor in compressors.items():
        packs[name] = partial(compressor.stream(comm.rank).encode, x)
        unpacks[name] = partial(compressor.decode, packs[name](), size)
    packed, unpacked = (slowest_in_turns(comm, ways, turns) for ways in (packs, unpacks))
    return {
        name: (float(np.median(packed[name])), float(np.median(unpacked[name])))
        for name in compressors
    }


def _averager(comm: Comm, compressor: Compressor, size: int, bandwidth: float) -> Average:
    streams = cast("Comm", SlowLinks(comm, bandwidth)) if bandwidth < math.inf else comm
    return averager(streams, compressor, size, ring.allreduce)


def _refill(comm: Comm, room: np.ndarray) -> Callable[[], None]:
    """Before each turn: the same numbers again, and a barrier."""
    numbers = room.copy()

    def refill() -> None:
        room[:] = numbers
        comm.barrier()

    return refill


def _gradient(comm: Comm, size: int) -> np.ndarray:
    return np.random.default_rng(comm.rank).standard_normal(size, np.float32)


def dense(comm: Comm, nbytes: int) -> None:
    """A ring all-reduce of the vector as it is, without its numbers."""
    ring.allreduce(comm, Phantom(nbytes))


def gathered(comm: Comm, message: int, encode: float, decode: float) -> None:
    """All ranks get all messages, each of `message` bytes; packing one takes `encode` seconds."""
    comm.work(seconds=encode)
    ring.allgather(comm, Phantom(message * comm.size))
    comm.work(seconds=decode * comm.size)


def owners(comm: Comm, message: int, encode: float, decode: float) -> None:
    """A rank program: each rank averages its part of all messages, and sends it to all."""
    comm.work(seconds=encode)
    message -= message % comm.size  # parts that are equal
    pairwise.alltoall(comm, Phantom(message), Phantom(message))
    comm.work(seconds=decode + encode / comm.size)
    ring.allgather(comm, Phantom(message))
    comm.work(seconds=decode)


def sweep(
    way: Callable[..., None], ranks: int, bandwidths: Sequence[float], latency: float = 0.0,
    **given: Any,
) -> list[float]:  # fmt: skip
    """The virtual seconds of one of these ways, on a uniform network of each bandwidth."""
    networks = [Uniform(latency, bandwidth) for bandwidth in bandwidths]
    return [
        simulate(way, ranks, network=network, trace=False, **given).time for network in networks
    ]
