"""Seconds of an average over all ranks, in several compressors or at several bandwidths.

What is compared takes turns, so that whatever disturbs the machine disturbs all of it. On real
ranks packing and unpacking are real. The links are what they are, as on the nodes of a box; a
`bandwidth` slows them by injected delay (`measure.slow_links`): say so beside the figures. A
bandwidth of `inf` is no delay at all.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import cast

import numpy as np

from ddl_measure.repetitions import side_by_side
from ddl_measure.slow_links import SlowLinks
from ddl_measure.slowest_rank import slowest_in_turns
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm
from ddl_teach.training.compression.averaging import Average, averager
from ddl_teach.training.compression.compressor import Compressor


def averages(
    comm: Comm, compressor: Compressor, size: int, bandwidths: Sequence[float], turns: int = 5
) -> np.ndarray:
    """This rank's seconds for vectors of `size` float32 numbers: turn, bandwidth."""
    room = _gradient(comm, size)
    ways = {rate: partial(_averager(comm, compressor, size, rate), room) for rate in bandwidths}
    times = side_by_side(ways, repetitions=turns, warm_up=0, before=_refill(comm, room),
                         clock=comm.now)  # fmt: skip
    return np.stack([times[rate] for rate in bandwidths], axis=1)


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
    and who shares a core with others shares it here too."""
    x = _gradient(comm, size)
    streams = {name: compressor.stream(comm.rank) for name, compressor in compressors.items()}
    packs = {name: partial(stream.encode, x) for name, stream in streams.items()}
    unpacks = {
        name: partial(compressor.decode, packs[name](), size)
        for name, compressor in compressors.items()
    }
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
