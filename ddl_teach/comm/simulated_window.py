"""Windows of simulated ranks: what is read is what stood there at that moment of virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ddl_teach.comm.simulated_channels import HEAD
from ddl_teach.comm.simulated_rank import Host, SimulatedRequest
from ddl_teach.comm.window import Window

if TYPE_CHECKING:
    from ddl_teach.comm.simulated_comm import SimulatedComm


class SimulatedWindow(Window):
    """A window of all ranks' arrays, and what it costs to reach into them."""

    def __init__(self, comm: SimulatedComm, arrays: list[np.ndarray]) -> None:
        self.own = arrays[comm.rank]
        self.sizes = [len(array) for array in arrays]
        self._arrays = arrays
        self._comm = comm

    def get(self, out: np.ndarray, source: int, start: int = 0) -> None:
        self._check(out, source, start, "get")
        comm, begun = self._comm, self._begin()
        owner = self._host(source)
        asked_at = begun + self._latency(comm._host, owner)
        comm._await_turn(asked_at)  # whatever is written there before is done
        out[...] = self._arrays[source][start : start + len(out)]
        comm._strand.clock = self._travel(owner, comm._host, out.nbytes, asked_at)
        owner.ledger.append((comm._host.index, 0, out.nbytes, "get"))
        self._note("get", "recv", begun, owner, out.nbytes)

    def put(self, x: np.ndarray, to: int, start: int = 0) -> None:
        self._check(x, to, start, "put")
        place = self._write("put", x, to, start)
        place[...] = x

    def add(self, x: np.ndarray, to: int, start: int = 0) -> None:
        self._check(x, to, start, "add")
        place = self._write("add", x, to, start)
        place += x

    def fetch_and_add(self, amount: float, to: int, place: int = 0) -> float:
        x = np.array([amount], self.own.dtype)
        self._check(x, to, place, "fetch_and_add")
        there = self._write("add", x, to, place)
        before = there[0].item()
        there += x
        self._host(to).ledger.append((self._comm._host.index, 0, x.nbytes, "get"))
        return before

    def _write(self, verb: str, x: np.ndarray, to: int, start: int) -> np.ndarray:
        """Let the bytes travel; returns the place that they reach, when it is time to write."""
        comm, begun = self._comm, self._begin()
        owner = self._host(to)
        arrival = self._travel(comm._host, owner, x.nbytes, begun)
        comm._await_turn(arrival)
        # The writer goes on when it has heard that all is done.
        comm._strand.clock = arrival + self._latency(owner, comm._host)
        comm._entries.append((owner.index, 0, x.nbytes, verb))
        self._note(verb, "send", begun, owner, x.nbytes)
        return self._arrays[to][start : start + len(x)]

    def _begin(self) -> float:
        """When a call begins: after everything that is earlier in virtual time, for it may use
        the same ports."""
        comm = self._comm
        comm._await_turn(comm._strand.clock)
        comm._strand.clock += comm._overhead
        return comm._strand.clock

    def _travel(self, source: Host, dest: Host, nbytes: int, begun: float) -> float:
        """When so many bytes that `source` begins to send are all in at `dest`."""
        comm, simulation = self._comm, self._comm._simulation
        if simulation.flows is None:
            latency, per_byte = simulation.network.link(source.index, dest.index)
            start = max(begun, source.out_free)
            source.out_free = start + nbytes * per_byte + simulation.gap
            return dest.drain(start + latency, nbytes * per_byte)
        request = SimulatedRequest(comm, "window")
        request.asked = 0.0
        request.strand = source.main  # whose links they leave by
        message = [None, 0.0, nbytes, None, comm._strand, request]
        channel = dest.channel(source.index, 0, 0, -1)
        simulation.start_flow(message, begun, channel, (source.index, 0, 0, -1), None)
        comm._block(message, (comm, "window", (), None))
        return message[HEAD]

    def _latency(self, source: Host, dest: Host) -> float:
        network = self._comm._simulation.network
        if network.shared:
            return network.latency(source.index, dest.index)
        return network.link(source.index, dest.index)[0]

    def _host(self, rank: int) -> Host:
        return self._comm._simulation.hosts[self._comm._members[rank]]

    def _note(self, verb: str, kind: str, begun: float, owner: Host, nbytes: int) -> None:
        comm = self._comm
        if comm._spans is not None:
            span = (verb, kind, begun, comm._strand.clock, owner.index, 0, nbytes)
            comm._spans.append(span)
