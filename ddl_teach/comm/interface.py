"""How ranks talk: one interface, whatever the ground.

A rank program is a function whose first argument is a `Comm`. Simulated ranks and real MPI
processes each provide one; the program cannot tell them apart except by the clock.

Matching is MPI's, made strict: a receive takes the oldest message whose source, tag and element
type agree with it, and the sizes must then be equal. Tags run from 0 to 32767, the range that
every MPI library promises. Arrays on a device travel as they are, to arrays on devices and in host
memory alike, and in the order of the kernels around them; `devices` says how.
"""

from __future__ import annotations

import inspect
import math
import numbers
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any

import numpy as np

from ddl_teach.comm.arrays import Array, Operation
from ddl_teach.comm.devices.choice import ChoosesWays
from ddl_teach.comm.ledger import Ledger
from ddl_teach.comm.shared_memory import SharedMemory
from ddl_teach.comm.survivors import Survives
from ddl_teach.comm.window import Window

ANY = -1  # receive from whoever sends first
HIGHEST_TAG = 32767
LARGEST_INT = 2**31 - 1  # what MPI takes as a colour or a key
RECEIVES = ("recv", "irecv", "sendrecv")

BACKGROUND_SLOTS = 16
MEETINGS = ("barrier", "split", "background", "shared_memory", "fence", "window")


class Request(ABC):
    """A message under way, or a function running in the background."""

    waited: bool  # whether somebody has waited for it

    @abstractmethod
    def wait(self) -> int:
        """Block until done. Returns the rank the message came from (for a send: this rank)."""


class Comm(ChoosesWays, Survives, ABC):
    """A group of ranks and this rank's place in it."""

    rank: int
    size: int
    node: int
    ledger: Ledger
    host_link: Any = None  # where simulated: what a copy between host and device costs
    _background_calls: int = 0

    # Made when first used: of 65,536 simulated ranks few use all of them.

    @cached_property
    def attributes(self) -> dict[Any, Any]:
        """What algorithms keep from call to call on this communicator, as MPI's attributes do."""
        return {}

    @cached_property
    def _slots(self) -> list[tuple[Any, Request | None]]:
        return []

    @cached_property
    def _meetings(self) -> dict[str, Comm]:
        return {}

    # -- messages ---------------------------------------------------------------------------

    @abstractmethod
    def isend(self, x: Array, to: int, tag: int = 0) -> Request:
        """Begin to send `x`; leave it unchanged until `wait()` returns."""

    @abstractmethod
    def irecv(self, x: Array, source: int, tag: int = 0) -> Request:
        """Begin to receive into `x`; its contents are there once `wait()` returns."""

    @abstractmethod
    def send(self, x: Array, to: int, tag: int = 0) -> None:
        """Send `x`; on return `x` may be changed."""

    @abstractmethod
    def recv(self, x: Array, source: int, tag: int = 0) -> int:
        """Receive into `x` and return the rank it came from; `source=ANY` takes the first."""

    @abstractmethod
    def sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int:
        """Send `x` and receive into `y` at the same time; returns the rank `y` came from."""

    @abstractmethod
    def wait_any(self, requests: Sequence[Request]) -> int:
        """Block until one of the `requests` is done; returns its index.

        Requests already waited for are passed over, so a list can be worked off in a loop.
        """

    # -- time -------------------------------------------------------------------------------

    @abstractmethod
    def now(self) -> float:
        """Seconds since the program began: measured on real ranks, virtual on simulated ones."""

    @abstractmethod
    def span(self, name: str, kind: str = "span") -> AbstractContextManager[None]:
        """`with comm.span("forward"):` puts what happens inside on the timeline."""

    @abstractmethod
    def work(self, seconds: float = 0.0, flops: float = 0.0) -> None:
        """Be busy: for so long, and for so many floating-point operations.

        Simulated ranks advance their clock. Real ranks sleep through the seconds, as a rank
        whose accelerator computes does, and really execute the operations.
        """

    @abstractmethod
    def combine(self, a: Array, b: Array, out: Array, op: Operation = "sum") -> None:
        """`out = a op b`, in place. Every rank that must get the same bits must pass `a` and `b`
        in the same order: a maximum of -0.0 and 0.0 depends on it."""

    # -- groups -----------------------------------------------------------------------------

    def barrier(self) -> None:
        """Nobody leaves before everybody has come (dissemination: log2 P rounds)."""
        with self.span("barrier", kind="barrier"):
            self._meet("barrier")

    def split(self, colour: int | None, key: int = 0) -> Comm | None:
        """Ranks of one `colour` form a communicator of their own, ordered by `key`, then rank.

        Every rank must call it; a rank with colour None joins no group and gets None.
        """
        if isinstance(colour, (bool, np.bool_)):
            colour = int(colour)
        elif colour is not None:
            colour = whole_number(colour, "split: a colour (other than None)")
        key = whole_number(key, "split: a key")
        if not 0 <= (colour or 0) <= LARGEST_INT or not -LARGEST_INT <= key <= LARGEST_INT:
            raise ValueError(
                f"split: colour {colour} and key {key} must fit into 32 bits, and a colour is "
                "not negative; a rank that joins no group passes None"
            )
        self._announce(colour, key)
        self._meet("split")
        return self._form_group(colour, key)

    def background(self, function: Callable[..., Any], *args: Any) -> Request:
        """Run `function(comm, *args)` beside this rank's own work.

        The function gets a communicator of the same ranks whose messages meet no others. All
        ranks must start their background calls in the same order; at the first few of them
        they meet. At most 16 run at once: one more first waits for the oldest.
        """
        if not callable(function):
            raise TypeError(f"background: a function is needed, not {function!r}")
        slot = self._background_calls % BACKGROUND_SLOTS
        self._background_calls += 1
        if slot == len(self._slots):
            self._meet("background")
            self._slots.append((self._duplicate(), None))
        place, oldest = self._slots[slot]
        if oldest is not None:
            oldest.wait()
        request = self._start(place, function, args)
        self._slots[slot] = place, request
        return request

    @abstractmethod
    def shared_memory(self, nbytes: int) -> SharedMemory:
        """Memory that all ranks of this communicator see, `nbytes` bytes of it for each rank.

        They must be on one node, and all must call it. It lasts until the program ends.
        """

    @abstractmethod
    def window(self, size: int, dtype: Any = np.float64) -> Window:
        """Memory of `size` elements that this rank shows to all others, on any node.

        They read, write and add to it without this rank's doing anything. All ranks must call
        it, each with a size of its own, perhaps 0. It lasts until the program ends.
        """

    def _meet(self, name: str) -> None:
        meeting = self._meetings.get(name)
        if meeting is None:
            meeting = self._meetings[name] = self._meeting(name)
        token, other = np.empty(0, np.uint8), np.empty(0, np.uint8)
        tag = MEETINGS.index(name)  # who splits does not meet who waits at a barrier
        distance = 1
        while distance < self.size:
            to, source = (self.rank + distance) % self.size, (self.rank - distance) % self.size
            meeting.sendrecv(token, to, other, source, tag)
            distance *= 2

    @abstractmethod
    def _meeting(self, label: str) -> Comm:
        """The same group, for the messages of a meeting: they meet no others, and stand in the
        ledger and in stories under their `label`, as "barrier" for instance."""

    @abstractmethod
    def _duplicate(self) -> Any:
        """A place for background functions, where their messages meet no others."""

    @abstractmethod
    def _announce(self, colour: int | None, key: int) -> None:
        """Say which group this rank wants to be in, before everybody meets."""

    @abstractmethod
    def _form_group(self, colour: int | None, key: int) -> Comm | None:
        """Make the group; every rank has announced itself by now."""

    @abstractmethod
    def _start(self, place: Any, function: Callable[..., Any], args: tuple) -> Request:
        """Begin `function` concurrently, with the communicator of that place and `args`."""

    def aside(self, label: str) -> Comm:
        """The same ranks, for messages about a program and not of it, such as those that compare
        clocks: they meet none of its own, are on no timeline, and are in the ledger by `label`."""
        return self._meeting(label)

    # -- checks -----------------------------------------------------------------------------

    def _check(self, peer: int, tag: int, verb: str) -> tuple[int, int]:
        """A peer and a tag as plain numbers, or an error that says precisely what is wrong."""
        if peer.__class__ is tag.__class__ is int and self._exist(peer, tag):
            return peer, tag
        peer, tag = whole_number(peer, f"{verb}: a rank"), whole_number(tag, f"{verb}: a tag")
        receives = verb in RECEIVES
        if not (self._exist(peer, tag) or (peer == ANY and receives and self._exist(0, tag))):
            if not 0 <= tag <= HIGHEST_TAG:
                raise ValueError(f"{verb}: tag {tag} is outside 0 to {HIGHEST_TAG}")
            ranks = f"the ranks are 0 to {self.size - 1}" if self.size > 1 else "there is only 0"
            hint = ", or ANY" if receives else "; ANY is for receives" if peer == ANY else ""
            raise ValueError(f"{verb}: rank {peer} does not exist here; {ranks}{hint}")
        return peer, tag

    def _exist(self, peer: int, tag: int) -> bool:
        return 0 <= peer < self.size and 0 <= tag <= HIGHEST_TAG


