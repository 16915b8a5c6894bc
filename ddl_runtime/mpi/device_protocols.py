"""The three ways of a message between an array on a device and MPI, each a list of steps.

    direct       kernels done | message
    staged       copy out | message                       message | copy in
    pipelined    head, and for each chunk in turn: copy out | message | copy in

The two ends choose for themselves: whatever the sender does, a message arrives at an array on a
device as at one in host memory. MPI knows nothing of streams. So every list begins with a mark
behind the kernels that the program has queued. Bytes go out when those that write the array have
ended; they come in when those that read it have. A receive is over when its bytes are *in* the
array, a send when the array may be written again. Cost: `theory.staging`.
"""

import time
from collections import deque
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ddl_runtime.core.arrays import Array, check_writable, describe
from ddl_runtime.devices import device_of
from ddl_runtime.devices.device import Device, Event
from ddl_runtime.devices.staging import DEPTH, Copies, Landing, Staging, in_chunks, marked
from ddl_runtime.mpi.chunked import NUMBERS, chunk_tag, head_of
from ddl_runtime.mpi.delivery import Delivery
from ddl_runtime.mpi.polling import DEVICE, PEER
from ddl_runtime.mpi.requests import MPIRequest, Steps, Transfer, Turn, in_line, until
from ddl_runtime.mpi.wire import MPI, SIZE_HINTS, check_size, memory, wire_tag
from ddl_runtime.records.ledger import DEVICE_KINDS


@dataclass
class Parcel:
    """A message to send or to receive: its array, peer, tag and path."""

    delivery: Delivery
    x: Array
    peer: int
    tag: int
    on: Device | None
    nbytes: int
    code: int
    path: str
    chunk: int

    @property
    def device(self) -> Device:
        """The device that holds the array."""
        if self.on is None:
            raise TypeError("this array is in the memory of the host, not on a device")
        return self.on

    @property
    def copies(self) -> Copies:
        return self.delivery.context.records.copies

    @property
    def on_wire(self) -> int:
        return wire_tag(self.tag, self.code, self.nbytes, self.delivery.context.channel)

    def line(self) -> AbstractContextManager[Turn]:
        """A place among the messages to one rank under one tag."""
        return in_line(self.delivery.context, "send", self.peer, self.on_wire)

    def post(self, wire: Any, nbytes: int) -> MPI.Request:
        """Give MPI these bytes to send as the message, or as its head."""
        context, on_wire = self.delivery.context, self.on_wire
        oneself = self.peer == context.rank
        count = self.delivery.room(nbytes, on_wire) if oneself else nbytes
        return context.mpi.Isend([wire, count, MPI.BYTE], self.peer, on_wire)


def begin_send(delivery: Delivery, call: str, x: Array, to: int, tag: int) -> Transfer:
    """Begin to send `x`. It is on a device, or on the host behind a message from a device that it
    must not overtake."""
    parcel, context = _parcel(delivery, x, to, tag), delivery.context
    kind = context.label or DEVICE_KINDS.get(parcel.path, "host")
    context.ledger.append((context.members[to], tag, parcel.nbytes, kind))
    steps = _written_down(parcel, SENDS[parcel.path](parcel))
    return Transfer(context, (call, x, to, tag), steps)


def begin_receive(delivery: Delivery, call: str, x: Array, source: int, tag: int) -> Transfer:
    """Begin to receive into `x`. It is on a device, or on the host behind a receive on a device
    that it must not overtake."""
    check_writable(x)
    parcel = _parcel(delivery, x, source, tag)
    steps = _receive_on_host(parcel) if parcel.path == "host" else _receive(parcel)
    return Transfer(delivery.context, (call, x, source, tag), steps)


def _parcel(delivery: Delivery, x: Array, peer: int, tag: int) -> Parcel:
    nbytes, code = describe(x)
    check_size(nbytes)
    device, twin = device_of(x), delivery.for_transfers
    if device is None or not nbytes:
        host = x if device is None else Staging(0, code, np.empty(0, np.uint8))
        return Parcel(twin, host, peer, tag, None, nbytes, code, "host", 0)
    reach = delivery.context.preference.reach(nbytes, device.direct, device.table)
    if reach.path == "direct" and not device.direct:
        raise ValueError(
            f'device_path: "direct" needs an MPI library that reads the memory of {device.name} '
            "by itself, and this one does not: `ddl-teach doctor` says why. Take "
            '"staged" or "pipelined", or leave the choice to the communicator'
        )
    # Without hints at sizes in its tags, a receiver of this MPI takes a head for a message.
    path = "staged" if reach.path == "pipelined" and SIZE_HINTS == 1 else reach.path
    return Parcel(twin, device.flat(x), peer, tag, device, nbytes, code, path, reach.chunk)


def _written_down(parcel: Parcel, steps: Steps) -> Steps:
    begun = time.perf_counter()
    yield from steps
    parcel.delivery.sent(begun, parcel.x, parcel.peer, parcel.tag)


# -- sending --------------------------------------------------------------------------------


