"""How simulated ranks exchange messages with neighbours: the path of a million messages."""

from typing import Protocol

from ddl_runtime.core.arrays import Array, Phantom
from ddl_runtime.simulator.point_to_point import PointToPoint


class SwappingRank(Protocol):
    """A communicator."""

    @property
    def point_to_point(self) -> PointToPoint: ...


def fast_sendrecv(
    comm: SwappingRank, x: Array, to: int, y: Array, source: int, tag: int = 0
) -> int:
    """Send `x` and receive into `y` at the same time; returns the rank `y` came from."""
    # Phantoms between two neighbours, written out flat; all else takes the usual way. It is the
    # communicator's method itself, for one call more would be a tenth of its time.
    messages = comm.point_to_point
    host = messages.host
    lane = messages.known.get((to, source, tag)) or messages.lane(to, source, tag)
    if lane is None or type(x) is not Phantom or type(y) is not Phantom or host.crowded:
        return messages.sendrecv(x, to, y, source, tag)
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
        outgoing.entry = entry = (dest.index, tag, nbytes, messages.context.kind)
    host.ledger.append(entry)
    message = (start + latency, cost, nbytes, None)
    if outgoing.asked is not None:
        messages.context.simulation.hand_over(message, outgoing.next_asked())
    elif outgoing.first is None:
        outgoing.first = message
    elif outgoing.others:
        outgoing.others.append(message)
    else:
        outgoing.put(message)
    if dest.attentive:
        key = messages.context.rank, tag, 0, messages.context.number
        messages.context.simulation.offer(dest, outgoing, key)

    message = incoming.first
    if message is None:
        message = messages.ask(incoming, "sendrecv", (source, tag), y)
    else:
        incoming.first = incoming.others.popleft() if incoming.others else None
    head, cost, size, _ = message
    if size != y.nbytes:
        return messages.complete(message, y, (source, tag), begun)
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
    if messages.spans is not None:
        messages.spans.append(("send", "send", start, left, dest.index, tag, nbytes))
        world = messages.context.members[source]
        messages.spans.append(("recv", "recv", begun, strand.clock, world, tag, size))
    return source
