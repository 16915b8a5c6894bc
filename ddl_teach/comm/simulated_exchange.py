"""How simulated ranks exchange messages with neighbours: the path of a million messages."""

from __future__ import annotations

from typing import Any

from ddl_teach.comm.arrays import Array, Phantom, describe
from ddl_teach.comm.interface import ANY, HIGHEST_TAG
from ddl_teach.comm.simulated_messages import SimulatedMessages


class SimulatedExchange(SimulatedMessages):
    """The part of a simulated communicator that sends and receives at the same time."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._lanes: dict[tuple[int, int, int], tuple] = {}

    def sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int:
        # Phantoms between two neighbours, written out flat: the path of a million messages.
        host = self._host
        lane = self._lanes.get((to, source, tag)) or self._lane(to, source, tag)
        if lane is None or type(x) is not Phantom or type(y) is not Phantom or host.crowded:
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
        outgoing = self._post(x, to, tag, "sendrecv to")
        self._receive(channel, y, (source, tag), begun, "sendrecv")
        outgoing.wait()
        return source