def _send_whole(parcel: Parcel) -> Steps:
    written = None if parcel.on is None else marked(parcel.on, parcel.x)
    with parcel.line() as my_turn:
        if written is not None:
            yield from until(written.done, DEVICE)
        yield from until(my_turn, PEER)
        sent = parcel.post(memory(parcel.x, parcel.nbytes), parcel.nbytes)
    yield from until(sent.Test, PEER)


def _send_staged(parcel: Parcel) -> Steps:
    device, x, nbytes, copies = parcel.device, parcel.x, parcel.nbytes, parcel.copies
    with parcel.line() as my_turn:
        stream, begun = copies.stream(device, marked(device, x)), time.perf_counter()
        pinned = copies.borrow(device, nbytes)
        device.to_host(x, 0, pinned[:nbytes], stream)
        yield from until(device.record(stream).done, DEVICE)
        parcel.delivery.copied("copy out", begun, nbytes)
        copies.done_with(device, stream)
        yield from until(my_turn, PEER)
        sent = parcel.post(pinned, nbytes)
    yield from until(sent.Test, PEER)
    copies.give_back(device, pinned)


def _send_pipelined(parcel: Parcel) -> Steps:
    device, x, copies = parcel.device, parcel.x, parcel.copies
    context = parcel.delivery.context
    context.records.chunked += 1
    number = context.records.chunked % NUMBERS
    stream = copies.stream(device, marked(device, x))
    with parcel.line() as my_turn:
        yield from until(my_turn, PEER)
        head = head_of(parcel.nbytes, parcel.chunk, number)
        head_sent = parcel.post(head, len(head))
    todo = deque(in_chunks(parcel.nbytes, parcel.chunk))
    copying: deque[tuple[Event, np.ndarray, int, float]] = deque()
    travelling: deque[tuple[MPI.Request, np.ndarray]] = deque()
    while todo or copying or travelling:
        if todo and len(copying) + len(travelling) < DEPTH:
            first, nbytes = todo.popleft()
            pinned = copies.borrow(device, nbytes)
            device.to_host(x, first, pinned[:nbytes], stream)
            copying.append((device.record(stream), pinned, nbytes, time.perf_counter()))
        elif copying and copying[0][0].done():
            _, pinned, nbytes, begun = copying.popleft()
            parcel.delivery.copied("copy out", begun, nbytes)
            wire = [pinned, nbytes, MPI.BYTE]
            sent = context.mpi.Isend(wire, parcel.peer, chunk_tag(context, number))
            travelling.append((sent, pinned))
        elif travelling and travelling[0][0].Test():
            copies.give_back(device, travelling.popleft()[1])
            context.monitor.moved()
        else:
            yield DEVICE if copying else PEER
    copies.done_with(device, stream)
    yield from until(head_sent.Test, PEER)


SENDS = {
    "host": _send_whole,
    "direct": _send_whole,
    "staged": _send_staged,
    "pipelined": _send_pipelined,
}

# -- receiving ------------------------------------------------------------------------------


def _tell_mpi(parcel: Parcel, x: Any, my_turn: Turn) -> Steps:
    """Begin to receive into `x` when it is this message's turn; returns the request."""
    yield from until(my_turn, PEER)
    delivery, source, tag = parcel.delivery, parcel.peer, parcel.tag
    handle = delivery.begin_receive(x, source, tag)
    return MPIRequest(delivery, handle, "irecv", x, source, tag)


def _receiving_line(parcel: Parcel) -> AbstractContextManager[Turn]:
    """A place among all receives under one tag: one from ANY may take a message of any source."""
    return in_line(parcel.delivery.context, "receive", parcel.on_wire)


def _receive_on_host(parcel: Parcel) -> Steps:
    with _receiving_line(parcel) as my_turn:
        message = yield from _tell_mpi(parcel, parcel.x, my_turn)
    yield from until(message.finished, PEER)
    return message.wait()


def _receive(parcel: Parcel) -> Steps:
    device, x, nbytes = parcel.device, parcel.x, parcel.nbytes
    read, copies = marked(device, x), parcel.copies
    pinned: np.ndarray | None = None
    with _receiving_line(parcel) as my_turn:
        if parcel.path == "direct":
            yield from until(read.done, DEVICE)
            room = memory(x, nbytes)
        elif parcel.path == "staged":
            pinned = copies.borrow(device, nbytes)
            room = pinned[:nbytes]
        else:
            room = np.empty(nbytes, np.uint8)  # no page of it is used if the message is chunked
        note = parcel.delivery.copied
        landing = Landing(nbytes, parcel.code, room, copies, device, x, read, note)
        message = yield from _tell_mpi(parcel, landing, my_turn)
    yield from until(message.finished, lambda: DEVICE if landing.copying() else PEER)
    came_whole = landing.copy_in is None
    if came_whole and pinned is not None:
        landing.place().came_whole(pinned, nbytes)
    elif came_whole and parcel.path == "pipelined":
        place = landing.place()  # it goes into the device by way of pinned memory
        for first, length in in_chunks(nbytes, parcel.chunk):
            while (pages := place.room(first, length)) is None:
                yield DEVICE
            pages[:] = room[first : first + length]
            place.came(first, length)
    elif pinned is not None:
        copies.give_back(device, pinned)
    if landing.copy_in is not None:
        yield from until(landing.copy_in.settled, DEVICE)
        landing.copy_in.close()
    return message.wait()
