"""What one rank waits for, as data: the ranks that can end the wait, the call and the line."""

import re
from dataclasses import dataclass

SENDS = ("send", "isend")  # sendrecv, when it waits, waits for its receive
RECEIVES = ("recv", "irecv", "sendrecv")


@dataclass(frozen=True)
class Mismatch:
    """A message that does not fit the array that it was to be received into."""

    rank: int
    source: int
    tag: int
    sent: tuple[int | str, str]  # bytes, which may be "more than 400", and element type
    wanted: tuple[int, str]

    @property
    def same_type(self) -> bool:
        return self.sent[1] == self.wanted[1]

    def __str__(self) -> str:
        return (
            f"rank {self.rank} received a message from rank {self.source} (tag {self.tag}) that "
            f"does not fit: {self.sent[0]} bytes of {self.sent[1]} were sent, the receiving array "
            f"holds {self.wanted[0]} bytes of {self.wanted[1]}. Sender and receiver must use the "
            "same number of elements and the same type."
        )


@dataclass(frozen=True)
class Lost:
    """A message that was sent and never received. The ranks are those of the whole program."""

    source: int
    dest: int
    tag: int
    nbytes: int


@dataclass(frozen=True)
class Unasked:
    """A message that has arrived at a waiting rank and does not match its receive."""

    source: int
    tag: int

    def __str__(self) -> str:
        message = f"a message from rank {self.source} with tag {self.tag}"
        return f"{message} has arrived, but does not match"


@dataclass(frozen=True)
class Wait:
    """One rank's wait. `peers` are ranks of the whole program; one of them is enough."""

    rank: int
    call: str
    peers: tuple[int, ...]
    where: str = ""
    unasked: Unasked | None = None
    misfit: Mismatch | None = None  # raised when it is certain that nothing else will come
    anyone: bool = False  # whether it receives from ANY, as a server does
    tag: int | None = None  # of the message; None where there is none, or where there are several
    purpose: str = ""  # what the program says that it needs the message for, if it does

    @property
    def verb(self) -> str:
        """The communicator's method that waits: `recv`, `send`, `wait_any`, `barrier`."""
        return re.split(r"\W", self.call, maxsplit=1)[0]
