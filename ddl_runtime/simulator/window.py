"""Windows of simulated ranks: what is read is what stood there at that moment of virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ddl_runtime.core.window import SharedMemory, Window, check_one_node
from ddl_runtime.simulator.context import SimulatedContext
from ddl_runtime.simulator.point_to_point import PointToPoint
from ddl_runtime.simulator.rank_state import HEAD, Host, SimulatedRequest


class Windows:
    """What the ranks of one communicator show each other; `meet` waits for all of them."""

    def __init__(self, messages: PointToPoint, meet: Callable[[str], None]) -> None:
        self._messages = messages
        self._context = messages.context
        self._meet = meet
        self._memories = 0

    def shared_memory(self, nbytes: int) -> SharedMemory:
        context = self._context
        check_one_node(map(context.simulation.network.node, context.members))
        parts = self._shown(np.zeros(nbytes, np.uint8), "shared_memory")
        return SharedMemory(parts, lambda: self._meet("fence"))

    def window(self, size: int, dtype: Any) -> SimulatedWindow:
        return SimulatedWindow(self._messages, self._shown(np.zeros(size, dtype), "window"))

    def _shown(self, own: np.ndarray, meeting: str) -> list[np.ndarray]:
        """The arrays of all ranks, once each has given its `own`."""
        context = self._context
        self._memories += 1
        key = context.number, self._memories
        memory = context.simulation.memories.setdefault(key, {})
        memory[context.rank] = own
        self._meet(meeting)
        return [memory[rank] for rank in range(context.size)]


class SimulatedWindow(Window):
    """A window of all ranks' arrays, and what it costs to reach into them."""

    def __init__(self, messages: PointToPoint, arrays: list[np.ndarray]) -> None:
        self._context: SimulatedContext = messages.context
        self.own = arrays[self._context.rank]
        self.sizes = [len(array) for array in arrays]
        self._arrays = arrays
        self._messages = messages

    def _read(self, out: np.ndarray, source: int, start: int) -> None:
        context, begun = self._context, self._begin()
        owner = self._host(source)
        asked_at = begun + self._latency(context.host, owner)
        context.await_turn(asked_at)  # whatever is written there before is done
        out[...] = self._arrays[source][start : start + len(out)]
        context.strand.clock = self._travel(owner, context.host, out.nbytes, asked_at)
        owner.ledger.append((context.host.index, 0, out.nbytes, "get"))
        self._note("get", "recv", begun, owner, out.nbytes)

    def _write(self, verb: str, x: np.ndarray, to: int, start: int) -> None:
        there = self._reach(verb, x, to, start)
        there[...] = x if verb == "put" else there + x

    def _fetch(self, x: np.ndarray, to: int, place: int) -> float:
        there = self._reach("add", x, to, place)
        before: float = there[0].item()
        there += x
        self._host(to).ledger.append((self._context.host.index, 0, x.nbytes, "get"))
        return before

    def _reach(self, verb: str, x: np.ndarray, to: int, start: int) -> np.ndarray:
        """Let the bytes travel; returns the place that they reach, when it is time to write."""
        context, begun = self._context, self._begin()
        owner = self._host(to)
        arrival = self._travel(context.host, owner, x.nbytes, begun)
        context.await_turn(arrival)
        # The writer goes on when the answer that all is done has arrived.
        context.strand.clock = arrival + self._latency(owner, context.host)
        context.entries.append((owner.index, 0, x.nbytes, verb))
        self._note(verb, "send", begun, owner, x.nbytes)
        return self._arrays[to][start : start + len(x)]

    def _begin(self) -> float:
        """Wait until all earlier events in virtual time are done, which may use the same ports;
        returns the time when the call begins."""
        context = self._context
        context.await_turn(context.strand.clock)
        context.strand.clock += context.simulation.network.overhead
        return context.strand.clock

    def _travel(self, source: Host, dest: Host, nbytes: int, begun: float) -> float:
        """The time when `nbytes` bytes that `source` begins to send have all arrived at `dest`."""
        context, simulation = self._context, self._context.simulation
        if simulation.flows is None:
            latency, per_byte = simulation.network.link(source.index, dest.index)
            start = max(begun, source.out_free)
            source.out_free = start + nbytes * per_byte + simulation.gap
            return dest.drain(start + latency, nbytes * per_byte)
        request = SimulatedRequest(self._messages, "window")
        request.asked = 0.0
        request.strand = source.main  # whose links they leave by
        message = [None, 0.0, nbytes, None, context.strand, request]
        channel = dest.channel(source.index, 0, 0, -1)
        route, key = simulation.route(source.index, dest.index), (source.index, 0, 0, -1)
        simulation.start_flow(message, begun, route, channel, key, None)
        context.block(message, (context, "window", (), None))
        return message[HEAD]

    def _latency(self, source: Host, dest: Host) -> float:
        return self._context.simulation.losses.latency(source.index, dest.index)

    def _host(self, rank: int) -> Host:
        return self._context.simulation.hosts[self._context.members[rank]]

    def _note(self, verb: str, kind: str, begun: float, owner: Host, nbytes: int) -> None:
        spans, end = self._context.spans, self._context.strand.clock
        if spans is not None:
            spans.append((verb, kind, begun, end, owner.index, 0, nbytes))
