"""How simulated ranks exchange messages: virtual time, and nothing else, is spent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ddl_teach.comm import arrays
from ddl_teach.comm.arrays import TYPE_NAMES, Array, Phantom, describe
from ddl_teach.comm.interface import ANY, HIGHEST_TAG, Comm, Request, not_waited_for
from ddl_teach.comm.ledger import Ledger
from ddl_teach.comm.simulated_channels import (
    COST,
    HEAD,
    NBYTES,
    PAYLOAD,
    WAITER,
    Channel,
    Turn,
)
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
        self._simulation = simulation
        self._strand = strand
        self._host = strand.host
        self._members = members
        self._context = context  # group and channel: part of what must match
        self._kind = label or "host"
        self._spans = None if label else strand.host.spans
        self._overhead = network.overhead
        self._fixed_link = None if network.shared else network.fixed_link
        self._plain = (
            self._fixed_link is not None
            and not simulation.jitters
            and network.overhead == network.gap == 0
        )
        self._lanes: dict[tuple[int, int, int], tuple] = {}
        simulation.members.setdefault(context, members)

    # -- sending ----------------------------------------------------------------------------

    def _post(self, x: Array, to: int, tag: int, verb: str) -> SimulatedRequest:
        """Put a message on its way."""
        to, tag = self._check(to, tag, verb)
        nbytes, code = describe(x)
        payload = arrays.as_bytes(x).copy() if code else None
        host, strand, simulation = self._host, self._strand, self._simulation
        dest = simulation.hosts[self._members[to]]
        channel = dest.channel(self.rank, tag, code, self._context)
        key = self.rank, tag, code, self._context
        host.ledger.append((dest.index, tag, nbytes, self._kind))
        request = SimulatedRequest(self, verb)
        strand.clock += self._overhead
        if simulation.flows is None:
            latency, per_byte = self._fixed_link or simulation.network.link(host.index, dest.index)
            cost = nbytes * per_byte
            start = strand.clock if strand.clock > host.out_free else host.out_free
            request.done_at = start + cost
            host.out_free = request.done_at + simulation.gap
            if simulation.jitters:
                latency += simulation.delay(host, latency)
            message = (start + latency, cost, nbytes, payload)
            if self._spans is not None:
                span = ("send", "send", start, request.done_at, dest.index, tag, nbytes)
                self._spans.append(span)
        else:
            message = [None, 0.0, nbytes, payload, None, request]
            simulation.start_flow(message, strand.clock, channel, key, self._spans)
        if channel.asked is not None:
            simulation.hand_over(message, channel.next_asked())
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
                self._block(request, (self, request.what, (), None))
            self._strand.clock = max(self._strand.clock, request.done_at)
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
        message = channel.take() or self._await(channel, (self, verb, key, y))
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
        if message[HEAD] is None:
            message[WAITER] = strand
            self._block(message, (self, "recv", key, y))
        arrival = self._host.drain(message[HEAD], message[COST])
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
            arrays.as_bytes(y)[:] = message[PAYLOAD]
        if self._spans is not None:
            world = self._members[source]
            self._spans.append(("recv", "recv", begun, strand.clock, world, tag, nbytes))
        return source

    def sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int:
        # Phantoms between two neighbours, written out flat: the path of a million messages.
        host = self._host
        lane = self._lanes.get((to, source, tag)) or self._lane(to, source, tag)
        if lane is None or type(x) is not Phantom or type(y) is not Phantom or host.turns:
            return self._sendrecv(x, to, y, source, tag)
        outgoing, incoming, dest, strand, latency, per_byte = lane
        begun = strand.clock
        start = host.out_free
        if start < begun:
            start = begun
        nbytes = x.nbytes
        cost = nbytes * per_byte
        host.out_free = left = start + cost
        entry = outgoing.entry
        if entry[2] != nbytes:
            outgoing.entry = entry = (dest.index, tag, nbytes, self._kind)
        host.ledger.append(entry)
        message = (start + latency, cost, nbytes, None)
        if outgoing.asked is not None:
            self._simulation.hand_over(message, outgoing.next_asked())
        elif outgoing.first is None:
            outgoing.first = message
        elif outgoing.others:
            outgoing.others.append(message)
        else:
            outgoing.put(message)
        if dest.attentive:
            self._simulation.offer(dest, outgoing, (self.rank, tag, 0, self._context))

        message = incoming.first
        if message is None:
            message = self._await(incoming, (self, "sendrecv", (source, tag), y))
        else:
            incoming.first = incoming.others.popleft() if incoming.others else None
        head, cost, size, _ = message
        if size != y.nbytes:
            return self._complete(message, y, (source, tag), begun)
        in_free = host.in_free
        if head > in_free:
            host.gaps.append((in_free, head))
            host.in_free = clock = head + cost
        else:
            clock = host.drain(head, cost)
        if clock < left:
            clock = left
        if clock > begun:
            strand.clock = clock
        if self._spans is not None:
            self._spans.append(("send", "send", start, left, dest.index, tag, nbytes))
            world = self._members[source]
            self._spans.append(("recv", "recv", begun, strand.clock, world, tag, size))
        return source

    def _lane(self, to: int, source: int, tag: int) -> tuple | None:
        """What a `sendrecv` of phantoms needs to know, remembered from the second time on."""
        if not (
            self._plain
            and to.__class__ is source.__class__ is tag.__class__ is int
            and 0 <= to < self.size > source >= 0 <= tag <= HIGHEST_TAG
        ):
            return None
        dest = self._simulation.hosts[self._members[to]]
        outgoing = dest.channel(self.rank, tag, 0, self._context)
        incoming = self._host.channel(source, tag, 0, self._context)
        lane = (outgoing, incoming, dest, self._strand, *self._fixed_link)
        if outgoing.used:
            self._lanes[to, source, tag] = lane
        outgoing.used = True
        return lane

    def _sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int) -> int:
        begun = self._strand.clock
        if source == ANY or self._host.turns or self._simulation.flows is not None:
            self._check(to, tag, "sendrecv to"), describe(x)  # refused before anything begins
            incoming = self._begin_receive(y, source, tag, "sendrecv")
            outgoing = self._post(x, to, tag, "sendrecv to")
            source = incoming.wait()
            outgoing.wait()
            return source
        channel = self._channel(y, source, tag, "sendrecv")
        left = self._post(x, to, tag, "sendrecv to").done_at
        self._receive(channel, y, (source, tag), begun, "sendrecv")
        if left > self._strand.clock:
            self._strand.clock = left
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
                event, strand.message = strand.message, None
                chosen = host.take_earliest(event) if isinstance(event, Turn) else event
        finally:
            host.choosers.remove(strand)
            host.attentive = bool(host.choosers or host.turns)
        chosen.comm._finish(chosen)
        return chosen

    def _block(self, awaited: Any, wait: tuple) -> None:
        strand = self._strand
        strand.blocked_on = awaited
        strand.wait = wait
        self._simulation.next_strand(strand)
