"""The state of simulated ranks: their ports, what is on its way to them, and who waits for it.

Each rank has two ports. A message leaves when the sender's out-port is free and keeps it busy for
its bytes; its head arrives `latency` later and its bytes then pass the receiver's in-port. Because
ports are reserved in the order of each rank's own program, the result does not depend on the order
in which ranks happen to be simulated.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from ddl_teach.comm.arrays import TYPE_NAMES, describe
from ddl_teach.comm.interface import ANY, Request
from ddl_teach.comm.story import MessageMismatch, call_text, mismatch_text

if TYPE_CHECKING:
    from ddl_teach.comm.simulated_messages import SimulatedMessages

# A message is a tuple (HEAD, COST, NBYTES, PAYLOAD), because a million of them must be made in a
# second; on shared links, where its arrival is not known when it is sent, a longer list.
HEAD, COST, NBYTES, PAYLOAD, WAITER, SENDER = range(6)
REMEMBERED_GAPS = 32  # idle times of an in-port that an earlier message may still fill


class Channel:
    """Messages to one rank that agree in all that must match, and that nobody has asked for yet;
    or, when there are none, who has `asked` for the next ones.

    There may be a million channels with one message each and channels with a thousand: the
    oldest message stands in `first`, and queues are made only when needed.
    """

    __slots__ = ("asked", "dest", "first", "others", "used")

    def __init__(self, dest: Host) -> None:
        self.dest = dest
        self.first: Any = None
        self.others: deque | None = None
        self.asked: Any = None  # a receiver, or a queue of them
        self.used = False

    def put(self, message: Any) -> None:
        """Add a message that nobody has asked for."""
        if self.first is None:
            self.first = message
        elif self.others is None:
            self.others = deque((message,))
        else:
            self.others.append(message)

    def take(self) -> Any:
        """The oldest message, or None."""
        message = self.first
        self.first = self.others.popleft() if self.others else None
        return message

    def ask(self, receiver: Any) -> None:
        """Queue up for a message that was not sent yet."""
        if self.asked is None:
            self.asked = receiver
        elif self.asked.__class__ is deque:
            self.asked.append(receiver)
        else:
            self.asked = deque((self.asked, receiver))

    def next_asked(self) -> Any:
        """Who asked first; leaves the queue."""
        asked = self.asked
        if asked.__class__ is deque and len(asked) > 1:
            return asked.popleft()
        self.asked = None
        return asked[0] if asked.__class__ is deque else asked

    def messages(self) -> list:
        """All of them, left where they are."""
        return [] if self.first is None else [self.first, *(self.others or ())]


class Host:
    """What all strands of one simulated rank share: ports, channels, ledger, timeline."""

    __slots__ = ("channels", "choosers", "gaps", "in_free", "index", "ledger", "main", "out_free",
                 "slowness", "spans")  # fmt: skip

    def __init__(self, index: int, slowness: float, trace: bool) -> None:
        self.index = index
        self.out_free = 0.0
        self.in_free = 0.0
        self.gaps: deque[tuple[float, float]] = deque(maxlen=REMEMBERED_GAPS)
        # by what must match: source, tag, element type, context
        self.channels: dict[tuple[int, int, int, int], Channel] = {}
        self.choosers: list[Strand] = []  # strands that wait for any of several
        self.ledger: list[tuple] = []
        self.spans: list[tuple] | None = [] if trace else None
        self.slowness = slowness
        self.main = Strand(self, 0.0)

    def channel(self, source: int, tag: int, code: int, context: int) -> Channel:
        """The channel that ends here, made when first asked for."""
        key = (source, tag, code, context)
        channel = self.channels.get(key)
        if channel is None:
            self.channels[key] = channel = Channel(self)
        return channel

    def drain(self, head: float, cost: float) -> float:
        """Pass a message through the in-port; returns when its last byte is in."""
        if head >= self.in_free:
            if head > self.in_free:
                self.gaps.append((self.in_free, head))
            start = head
        else:
            start = self._earlier_gap(head, cost)
            if start is not None:
                return start + cost
            start = self.in_free
        self.in_free = start + cost
        return self.in_free

    def _earlier_gap(self, head: float, cost: float) -> float | None:
        """A message asked for late may have come in while the port was idle."""
        for position, (begin, end) in enumerate(self.gaps):
            start = max(begin, head)
            if start + cost <= end:
                self.gaps[position] = (start + cost, end)
                return start
        return None


class Strand:
    """One thread of virtual time: a rank's program, or something it runs in the background."""

    __slots__ = ("blocked_on", "clock", "greenlet", "host", "message", "strand", "wait")

    def __init__(self, host: Host, clock: float) -> None:
        self.host = host
        self.clock = clock
        self.greenlet: Any = None
        self.strand = self  # a strand that blocks in recv asks itself, as a request would
        self.message: list | None = None
        self.blocked_on: Any = None
        self.wait: tuple | None = None  # what to tell about the wait, should it never end


class SimulatedRequest(Request):
    """A message under way between simulated ranks, or a strand in the background."""

    __slots__ = ("begun", "comm", "done_at", "key", "message", "strand", "waited", "what", "y")

    def __init__(self, comm: SimulatedMessages, what: str) -> None:
        self.comm = comm
        self.strand = comm._strand
        self.what = what
        self.done_at: float | None = None  # when a send has left, or a function has returned
        self.key: tuple | None = None  # what a receive must match
        self.message: list | None = None
        self.waited = False

    def wait(self) -> int:
        if not self.waited:
            comm = self.comm
            if self.key is None:
                comm._finish(self)
            elif self.key[0] == ANY:
                comm._choose([self])
            else:
                if self.message is None:
                    comm._block(self, (comm, "irecv", self.key, self.y))
                comm._complete(self.message, self.y, self.key, self.begun)
            self.waited = True
        return self.comm.rank if self.key is None else self.key[0]


def wait_text(wait: tuple) -> tuple[str, list[int]]:
    """The call a strand hangs in, in words, and the ranks (of the whole program) it waits for."""
    comm, verb, key, y = wait
    if verb == "wait_any":
        peers: list[int] = []
        for request in key:
            if request.key is None or request.key[0] == ANY:
                peers += (m for i, m in enumerate(comm._members) if i != comm.rank)
            else:
                peers.append(comm._members[request.key[0]])
        if len(key) == 1 and key[0].key is not None:
            nbytes, code = describe(key[0].y)
            return call_text("recv", "ANY", key[0].key[1], nbytes, TYPE_NAMES[code]), peers
        return f"wait_any of {len(key)} requests", peers
    peer = comm._members[key[0]]
    if comm.label:
        return f"{comm.label}()", [peer]
    if y is None:
        return f"{verb}()", [peer]
    nbytes, code = describe(y)
    return call_text(verb, key[0], key[1], nbytes, TYPE_NAMES[code]), [peer]


def misfit(strand: Strand, key: tuple[int, ...], channel: Channel) -> MessageMismatch:
    """The message that came has the awaited source and tag, but another element type."""
    comm, _, _, y = strand.wait
    wanted, code = describe(y)
    sent = (channel.first[NBYTES], TYPE_NAMES[key[2]])
    return MessageMismatch(
        mismatch_text(comm.rank, key[0], key[1], sent, (wanted, TYPE_NAMES[code]))
    )
