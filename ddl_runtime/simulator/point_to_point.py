"""How simulated ranks exchange messages: virtual time, and nothing else, is spent."""

from math import inf
from typing import Any

import numpy as np

from ddl_runtime.core import arrays
from ddl_runtime.core.arrays import Array, Phantom, describe, type_name
from ddl_runtime.core.checks import ANY, HIGHEST_TAG
from ddl_runtime.devices import device_of
from ddl_runtime.diagnosis.deadlock import MessageMismatch
from ddl_runtime.diagnosis.waits import Mismatch
from ddl_runtime.records.ledger import DEVICE_KINDS
from ddl_runtime.simulator.context import SimulatedContext
from ddl_runtime.simulator.device_protocols import Snapshot, arrive, hand_over, leave, way_of
from ddl_runtime.simulator.rank_state import (
    CHUNKS,
    COST,
    HEAD,
    LEFT,
    NBYTES,
    PAYLOAD,
    WAITER,
    Channel,
    SimulatedRequest,
    Turn,
)

Lane = tuple[Any, ...]


class PointToPoint:
    """The messages of one simulated rank on one communicator."""

    __slots__ = ("_fixed_link", "context", "host", "known", "latest", "source", "spans", "tag",
                 "to")  # fmt: skip

    def __init__(self, context: SimulatedContext) -> None:
        network = context.simulation.network
        self.context, self.host, self.spans = context, context.host, context.spans
        self._fixed_link = None if network.shared else network.fixed_link
        self.known: dict[tuple[int, int, int], Lane] = {}  # from the second message on
        self.latest: Lane | None = None  # the last lane, and what it is for
        self.to = self.source = self.tag = -1

    def lane(self, to: int, source: int, tag: int) -> Lane | None:
        """What messages of phantoms between neighbours need to know: the channels to and from
        them, and what each message costs. None where some cost more than that."""
        context, link, simulation = self.context, self._fixed_link, self.context.simulation
        lasts = None if simulation.flows is not None else simulation.eager < 0
        if not (
            (link is not None or lasts is None)
            and (lasts or simulation.eager == inf)
            and not simulation.jitters
            and simulation.network.overhead == simulation.gap == 0
            and to.__class__ is source.__class__ is tag.__class__ is int
            and 0 <= to < context.size > source >= 0 <= tag <= HIGHEST_TAG
        ):
            return None
        dest = simulation.hosts[context.members[to]]
        outgoing = dest.channel(context.rank, tag, 0, context.number)
        incoming = self.host.channel(source, tag, 0, context.number)
        if lasts is None:
            key = context.rank, tag, 0, context.number
            link = key, simulation.route(self.host.index, dest.index)
        lane = (outgoing, incoming, dest, context.strand, *link, lasts, context.members[source])
        if outgoing.used:
            self.known[to, source, tag] = lane
        outgoing.used = True
        return lane

    # -- sending ----------------------------------------------------------------------------

    def _post(self, x: Array, to: int, tag: int, verb: str) -> SimulatedRequest:
        """Put a message on its way."""
        context = self.context
        nbytes, code = describe(x)
        host, strand, simulation = context.host, context.strand, context.simulation
        kind, device = context.kind, None
        if code and x.__class__ is not np.ndarray and nbytes:
            device = device_of(x)
        payload: Any = None
        if device is None and code and nbytes:
            payload = bytearray(x.data if x.__class__ is np.ndarray else arrays.as_bytes(x).data)
        elif device is not None:
            payload, way = Snapshot(device, x, nbytes), way_of(context, nbytes)
            kind = context.label or DEVICE_KINDS[way.path]
        dest = simulation.hosts[context.members[to]]
        key = context.rank, tag, code, context.number
        channel = dest.channel(*key)
        context.entries.append((dest.index, tag, nbytes, kind))
        request = SimulatedRequest(self, verb.replace("sendrecv to", "send"))
        request.goal, request.y, request.kept = (to, tag), x, payload if host.watch else None
        if device is not None:
            request.copied = payload.bytes
        eager = nbytes <= simulation.eager
        strand.clock += simulation.network.overhead
        if simulation.flows is None:
            latency, per_byte = self._fixed_link or simulation.network.link(host.index, dest.index)
            cost = nbytes * per_byte
            if host.strands > 1:
                context.await_turn(strand.clock)
            if simulation.jitters:
                latency += simulation.delay(host, latency)
            if device is None:
                start = strand.clock if strand.clock > host.out_free else host.out_free
                request.left = start + cost
                host.out_free = request.left + simulation.gap
                message = (start + latency, cost, nbytes, payload)
            else:
                start, request.left, chunks = leave(context, nbytes, way, latency, per_byte)
                head, cost, _ = chunks[-1]
                message = [head, cost, nbytes, payload, None, request, chunks]
                request.asked = 0.0 if eager else None
            if eager:
                request.done_at = request.left
            elif device is None:
                message = [*message, None, request]
            if self.spans is not None:
                self.spans.append(("send", "send", start, request.left, dest.index, tag, nbytes))
        else:
            message = [None, 0.0, nbytes, payload, None, request]
            request.asked = 0.0 if eager else None
            route = simulation.route(host.index, dest.index)
            simulation.start_flow(message, strand.clock, route, channel, key, context.spans)
        if channel.asked is not None:
            receiver = channel.next_asked()
            simulation.asked_for(message, receiver.begun)
            simulation.hand_over(message, receiver)
        else:
            channel.put(message)
        if dest.attentive:
            simulation.offer(dest, channel, key)
        return request

    def isend(self, x: Array, to: int, tag: int = 0) -> SimulatedRequest:
        return self._post(x, to, tag, "isend")

    def send(self, x: Array, to: int, tag: int = 0) -> None:
        self.finish(self._post(x, to, tag, "send"))

    def finish(self, request: SimulatedRequest) -> None:
        """Wait for a request, and do what its end demands."""
        context = self.context
        if request.turn is not None:
            self.wait_any([request])
            return
        if request.key is None:
            if request.done_at is None:
                wait = (context, request.what, request.goal or (), request.y)
                # While it waits for a function it sends nothing: they do not share the ports.
                apart = request.what == "background"
                context.host.count_strands(-apart)
                try:
                    context.block(request, wait)
                except BaseException:
                    context.host.count_strands(apart)
                    raise
            context.strand.clock = max(context.strand.clock, request.done_at)
            if request.copied is not None:
                request.copied()
        else:
            if request.message is None:
                context.block(request, (context, request.what, request.key, request.y))
            del context.host.open[request]
            self.complete(request.message, request.y, request.key, request.begun)
        request.waited, request.kept = True, None

    # -- receiving --------------------------------------------------------------------------

    def irecv(self, x: Array, source: int, tag: int = 0) -> SimulatedRequest:
        return self._begin_receive(x, source, tag, "irecv")

    def _begin_receive(self, x: Array, source: int, tag: int, verb: str) -> SimulatedRequest:
        context = self.context
        request = SimulatedRequest(self, verb)
        request.key = (source, tag, describe(x)[1], context.number)
        arrays.check_writable(x)
        request.y = x
        request.begun = context.strand.clock
        context.host.begin_receive(request)
        return request

    def recv(self, x: Array, source: int, tag: int = 0) -> int:
        if source == ANY or self.context.host.turns:
            return self._begin_receive(x, source, tag, "recv").wait()
        channel = self._channel(x, source, tag)
        return self._receive(channel, x, (source, tag), self.context.strand.clock, "recv")

    def sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int:
        context = self.context
        begun = context.strand.clock
        if source == ANY or context.host.turns or context.simulation.flows is not None:
            describe(x)  # what is refused must be so before anything begins
            incoming = self._begin_receive(y, source, tag, "sendrecv")
            outgoing = self._post(x, to, tag, "sendrecv to")
            source = incoming.wait()
            outgoing.wait()
            return source
        channel = self._channel(y, source, tag)
        outgoing = self._post(x, to, tag, "sendrecv to")
        self._receive(channel, y, (source, tag), begun, "sendrecv")
        outgoing.wait()
        return source

    def exchange(self, lane: Lane, x: Phantom, to: int, y: Phantom, source: int, tag: int) -> int:
        """`sendrecv` of phantoms on shared links, written out flat as that without them."""
        outgoing, incoming, dest, strand, key, route, *_ = lane
        context, simulation = self.context, self.context.simulation
        begun, nbytes = strand.clock, x.nbytes
        entry = outgoing.entry
        if entry[2] != nbytes:
            outgoing.entry = entry = (dest.index, tag, nbytes, context.kind)
        self.host.ledger.append(entry)
        sent = [None, 0.0, nbytes, None, None, strand, None]
        simulation.start_flow(sent, begun, route, outgoing, key, self.spans)
        if outgoing.asked is not None:
            simulation.hand_over(sent, outgoing.next_asked())
        else:
            outgoing.put(sent)
        if dest.attentive:
            simulation.offer(dest, outgoing, key)

        message = incoming.take() or self.ask(incoming, "sendrecv", (source, tag), y)
        self.complete(message, y, (source, tag), begun)
        if sent[LEFT] is None:
            context.block(sent, (context, "send", (to, tag), x))
        if sent[LEFT] > strand.clock:
            strand.clock = sent[LEFT]
        return source

    def _channel(self, y: Array, source: int, tag: int) -> Channel:
        """The channel that a receive into `y` takes its message from."""
        code = describe(y)[1]
        arrays.check_writable(y)
        return self.context.host.channel(source, tag, code, self.context.number)

    def _receive(
        self, channel: Channel, y: Array, key: tuple[int, int], begun: float, verb: str
    ) -> int:
        message = channel.take()
        self.context.simulation.asked_for(message, begun)
        return self.complete(message or self.ask(channel, verb, key, y), y, key, begun)

    def ask(self, channel: Channel, verb: str, key: tuple[int, int], y: Array) -> Any:
        """Wait for the next message of the channel."""
        strand = self.context.strand
        channel.ask(strand)
        self.context.block(strand, (self.context, verb, key, y))
        return strand.message

    def complete(self, message: Any, y: Array, key: tuple[int, ...], begun: float) -> int:
        """Wait until the message has arrived, and copy it into `y`; returns its source."""
        context, strand = self.context, self.context.strand
        device = None
        if y.__class__ is not np.ndarray and y.__class__ is not Phantom:
            device = device_of(y)
        if message[HEAD] is None:
            message[WAITER] = strand
            context.block(message, (context, "recv", key, y))
        arrival = message[HEAD]
        if context.simulation.flows is None:
            if context.host.strands > 1:
                context.await_turn(arrival)
            if device is None and len(message) <= CHUNKS:
                arrival = context.host.drain(arrival, message[COST])
            else:
                arrival = arrive(context, message, device, begun)
        if arrival > strand.clock:
            strand.clock = arrival
        strand.clock += context.simulation.network.overhead
        source, tag = key[0], key[1]
        nbytes = message[NBYTES]
        if nbytes != y.nbytes:
            name, sender = type_name(y), context.members[source]
            sent, wanted = (nbytes, name), (y.nbytes, name)
            raise MessageMismatch(Mismatch(strand.host.index, sender, tag, sent, wanted))
        if message[PAYLOAD] is not None:
            hand_over(message[PAYLOAD], y, device)
        if context.spans is not None:
            world = context.members[source]
            context.spans.append(("recv", "recv", begun, strand.clock, world, tag, nbytes))
        return source

    def wait_any(self, requests: list[SimulatedRequest]) -> SimulatedRequest:
        """Block until the earliest of the requests is done, and finish it."""
        context, strand, host = self.context, self.context.strand, self.context.host
        host.choosers.append(strand)
        host.attentive = True
        chosen = None
        try:
            while chosen is None or chosen not in requests:
                wait = (context, "wait_any", requests, None)
                strand.wait = wait
                context.simulation.offer(host)
                context.block(wait, wait)
                event, strand.message = strand.message[1], None
                chosen = host.take_earliest(event) if isinstance(event, Turn) else event
        finally:
            host.choosers.remove(strand)
            host.attentive = bool(host.choosers or host.turns)
        chosen.messages.finish(chosen)
        return chosen
