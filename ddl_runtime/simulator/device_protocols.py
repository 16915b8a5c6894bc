"""Arrays on devices, between simulated ranks: their bytes exact, their copies in virtual time.

    copy out    an engine for each rank and way: start + n / bandwidth of the `HostLink`
    the wire    ports and latency as of any message, each chunk by itself
    copy in     when a chunk has arrived, its receive was begun, and the engine is free

so a lone message takes exactly what `theory.staging` says. Where the network has no host link, its
cards read the devices' memory: every message goes directly. The bytes are copied when the message
is sent, in the order of the device's streams; virtual time knows nothing of kernels.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_runtime.core.arrays import Array, as_bytes
from ddl_runtime.devices.choice import Reach
from ddl_runtime.devices.device import Device
from ddl_runtime.devices.staging import in_chunks, marked, stored
from ddl_runtime.simulator.context import SimulatedContext
from ddl_runtime.simulator.rank_state import CHUNKS, NBYTES

Chunks = list[tuple[float, float, int]]  # when its head arrives, what it costs a port, its bytes


class Snapshot:
    """The bytes of an array as they were, or will be, when it was sent."""

    def __init__(self, device: Device, x: Array, nbytes: int) -> None:
        self._device = device
        self._host = device.pinned(nbytes)
        stream = device.new_stream()
        device.wait(stream, marked(device, x))
        device.to_host(x, 0, self._host, stream)
        self._copied = device.record(stream)

    def bytes(self) -> np.ndarray:
        """The bytes, once the device has copied them."""
        self._device.drain(self._copied)
        return self._host


def way_of(context: SimulatedContext, nbytes: int) -> Reach:
    """Which way a message takes here."""
    return context.preference.reach(nbytes, direct=context.simulation.host_link is None)


def leave(
    context: SimulatedContext, nbytes: int, way: Reach, latency: float, per_byte: float
) -> tuple[float, float, Chunks]:
    """Copy out and send chunk after chunk: when the first begins to leave, when the last has
    left, and when each will arrive."""
    host, now = context.host, context.strand.clock
    copies_out = way.path != "direct" and context.simulation.host_link is not None
    chunks, first = [], None
    for _, size in in_chunks(nbytes, way.chunk if way.path == "pipelined" else nbytes):
        ready = max(now, host.copy_out_free) if copies_out else now
        if copies_out:
            ready = host.copy_out_free = _copy(context, "copy out", ready, size)
        start = max(ready, host.out_free)
        first = start if first is None else first
        left = start + size * per_byte
        host.out_free = left + context.simulation.gap
        chunks.append((start + latency, size * per_byte, size))
    return first, left, chunks


def arrive(
    context: SimulatedContext, message: Sequence[Any], device: Device | None, begun: float
) -> float:
    """Take a message from the wire, chunk after chunk, into a device if there is one; returns
    when the last byte is where it belongs."""
    host = context.host
    chunks = message[CHUNKS] if len(message) > CHUNKS else [message[: NBYTES + 1]]
    copies_in = device is not None and context.simulation.host_link is not None
    if copies_in and len(chunks) == 1:
        copies_in = way_of(context, message[NBYTES]).path != "direct"
    for head, cost, size in chunks:
        arrival = host.drain(head, cost)
        if copies_in:
            start = max(arrival, begun, host.copy_in_free)
            arrival = host.copy_in_free = _copy(context, "copy in", start, size)
    return arrival


def hand_over(payload: bytearray | Snapshot, y: Array, device: Device | None) -> None:
    """Write the bytes of a message into `y`."""
    sent = payload.bytes() if isinstance(payload, Snapshot) else payload
    if device is None:
        as_bytes(y)[:] = sent
    else:
        stored(device, y, np.frombuffer(sent, np.uint8))


def _copy(context: SimulatedContext, way: str, start: float, nbytes: int) -> float:
    end = start + context.simulation.host_link.seconds(nbytes)
    if context.spans is not None:
        context.spans.append((way, way, start, end, -1, -1, nbytes))
    return end
