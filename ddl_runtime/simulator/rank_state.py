"""The state of simulated ranks: their ports, what is on its way to them, and what waits for it.

Each rank has two ports. A message leaves when the sender's out-port is free and keeps it busy for
its bytes; its head arrives `latency` later and its bytes then pass the receiver's in-port. Ports
are reserved in the order of each rank's own program, or of virtual time if it runs functions in
the background. So the order in which ranks happen to be simulated changes nothing.

Messages that agree in all that must match (source, tag, element type, communicator) stand in one
channel. They are taken in the order in which they were sent. A receive from ANY looks at many
channels: it takes the earliest arrival, and receives asked for after it wait for their turn behind
it, as MPI prescribes.
"""

from __future__ import annotations

import heapq
from abc import ABC
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from ddl_runtime.core.checks import ANY
from ddl_runtime.core.collective_log import CollectiveLog
from ddl_runtime.core.memory import RankMemory
from ddl_runtime.core.parts import RankContext, Request
from ddl_runtime.core.watch import Watch
from ddl_runtime.devices.choice import Preference
from ddl_runtime.records.ledger import Entry
from ddl_runtime.records.timeline import SpanEntry

# Idle times of an in-port that an earlier message may still fill: so many are remembered, and
# more once a message was asked for late.
FEW_GAPS, MANY_GAPS = 2 * 32, 2 * 1024


# A message is a tuple (HEAD, COST, NBYTES, PAYLOAD), because a million of them must be made in a
# second; on shared links, where its arrival is not known when it is sent, a longer list; and from
# a device a list of all seven, whose head and cost are those of its last chunk. A `sendrecv` of
# phantoms has in such a list when its message has LEFT shared links, where there are no chunks,
# or when a strict rank ASKED for it on others, where there are no arrivals to wait for.
HEAD, COST, NBYTES, PAYLOAD, WAITER, SENDER, CHUNKS = range(7)
LEFT, ASKED = CHUNKS, WAITER
NO_ENTRY = (-1, -1, -1, "")


@dataclass(slots=True, eq=False)
class Channel:
    """Messages to one rank that agree in all that must match, and that no receive has asked for
    yet. If there are none: the receivers that have `asked` for the next ones.

    There may be a million channels with one message each and channels with a thousand: the
    oldest message stands in `first`, and queues are made only when needed.
    """

    dest: int  # the rank that they go to
    first: Any = None
    others: deque[Any] | None = None
    asked: Any = None  # a receiver, or a queue of them
    entry: Entry = NO_ENTRY  # in the ledger, shared by messages of one size
    used: bool = False

    def put(self, message: Any) -> None:
        """Add a message that no receive has asked for."""
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
        """The receiver that asked first; it leaves the queue."""
        asked = self.asked
        if asked.__class__ is deque and len(asked) > 1:
            return asked.popleft()
        self.asked = None
        return asked[0] if asked.__class__ is deque else asked

    def withdraw(self, receiver: Any) -> None:
        if self.asked.__class__ is deque and receiver in self.asked:
            self.asked.remove(receiver)
        if self.asked is receiver or not self.asked:
            self.asked = None

    def messages(self) -> list[Any]:
        return [] if self.first is None else [self.first, *(self.others or ())]


class Turn:
    """Receives of one tag, element type and communicator, on a rank that receives from ANY. `line`
    holds, in the order they were asked for, a receive from ANY that has no message yet and all
    that came after it. `_arrivals` is a heap of the channels' first messages."""

    def __init__(self) -> None:
        self.line: deque[Any] = deque()
        self._arrivals: list[tuple[float, int, int, Channel, Any]] = []
        self._serial = count()

    def notice(self, channel: Channel, source: int) -> None:
        """A channel has another first message, or it has become known when that arrives."""
        message = channel.first
        if message is not None and message[HEAD] is not None:
            arrival = message[HEAD] + message[COST]
            entry = (arrival, source, next(self._serial), channel, message)
            heapq.heappush(self._arrivals, entry)

    def earliest(self) -> tuple[float, int] | None:
        """When the earliest message arrives, and its source."""
        arrivals = self._arrivals
        while arrivals and arrivals[0][3].first is not arrivals[0][4]:
            heapq.heappop(arrivals)  # it has been taken
        return arrivals[0][:2] if arrivals else None


