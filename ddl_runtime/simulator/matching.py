"""Messages on their way to a simulated rank, and who takes which.

Messages that agree in all that must match (source, tag, element type, communicator) stand in one
channel and are taken in the order they were sent. A receive from ANY looks at many channels:
it takes the earliest arrival, and receives asked for after it wait for their turn behind it, as
MPI prescribes.
"""

import heapq
from collections import deque
from itertools import count
from typing import Any

# A message is a tuple (HEAD, COST, NBYTES, PAYLOAD), because a million of them must be made in a
# second; on shared links, where its arrival is not known when it is sent, a longer list; and from
# a device a list of all seven, whose head and cost are those of its last chunk.
HEAD, COST, NBYTES, PAYLOAD, WAITER, SENDER, CHUNKS = range(7)


NO_ENTRY = (-1, -1, -1, "")


class Channel:
    """Messages to one rank that agree in all that must match, and that nobody has asked for yet;
    or, when there are none, who has `asked` for the next ones.

    There may be a million channels with one message each and channels with a thousand: the
    oldest message stands in `first`, and queues are made only when needed.
    """

    __slots__ = ("asked", "dest", "entry", "first", "others", "used")

    def __init__(self, dest: int) -> None:
        self.dest = dest  # the rank that they go to
        self.first: Any = None
        self.others: deque[Any] | None = None
        self.asked: Any = None  # a receiver, or a queue of them
        self.entry = NO_ENTRY  # in the ledger, shared by messages of one size
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

    def withdraw(self, receiver: Any) -> None:
        """Whoever asked asks no longer."""
        if self.asked.__class__ is deque and receiver in self.asked:
            self.asked.remove(receiver)
        if self.asked is receiver or not self.asked:
            self.asked = None

    def messages(self) -> list[Any]:
        """All of them, left where they are."""
        return [] if self.first is None else [self.first, *(self.others or ())]


class Turn:
    """Receives of one tag, element type and communicator, on a rank that receives from ANY.

    `line` holds, in the order they were asked for, a receive from ANY that has no message yet and
    all that came after it. `_arrivals` is a heap of the channels' first messages.
    """

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
            heapq.heappop(arrivals)  # somebody has taken it
        return arrivals[0][:2] if arrivals else None
