"""The communicator: one interface on simulated ranks and on MPI processes.

A rank program is a function whose first argument is a `Comm`. It cannot tell the two apart except
by the clock. A communicator only passes each call to the part that carries it out (`parts`).

Matching is MPI's, made strict: a receive takes the oldest message whose source, tag and element
type agree with it, and the sizes must then be equal. Tags run from 0 to 32767, the range that
every MPI library promises. Arrays on a device travel as they are (`devices`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial, wraps
from inspect import signature
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar, overload

import numpy as np

from ddl_runtime.core.arrays import Array, Operation
from ddl_runtime.core.checks import LARGEST_INT, check_peer, check_work, whole_number
from ddl_runtime.core.collective_log import CollectiveLog
from ddl_runtime.core.line import Line
from ddl_runtime.core.memory import NOT_COUNTED, Held, check_hold
from ddl_runtime.core.parts import (
    Clock,
    Groups,
    PointToPoint,
    RankContext,
    Request,
    Windows,
    not_waited_for,
)
from ddl_runtime.core.strict import StrictMessages
from ddl_runtime.core.window import SharedMemory, Window, check_dtype
from ddl_runtime.devices.choice import Table, check_path, check_table
from ddl_runtime.devices.placement import own_device, prepare_torch
from ddl_runtime.diagnosis.frames import begun_here
from ddl_runtime.records.ledger import Ledger

BACKGROUND_SLOTS = 16

P = ParamSpec("P")  # what a collective takes beside the communicator
R = TypeVar("R")
MEETINGS = ("barrier", "split", "background", "shared_memory", "fence", "window", "subgroup")


class Comm(ABC):
    """A group of ranks and this rank's place in it."""

    host_link: Any = None  # where simulated: what a copy between host and device costs
    virtual_time: bool = False
    own_thread: bool = True  # whether no other rank shares what a library keeps for each thread
    _background_calls: int = 0
    _token: Array = np.empty(0, np.uint8)  # what ranks that meet send

    def __init__(self, context: RankContext, point_to_point: PointToPoint) -> None:
        self.rank = context.rank
        self.size = context.size
        self.node = context.node
        self.ledger = Ledger(context.ledger)
        self.context = context
        self.point_to_point = point_to_point
        self._log = CollectiveLog(context.number)
        context.logs.append(self._log)
        if context.watch is not None:
            self.point_to_point = StrictMessages(point_to_point, context.watch)

    # The parts are made when first used: of 65,536 simulated ranks few use all of them.

    @property
    @abstractmethod
    def clock(self) -> Clock: ...
    @property
    @abstractmethod
    def groups(self) -> Groups[Any]: ...
    @property
    @abstractmethod
    def windows(self) -> Windows: ...

    @cached_property
    def attributes(self) -> dict[Any, Any]:
        """A dictionary of this communicator in which algorithms keep data between calls, like
        MPI's attributes."""
        return {}

    @cached_property
    def _slots(self) -> list[tuple[Comm, Request | None]]:
        return []

    @cached_property
    def _meetings(self) -> dict[str, PointToPoint]:
        return {}

    def _meet(self, name: str, ranks: Sequence[int] | None = None) -> None:
        """Wait until all ranks, or those, have come; meetings of one name have messages of their
        own. Dissemination: in round k each rank receives from the rank 2^k before it, and sends to
        the one 2^k after it. After log2 P rounds it has received, directly or not, from all. Cost:
        log2 P latencies."""
        if name not in self._meetings:
            self._meetings[name] = self.groups.meeting(name)
        messages, token = self._meetings[name], self._token
        tag = MEETINGS.index(name)  # a rank that splits does not meet one at a barrier
        place, size, distance = self.rank, self.size, 1
        if ranks is not None:
            place, size = ranks.index(self.rank), len(ranks)
        while distance < size:
            to, source = (place + distance) % size, (place - distance) % size
            if ranks is not None:
                to, source = ranks[to], ranks[source]
            messages.sendrecv(token, to, token, source, tag)
            distance *= 2

    # -- messages ---------------------------------------------------------------------------

    def isend(self, x: Array, to: int, tag: int = 0) -> Request:
        """Begin to send `x`; leave it unchanged until `wait()` returns."""
        to, tag = check_peer(to, tag, "isend", self.size)
        return self.point_to_point.isend(x, to, tag)

    def irecv(self, x: Array, source: int, tag: int = 0) -> Request:
        """Begin to receive into `x`; its contents are there once `wait()` returns."""
        source, tag = check_peer(source, tag, "irecv", self.size)
        return self.point_to_point.irecv(x, source, tag)

    def send(self, x: Array, to: int, tag: int = 0) -> None:
        """Send `x`; on return `x` may be changed."""
        to, tag = check_peer(to, tag, "send", self.size)
        self.point_to_point.send(x, to, tag)

    def recv(self, x: Array, source: int, tag: int = 0) -> int:
        """Receive into `x` and return the rank it came from; `source=ANY` takes the first."""
        source, tag = check_peer(source, tag, "recv", self.size)
        return self.point_to_point.recv(x, source, tag)

    def sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int:
        """Send `x` and receive into `y` at the same time; returns the rank `y` came from."""
        to, tag = check_peer(to, tag, "sendrecv to", self.size)
        source, tag = check_peer(source, tag, "sendrecv", self.size)
        return self.point_to_point.sendrecv(x, to, y, source, tag)

    def wait_any(self, requests: Sequence[Request]) -> int:
        """Block until one of the `requests` is done; returns its index.

        Requests already waited for are passed over, so a list can be worked off in a loop.
        """
        chosen = self.point_to_point.wait_any(not_waited_for(requests))
        return next(i for i, request in enumerate(requests) if request is chosen)

    # -- time -------------------------------------------------------------------------------

    def now(self) -> float:
        """Seconds since the program began: measured on real ranks, virtual on simulated ones."""
        return self.clock.now()

    def span(self, name: str, kind: str = "span") -> AbstractContextManager[None]:
        """`with comm.span("forward"):` puts what happens inside on the timeline."""
        return self.clock.span(name, kind)

    def work(self, seconds: float = 0.0, flops: float = 0.0, nbytes: float = 0.0) -> None:
        """Be busy for `seconds`, and for as long as the operations and bytes of memory take.

        Simulated ranks advance their clock, by the roof of their `Machine`. Real ranks sleep
        through the seconds, as a rank whose accelerator computes does, and really execute the
        operations and move the bytes.
        """
        check_work(seconds, flops, nbytes)
        self.clock.work(seconds, flops, nbytes)

    @property
    def counts_memory(self) -> bool:
        """Whether what this rank holds is counted: with a timeline, or with a limit of memory."""
        return self.context.memory is not None

    def hold(self, nbytes: int, what: str) -> Held:
        """Count `nbytes` bytes as held by this rank: `with comm.hold(n, "activations"):`, or until
        `release()` of what this returns. Nothing is allocated.

        Pictures and errors add up what is of one kind. More than the `memory` that ranks were
        given raises.
        """
        memory = self.context.memory
        if memory is None:
            check_hold(nbytes, what)
            return NOT_COUNTED
        return Held(memory, self.clock, nbytes, what)

    def combine(self, a: Array, b: Array, out: Array, op: Operation = "sum") -> None:
        """`out = a op b`, in place. Every rank that must get the same bits must pass `a` and `b`
        in the same order: a maximum of -0.0 and 0.0 depends on it."""
        self.clock.combine(a, b, out, op)

    # -- groups -----------------------------------------------------------------------------

    def collective(
        self, name: str, nbytes: int | None = None, op: Operation | None = None
    ) -> AbstractContextManager[None]:
        """`with comm.collective("allreduce", x.nbytes, op):` says that all ranks do the same here.

        They are compared when the program is over: name, bytes, and operation, in order
        (`core.collective_log`). What happens inside belongs to it, also other collectives.
        """
        return self._log.open(name, nbytes, op)

    def barrier(self) -> None:
        """No rank leaves before every rank has come (dissemination: log2 P rounds)."""
        with self.span("barrier", kind="barrier"):
            self._meet("barrier")

    @overload
    def split(self, colour: int, key: int = 0) -> Comm: ...
    @overload
    def split(self, colour: int | None, key: int = 0) -> Comm | None: ...
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
        return self.groups.split(colour, key, partial(self._meet, "split"))

    def subgroup(self, ranks: Sequence[int]) -> Comm:
        """A communicator of these ranks, in this order. They alone call it, all with the same list
        (MPI's Create_group), where a `split` needs all ranks."""
        members = tuple(check_peer(rank, 0, "subgroup", self.size)[0] for rank in ranks)
        if len(set(members)) < len(members) or self.rank not in members:
            raise ValueError(
                f"subgroup: rank {self.rank} asks for a group of the ranks {list(members)}; each "
                "of them must be there once, and those alone call it that are among them"
            )
        group: Comm = self.groups.subgroup(members, partial(self._meet, "subgroup", members))
        return group

    def line(self) -> Line:
        """For functions that run one after another beside this rank's own work; all ranks make
        it together. The collectives that they call are not compared (`collective`)."""
        self._meet("background")
        place: Comm = self.groups.duplicate()
        here: Comm = self.groups.on_this_strand(place)
        for log in self.context.logs:
            if log.communicator == place.context.number:
                log.depth = 1  # as inside of a collective: nothing is noted
        return Line(self.groups, place, here, self.context.watch)

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
            self._slots.append((self.groups.duplicate(), None))
        place, oldest = self._slots[slot]
        if oldest is not None:
            oldest.wait()
        request = self.groups.start(place, begun_here(function), args)
        if self.context.watch is not None:
            self.context.watch.background.append(request.wait)
        self._slots[slot] = place, request
        return request

    def shared_memory(self, nbytes: int) -> SharedMemory:
        """Memory that all ranks of this communicator see, `nbytes` bytes of it for each rank.

        They must be on one node, and all must call it. It lasts until the program ends.
        """
        return self.windows.shared_memory(nbytes)

    def window(self, size: int, dtype: Any = np.float64) -> Window:
        """Memory of `size` elements that this rank shows to all others, on any node.

        They read, write and add to it without this rank's doing anything. All ranks must call
        it, each with a size of its own, perhaps 0. It lasts until the program ends.
        """
        element, count = check_dtype(dtype), whole_number(size, "window: a size", 0)
        return self.windows.window(count, element)

    def aside(self, label: str) -> Comm:
        """A communicator of the same ranks for messages about a program, such as those that
        compare clocks. They meet none of the program's own, are on no timeline, and are in the
        ledger by `label`."""
        place: Comm = self.groups.aside(label)
        return place

    # -- failures ---------------------------------------------------------------------------

    def die(self) -> NoReturn:
        """End this rank's process at once, as a crash would: to see what the others do."""
        self.groups.die()

    def revoke(self) -> None:
        """Let every wait on this communicator end with RankLost, on all ranks."""
        self.groups.revoke()

    def agree(self, yes: bool = True) -> bool:
        """Whether all ranks live and say `yes`; all get the same answer. All living ranks must
        call it. It works on a revoked communicator, and never raises RankLost."""
        return self.groups.agree(yes)

    def shrink(self) -> Comm:
        """A communicator of the living ranks; revokes this one. All living ranks must call it."""
        living: Comm = self.groups.shrink()
        return living

    # -- arrays on devices ------------------------------------------------------------------

    @property
    def device(self) -> str:
        """What torch calls this rank's device, as in `model.to(comm.device)`: its share of the
        node's GPUs, else "cpu". What is set holds on all communicators of this rank; "standin" is
        a device without a GPU."""
        if self.context.preference.device is None:
            number = self.context.members[self.rank] if self.virtual_time else 0
            self.device = own_device(number)
        return self.context.preference.device or "cpu"

    @device.setter
    def device(self, name: str) -> None:
        if name != "cpu":
            prepare_torch(name, self.own_thread)
        self.context.preference.device = name

    @property
    def device_table(self) -> Table | None:
        """The table by which messages of arrays on devices choose their path, by size. It holds
        from the next message on, on all communicators of this rank; None for the usual table."""
        return self.context.preference.table

    @device_table.setter
    def device_table(self, table: Table | None) -> None:
        if table is not None:
            check_table(table)
        self.context.preference.table = table

    @property
    def device_path(self) -> str | None:
        """One path for messages of all sizes; None to go by the table."""
        return self.context.preference.path

    @device_path.setter
    def device_path(self, path: str | None) -> None:
        if path is not None:
            check_path(path)
        self.context.preference.path = path


def collective(function: Callable[Concatenate[Comm, P], R]) -> Callable[Concatenate[Comm, P], R]:
    """A function that all ranks of a communicator call alike (`Comm.collective`): they agree in
    its name, in the bytes of `x`, or of `out` where only a root has `x`, and in `op`."""
    words = function.__module__.split(".")
    name = f"{words[-1]}.{function.__name__}"
    parameters = signature(function).parameters
    places = {parameter: place for place, parameter in enumerate(parameters, start=-1)}
    array = "out" if function.__name__ == "scatter" else "x"
    array_place, op_place = places.get(array, LARGEST_INT), places.get("op", LARGEST_INT)
    default = parameters["op"].default if "op" in parameters else None

    @wraps(function)
    def called(comm: Comm, /, *args: P.args, **kwargs: P.kwargs) -> R:
        x: Any = args[array_place] if array_place < len(args) else kwargs.get(array)
        op: Any = args[op_place] if op_place < len(args) else kwargs.get("op", default)
        with comm.collective(name, getattr(x, "nbytes", None), op):
            return function(comm, *args, **kwargs)

    return called
