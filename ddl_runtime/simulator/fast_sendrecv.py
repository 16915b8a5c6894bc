"""How simulated ranks exchange messages with neighbours: the path of a million messages."""

from __future__ import annotations

from math import inf
from typing import Any, Protocol

from ddl_runtime.core.arrays import Array, Phantom
from ddl_runtime.core.checks import HIGHEST_TAG
from ddl_runtime.simulator.point_to_point import PointToPoint

Lane = tuple[Any, ...]


class Lanes:
    """What messages between neighbours need to know, remembered from the second one on."""

    __slots__ = ("context", "host", "kind", "known", "link", "messages", "simulation", "spans")

    def __init__(self, messages: PointToPoint) -> None:
        self.messages = messages
        self.context = context = messages.context
        self.simulation = simulation = context.simulation
        self.host = context.host
        self.spans = context.spans
        self.kind = context.kind
        self.known: dict[tuple[int, int, int], Lane] = {}
        link, network = messages.fixed_link, simulation.network
        free = link is not None and not simulation.jitters and simulation.eager == inf
        # What every message costs; None where they cost more than that.
        self.link = link if free and network.overhead == network.gap == 0 else None

    def lane(self, to: int, source: int, tag: int) -> Lane | None:
        """The channels to and from two neighbours; None where this is not for phantoms alone."""
        context, link = self.context, self.link
        if not (
            link is not None
            and to.__class__ is source.__class__ is tag.__class__ is int
            and 0 <= to < context.size > source >= 0 <= tag <= HIGHEST_TAG
        ):
            return None
        dest = self.simulation.hosts[context.members[to]]
        outgoing = dest.channel(context.rank, tag, 0, context.number)
        incoming = self.host.channel(source, tag, 0, context.number)
        lane = (outgoing, incoming, dest, context.strand, *link)
        if outgoing.used:
            self.known[to, source, tag] = lane
        outgoing.used = True
        return lane


class OnLanes(Protocol):
    """A communicator that remembers them."""

    @property
    def lanes(self) -> Lanes: ...


def fast_sendrecv(comm: OnLanes, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int:
    """Send `x` and receive into `y` at the same time; returns the rank `y` came from."""
    # Phantoms between two neighbours, written out flat; all else takes the usual way. It is the
    # communicator's method itself, for one call more would be a tenth of its time.
    lanes = comm.lanes
    host = lanes.host
    lane = lanes.known.get((to, source, tag)) or lanes.lane(to, source, tag)
    if lane is None or type(x) is not Phantom or type(y) is not Phantom or host.crowded:
        return lanes.messages.sendrecv(x, to, y, source, tag)
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
        outgoing.entry = entry = (dest.index, tag, nbytes, lanes.kind)
    host.ledger.append(entry)
    message = (start + latency, cost, nbytes, None)
    if outgoing.asked is not None:
        lanes.simulation.hand_over(message, outgoing.next_asked())
    elif outgoing.first is None:
        outgoing.first = message
    elif outgoing.others:
        outgoing.others.append(message)
    else:
        outgoing.put(message)
    if dest.attentive:
        key = lanes.context.rank, tag, 0, lanes.context.number
        lanes.simulation.offer(dest, outgoing, key)

    message = incoming.first
    if message is None:
        message = lanes.messages.ask(incoming, "sendrecv", (source, tag), y)
    else:
        incoming.first = incoming.others.popleft() if incoming.others else None
    head, cost, size, _ = message
    if size != y.nbytes:
        return lanes.messages.complete(message, y, (source, tag), begun)
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
    if lanes.spans is not None:
        lanes.spans.append(("send", "send", start, left, dest.index, tag, nbytes))
        world = lanes.context.members[source]
        lanes.spans.append(("recv", "recv", begun, strand.clock, world, tag, size))
    return source
