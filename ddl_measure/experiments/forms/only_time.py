"""The mean in packed messages, where only its time matters: phantoms in place of bytes.

The messages are those of `averaging`, packing and unpacking are `comm.work`. So 1,000 simulated
ranks can tell when compression pays, on a network of any shape, without a byte being packed.
What to look at: on a uniform network the times are those of `theory.compression`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ddl_runtime.simulator.simulate import simulate
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach.collectives import pairwise, ring
from ddl_teach.comm import Comm, Phantom


def dense(comm: Comm, nbytes: int) -> None:
    """A ring all-reduce of the vector as it is."""
    ring.allreduce(comm, Phantom(nbytes))


def gathered(comm: Comm, message: int, encode: float, decode: float) -> None:
    """Everybody gets everybody's message of so many bytes; packing one takes `encode` seconds."""
    comm.work(seconds=encode)
    ring.allgather(comm, Phantom(message * comm.size))
    comm.work(seconds=decode * comm.size)


def owners(comm: Comm, message: int, encode: float, decode: float) -> None:
    """Parts of messages to their owners, and the owners' means to all."""
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
    return [simulate(way, ranks, network=it, trace=False, **given).time for it in networks]