class Host:
    """What all strands of one simulated rank share: ports, channels, ledger, timeline."""

    __slots__ = ("attentive", "channels", "choosers", "copy_in_free", "copy_out_free", "crowded",
                 "gaps", "in_free", "index", "ledger", "logs", "main", "memory", "open",
                 "out_free", "preference", "slowness", "spans", "strands", "turns",
                 "watch")  # fmt: skip

    def __init__(
        self, index: int, slowness: float, trace: bool, strict: bool, capacity: float | None = None
    ) -> None:
        self.index = index
        self.out_free = self.in_free = 0.0
        self.copy_out_free = self.copy_in_free = 0.0  # the engines between device and host
        self.preference: Preference | None = None  # made when first used, as of all the rest
        self.gaps: deque[float] = deque(maxlen=FEW_GAPS)  # begin, end, begin, end ...
        # by what must match: source, tag, element type, context
        self.channels: dict[tuple[int, int, int, int], Channel] = {}
        # Made when first used, as few ranks do: by tag, element type and context, the lines
        # behind receives from ANY; and the receives that were begun and not waited for.
        self.turns: dict[tuple[int, int, int], Turn] | None = None
        self.open: dict[SimulatedRequest, None] | None = None
        self.choosers: list[Strand] = []  # strands that wait for any of several
        self.attentive = False  # a strand must be woken by messages that no receive has asked for
        self.strands = 1
        self.crowded = False  # several strands share the ports, or receives stand in lines
        self.ledger: list[Entry] = []
        self.logs: list[CollectiveLog] = []
        self.spans: list[SpanEntry] | None = [] if trace else None
        self.slowness = slowness
        self.watch = Watch() if strict else None
        self.memory = RankMemory.where_counted(index, trace, capacity)
        self.main = Strand(self, 0.0)

    def count_strands(self, more: int) -> None:
        """So many more strands use the ports."""
        self.strands += more
        self.crowded = self.strands > 1 or bool(self.turns)

    def channel(self, source: int, tag: int, code: int, context: int) -> Channel:
        """The channel that ends here, made when first asked for."""
        key = (source, tag, code, context)
        channel = self.channels.get(key)
        if channel is None:
            self.channels[key] = channel = Channel(self.index)
        return channel

    def begin_receive(self, request: SimulatedRequest) -> None:
        """Give a receive its message, or its place among the receives that wait."""
        if self.open is None:
            self.open = {}
        self.open[request] = None
        if request.key[0] == ANY or self.turns:
            turn = self._turn(request)
            if turn is not None:
                request.turn = turn
                turn.line.append(request)
                return
        self._take(request)

    def _turn(self, request: SimulatedRequest) -> Turn | None:
        """The line in which a receive must wait, if it must."""
        source, rest = request.key[0], request.key[1:]
        if self.turns is None:
            self.turns = {}
        turn = self.turns.get(rest)
        if source != ANY:
            return turn if turn is not None and turn.line else None
        if turn is None:
            self.turns[rest] = turn = Turn()
            self.attentive = self.crowded = True
            for key, channel in self.channels.items():
                if key[1:] == rest:
                    turn.notice(channel, key[0])
        return turn

    def take_earliest(self, turn: Turn) -> SimulatedRequest:
        """The first in the line gets the earliest message; returns this receive."""
        request = turn.line.popleft()
        request.key = (turn.earliest()[1], *request.key[1:])
        self._take(request)
        while turn.line and turn.line[0].key[0] != ANY:
            self._take(turn.line.popleft())
        return request

    def _take(self, request: SimulatedRequest) -> None:
        channel = self.channel(*request.key)
        request.turn = None
        request.message = channel.take()
        request.place.simulation.asked_for(request.message, request.begun)
        if request.message is None:
            channel.ask(request)
        elif self.turns and (turn := self.turns.get(request.key[1:])) is not None:
            turn.notice(channel, request.key[0])

    def drain(self, head: float, cost: float) -> float:
        """Pass a message through the in-port; returns when its last byte is in."""
        if head > self.in_free:
            self.gaps.append(self.in_free)
            self.gaps.append(head)
            self.in_free = head
        elif head < self.in_free:
            start = self._earlier_gap(head, cost)
            if start is not None:
                return start + cost
        self.in_free += cost
        return self.in_free

    def _earlier_gap(self, head: float, cost: float) -> float | None:
        """A message asked for late may have come in while the port was idle."""
        if self.gaps.maxlen == FEW_GAPS:
            self.gaps = deque(self.gaps, MANY_GAPS)
        gaps = self.gaps
        ends = range(1, len(gaps), 2)
        for end in ends[bisect_left(ends, head + cost, key=gaps.__getitem__) :]:
            begin = gaps[end - 1]
            start = max(begin, head)
            if start + cost <= gaps[end]:
                gaps[end - 1] = start + cost
                if begin < start and len(gaps) < MANY_GAPS:
                    gaps.insert(end - 1, start)
                    gaps.insert(end - 1, begin)
                return start
        return None