def not_waited_for(requests: Sequence[Request]) -> list[Request]:
    """Those that `wait_any` may choose from."""
    still_open = [request for request in requests if not request.waited]
    if not still_open:
        raise ValueError(
            "wait_any: all of these requests have been waited for already"
            if requests
            else "wait_any: the list of requests is empty"
        )
    return still_open


def whole_number(value: Any, what: str) -> int:
    """`value` as a plain number, or a TypeError about `what`."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} must be a whole number, not {value!r}")
    return operator.index(value)


def check_program(program: Any) -> None:
    """Refuse what would not run when it is called with a communicator."""
    if not callable(program):
        raise TypeError(f"the program must be a function of a communicator, not {program!r}")
    if inspect.isgeneratorfunction(program) or inspect.iscoroutinefunction(program):
        raise TypeError(
            f"{getattr(program, '__name__', program)} is a generator or a coroutine: called, it "
            "would only make an object that has not run. A program is a plain function, without "
            "yield and async."
        )


def check_rank_count(ranks: Any) -> int:
    """How many ranks to run on, as a plain number."""
    count = whole_number(ranks, "ranks")
    if count < 1:
        raise ValueError(f"ranks must be at least 1, not {count}")
    return count


def check_work(seconds: float, flops: float) -> None:
    """Refuse work that is no amount of work."""
    for name, amount in (("seconds", seconds), ("flops", flops)):
        if isinstance(amount, bool) or not isinstance(amount, numbers.Real):
            raise TypeError(f"work: {name} is a number, not {amount!r}")
        if not (math.isfinite(amount) and amount >= 0):
            raise ValueError(f"work: {name} must be zero or more, not {amount!r}")
