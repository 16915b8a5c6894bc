"""How simulated ranks exchange messages: virtual time, and nothing else, is spent."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from ddl_teach.comm import arrays
from ddl_teach.comm.arrays import TYPE_NAMES, Array, Phantom, describe
from ddl_teach.comm.devices import device_of
from ddl_teach.comm.devices.choice import Preference
from ddl_teach.comm.interface import ANY, Comm, Request, not_waited_for
from ddl_teach.comm.ledger import DEVICE_KINDS, Ledger
from ddl_teach.comm.simulated_channels import (
    CHUNKS,
    COST,
    HEAD,
    NBYTES,
    PAYLOAD,
    WAITER,
    Channel,
    Turn,
)
from ddl_teach.comm.simulated_devices import Snapshot, arrive, hand_over, leave, way_of
from ddl_teach.comm.simulated_rank import SimulatedRequest, Strand
from ddl_teach.comm.story import MessageMismatch, mismatch_text

if TYPE_CHECKING:
    from ddl_teach.comm.simulator import Simulation


class SimulatedMessages(Comm):
    """The part of a simulated communicator that sends and receives."""

    def __init__(
        self, simulation: Simulation, strand: Strand, members: Sequence[int], rank: int,
        context: int, label: str = "",
    ) -> None:  # fmt: skip
        self.rank = rank
        self.size = len(members)
        network = simulation.network
        self.node = network.node(strand.host.index)
        self.ledger = Ledger(strand.host.ledger)
        self.label = label
        self.host_link = simulation.host_link
        self._simulation = simulation
        self._strand = strand
        self._host = strand.host
        self._members = members
        self._context = context  # group and channel: part of what must match
        self._kind = label or "host"
        # Ranks that share memory count up numbers there, which are no messages.
        self._entries = deque(maxlen=0) if label == "fence" else strand.host.ledger
        self._spans = None if label else strand.host.spans
        self._overhead = network.overhead
        self._fixed_link = None if network.shared else network.fixed_link
        self._plain = (
            self._fixed_link is not None
            and not simulation.jitters
            and network.overhead == network.gap == 0
            and simulation.eager == inf
        )
        simulation.groups.members.setdefault(context, members)

    @property
    def _preference(self) -> Preference:
        if self._host.preference is None:
            self._host.preference = Preference()
        return self._host.preference

    # -- sending ----------------------------------------------------------------------------

    def _post(self, x: Array, to: int, tag: int, verb: str) -> SimulatedRequest:
        """Put a message on its way."""
        to, tag = self._check(to, tag, verb)
        nbytes, code = describe(x)
        host, strand, simulation = self._host, self._strand, self._simulation
        kind, device = self._kind, None
        if code and x.__class__ is not np.ndarray and nbytes:
            device = device_of(x)
        if device is None:
            payload = arrays.as_bytes(x).copy() if code and nbytes else None
        else:
            payload, way = Snapshot(device, x, nbytes), way_of(self, nbytes)
            kind = self.label or DEVICE_KINDS[way.path]
        dest = simulation.hosts[self._members[to]]
        channel = dest.channel(self.rank, tag, code, self._context)
        key = self.rank, tag, code, self._context
        self._entries.append((dest.index, tag, nbytes, kind))
        request = SimulatedRequest(self, verb.replace("sendrecv to", "send"))
        request.goal, request.y = (to, tag), x
        if device is not None:
            request.copied = payload.bytes
        eager = nbytes <= simulation.eager
        strand.clock += self._overhead
        if simulation.flows is None:
            latency, per_byte = self._fixed_link or simulation.network.link(host.index, dest.index)
            cost = nbytes * per_byte
            if host.strands > 1:
                self._await_turn(strand.clock)
            if simulation.jitters:
                latency += simulation.delay(host, latency)
            if device is None:
                start = strand.clock if strand.clock > host.out_free else host.out_free
                request.left = start + cost
                host.out_free = request.left + simulation.gap
                message = (start + latency, cost, nbytes, payload)
            else:
                start, request.left, chunks = leave(self, nbytes, way, latency, per_byte)
                head, cost, _ = chunks[-1]
                message = [head, cost, nbytes, payload, None, request, chunks]
                request.asked = 0.0 if eager else None
            if eager:
                request.done_at = request.left
            elif device is None:
                message = [*message, None, request]
            if self._spans is not None:
                span = ("send", "send", start, request.left, dest.index, tag, nbytes)
                self._spans.append(span)
        else:
            message = [None, 0.0, nbytes, payload, None, request]
            request.asked = 0.0 if eager else None
            simulation.start_flow(message, strand.clock, channel, key, self._spans)
        if channel.asked is not None:
            receiver = channel.next_asked()
            simulation.asked_for(message, receiver.begun)
            simulation.hand_over(message, receiver)
        else:
            channel.put(message)
        if dest.attentive:
            simulation.offer(dest, channel, key)
        return request

    def isend(self, x: Array, to: int, tag: int = 0) -> Request:
        return self._post(x, to, tag, "isend")

    def send(self, x: Array, to: int, tag: int = 0) -> None:
        self._finish(self._post(x, to, tag, "send"))

    def _finish(self, request: SimulatedRequest) -> None:
        """Wait for a request, and do what its end demands."""
        if request.turn is not None:
            self._choose([request])
            return
        if request.key is None:
            if request.done_at is None:
                self._block(request, (self, request.what, request.goal or (), request.y))
            self._strand.clock = max(self._strand.clock, request.done_at)
            if request.copied is not None:
                request.copied()
        else:
            if request.message is None:
                self._block(request, (self, request.what, request.key, request.y))
            del self._host.open[request]
            self._complete(request.message, request.y, request.key, request.begun)
        request.waited = True

    # -- receiving --------------------------------------------------------------------------

    def irecv(self, x: Array, source: int, tag: int = 0) -> Request:
        return self._begin_receive(x, source, tag, "irecv")

    def _begin_receive(self, x: Array, source: int, tag: int, verb: str) -> SimulatedRequest:
        source, tag = self._check(source, tag, verb)
        request = SimulatedRequest(self, verb)
        request.key = (source, tag, describe(x)[1], self._context)
        arrays.check_writable(x)
        request.y = x
        request.begun = self._strand.clock
        self._host.begin_receive(request)
        return request

    def recv(self, x: Array, source: int, tag: int = 0) -> int:
        if source == ANY or self._host.turns:
            return self._begin_receive(x, source, tag, "recv").wait()
        channel = self._channel(x, source, tag, "recv")
        return self._receive(channel, x, (source, tag), self._strand.clock, "recv")

    def _channel(self, y: Array, source: int, tag: int, verb: str) -> Channel:
        """The channel that a receive into `y` takes its message from."""
        source, tag = self._check(source, tag, verb)
        code = describe(y)[1]
        arrays.check_writable(y)
        return self._host.channel(source, tag, code, self._context)

    def _receive(
        self, channel: Channel, y: Array, key: tuple[int, int], begun: float, verb: str
    ) -> int:
        message = channel.take()
        self._simulation.asked_for(message, begun)
        message = message or self._await(channel, (self, verb, key, y))
        return self._complete(message, y, key, begun)

    def _await(self, channel: Channel, wait: tuple) -> Any:
        strand = self._strand
        channel.ask(strand)
        strand.blocked_on = strand
        strand.wait = wait
        self._simulation.next_strand(strand)
        return strand.message

    def _complete(self, message: list, y: Array, key: tuple, begun: float) -> int:
        """Wait until the message is in, and hand its data over."""
        strand = self._strand
        device = None
        if y.__class__ is not np.ndarray and y.__class__ is not Phantom:
            device = device_of(y)
        if message[HEAD] is None:
            message[WAITER] = strand
            self._block(message, (self, "recv", key, y))
        arrival = message[HEAD]
        if self._simulation.flows is None:
            if self._host.strands > 1:
                self._await_turn(arrival)
            if device is None and len(message) <= CHUNKS:
                arrival = self._host.drain(arrival, message[COST])
            else:
                arrival = arrive(self, message, device, begun)
        if arrival > strand.clock:
            strand.clock = arrival
        strand.clock += self._overhead
        source, tag = key[0], key[1]
        nbytes = message[NBYTES]
        if nbytes != y.nbytes:
            wanted, code = describe(y)
            name = TYPE_NAMES[code]
            world, sender = strand.host.index, self._members[source]
            raise MessageMismatch(
                mismatch_text(world, sender, tag, (nbytes, name), (wanted, name))
            )
        if message[PAYLOAD] is not None:
            hand_over(message[PAYLOAD], y, device)
        if self._spans is not None:
            world = self._members[source]
            self._spans.append(("recv", "recv", begun, strand.clock, world, tag, nbytes))
        return source

    def wait_any(self, requests: Sequence[Request]) -> int:
        chosen = self._choose(not_waited_for(requests))
        return next(i for i, request in enumerate(requests) if request is chosen)

    def _choose(self, requests: list[SimulatedRequest]) -> SimulatedRequest:
        """Block until the earliest of the requests is done, and finish it."""
        strand, host = self._strand, self._host
        host.choosers.append(strand)
        host.attentive = True
        chosen = None
        try:
            while chosen not in requests:
                strand.wait = (self, "wait_any", requests, None)
                self._simulation.offer(host)
                self._block(strand.wait, strand.wait)
                event, strand.message = strand.message[1], None
                chosen = host.take_earliest(event) if isinstance(event, Turn) else event
        finally:
            host.choosers.remove(strand)
            host.attentive = bool(host.choosers or host.turns)
        chosen.comm._finish(chosen)
        return chosen

    def _await_turn(self, time: float) -> None:
        """Where strands share a rank's ports: let everything earlier in virtual time go first."""
        wait = (self, "turn", (), None)
        self._simulation.offer_turn(self._strand, time, wait)
        self._block(wait, wait)

    def _block(self, awaited: Any, wait: tuple) -> None:
        strand = self._strand
        strand.blocked_on = awaited
        strand.wait = wait
        self._simulation.next_strand(strand)