class Strand:
    """One thread of virtual time: a rank's program, or something it runs in the background."""

    __slots__ = ("blocked_on", "clock", "host", "message", "stack", "strand", "wait")

    def __init__(self, host: Host, clock: float) -> None:
        self.host = host
        self.clock = clock
        self.stack: Any = None
        self.strand = self  # a strand that blocks in recv asks itself, as a request would
        self.message: Any = None
        self.blocked_on: Any = None
        self.wait: tuple[Any, ...] = ()  # what to say of the wait, if it never ends

    @property
    def begun(self) -> float:
        """When a strand that waits has begun to: its clock stands still."""
        return self.clock

    def earliest_choice(self) -> tuple[float, SimulatedRequest | Turn] | None:
        """Among the requests this strand chooses from, the time when the first can go on, and this
        request; or its turn, if it is a receive in a line."""
        best: tuple[float, int, SimulatedRequest | Turn] | None = None
        for position, request in enumerate(self.wait[2]):
            time: float | None = request.done_at
            event: SimulatedRequest | Turn = request
            if request.turn is not None:
                earliest = request.turn.earliest()
                if earliest is not None:
                    time, event = earliest[0], request.turn
            elif request.message is not None and request.message[HEAD] is not None:
                time = request.message[HEAD] + request.message[COST]
            if time is not None and (best is None or (time, position) < best[:2]):
                best = time, position, event
        return None if best is None else (best[0], best[2])


class Membership(RankContext, ABC):
    """A rank's place in a communicator, as its waits and its requests know it."""

    __slots__ = ("family", "host", "simulation", "strand")
    family: int
    host: Host
    simulation: Any
    strand: Strand

    @property
    def whole(self) -> bool:
        """Whether all ranks of the program belong to it."""
        return self.size == len(self.simulation.groups.members[0])


class SimulatedRequest(Request):
    """A message under way between simulated ranks, or a strand in the background."""

    __slots__ = ("asked", "begun", "copied", "done_at", "goal", "kept", "key", "left",
                 "message", "messages", "place", "strand", "then", "turn", "waited", "what",
                 "y")  # fmt: skip

    def __init__(self, messages: Any, what: str) -> None:
        self.messages = messages
        self.place: Membership = messages.context
        self.strand = self.place.strand
        self.what = what
        self.done_at: float | None = None  # when a send has left, or a function has returned
        self.then: Callable[[float], None] | None = None  # begins the function that waits for it
        self.goal: tuple[int, int] | None = None  # rank and tag of a send
        self.left: float | None = None  # when its bytes have left
        self.asked: float | None = None  # when a receive has asked for it; 0 if it need not
        self.key: tuple[int, int, int, int] | None = None  # what a receive must match
        self.y: Any = None  # what is sent, or received into
        self.message: Any = None
        self.copied: Callable[[], Any] | None = None  # waits until a device's bytes are read
        self.turn: Turn | None = None  # a receive's line, while it stands in one
        self.begun = 0.0  # when a receive was
        self.waited = False

    def wait(self) -> int:
        if not self.waited:
            self.messages.finish(self)
        return self.place.rank if self.key is None else self.key[0]
