"""How real ranks exchange messages: over MPI.

Every verb takes arrays in the host's memory straight to MPI. Arrays on a device take the ways of
`mpi_transfers`, and so does whatever must not overtake one of them.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from ddl_teach.comm import arrays
from ddl_teach.comm.arrays import TYPE_NAMES, Array, as_bytes, describe
from ddl_teach.comm.chunks import HEAD_BYTES, Chunks, InHostMemory
from ddl_teach.comm.devices import device_of
from ddl_teach.comm.devices.staging import Landing
from ddl_teach.comm.interface import ANY, Request, not_waited_for
from ddl_teach.comm.ledger import Ledger
from ddl_teach.comm.mpi import CHANNEL_SHIFT, MPI, MPI_SOURCE, SHORT, SIZE_HINTS, memory, wire_tag
from ddl_teach.comm.mpi_requests import MPIRequest, Records
from ddl_teach.comm.mpi_steps import begin_receive, begin_send
from ddl_teach.comm.mpi_stories import MPIStories
from ddl_teach.comm.patience import Monitor, Patience
from ddl_teach.comm.story import MessageMismatch, Wait, mismatch_text


class MPIMessages(MPIStories):
    """The part of a communicator of MPI processes that sends and receives."""

    def __init__(
        self, mpi: MPI.Intracomm, members: Sequence[int], nodes: Sequence[int], records: Records,
        monitor: Monitor, label: str = "",
    ) -> None:  # fmt: skip
        self.rank = mpi.rank
        self.size = mpi.size
        self.node = nodes[members[mpi.rank]]
        self.ledger = Ledger(records.ledger)
        self.label = label
        self.mpi = mpi
        self._members = members
        self._nodes = nodes
        self._records = records
        self._monitor = monitor
        self._patience = Patience(monitor, sum(node == self.node for node in nodes))
        self._kind = label or "host"
        self._spans = None if label else records.spans
        self._channel = 1 << CHANNEL_SHIFT if label else 0
        self._status = MPI.Status()
        self._preference = records.preference
        self._lines: dict[tuple, Any] = {}  # transfers that MPI has not been told of yet

    @cached_property
    def _for_transfers(self) -> MPIMessages:
        """The same communicator for what any strand of this rank may move on: what MPI says then
        must not stand where the strand that owns this one looks for what MPI says to it."""
        twin = copy.copy(self)
        twin._status = MPI.Status()
        return twin

    # -- messages ---------------------------------------------------------------------------

    def _begin_send(self, x: Array, to: int, tag: int) -> MPI.Request:
        nbytes, code = describe(x)
        wire, on_wire = memory(x, nbytes), wire_tag(tag, code, nbytes, self._channel)
        count = self._room(nbytes, on_wire) if to == self.rank else nbytes
        handle = self.mpi.Isend([wire, count, MPI.BYTE], to, on_wire)
        self._records.ledger.append((self._members[to], tag, nbytes, self._kind))
        return handle

    def _room(self, nbytes: int, on_wire: int) -> int:
        """How many bytes of a message to oneself the receive that waits for it has room for.

        Open MPI would write all of them, over the end of a receive that was begun before.
        """
        # A copy: functions in the background open and close requests of their own meanwhile.
        for request in list(self._records.open):
            if request.takes(self, on_wire):
                return request.offer(nbytes)
        return nbytes

    def _begin_receive(self, x: Array, source: int, tag: int) -> MPI.Request:
        nbytes, code = describe(x)
        arrays.check_writable(x)
        wire = memory(x, nbytes)
        place = MPI_SOURCE.get(source, source), wire_tag(tag, code, nbytes, self._channel)
        if source in (ANY, self.rank) and self._longer_from_oneself(nbytes, place[1]):
            message = self.mpi.Improbe(*place, self._status)
            room = max(nbytes, self._status.Get_count(MPI.BYTE))
            wire = wire if room == nbytes else np.empty(room, np.uint8)
            return message.Irecv([wire, MPI.BYTE])
        return self.mpi.Irecv([wire, MPI.BYTE], *place)

    def _longer_from_oneself(self, nbytes: int, on_wire: int) -> bool:
        """Whether a message of this rank's own lies here that needs more room than `nbytes`.

        Open MPI would write all of it, over the end of the array.
        """
        found = self.mpi.Iprobe(self.rank, on_wire, self._status)
        return found and self._status.Get_count(MPI.BYTE) > nbytes

    def isend(self, x: Array, to: int, tag: int = 0) -> Request:
        to, tag = self._check(to, tag, "isend")
        if self._lines or (x.__class__ is not np.ndarray and device_of(x) is not None):
            return begin_send(self, "isend", x, to, tag)
        return MPIRequest(self, self._begin_send(x, to, tag), "isend", x, to, tag)

    def irecv(self, x: Array, source: int, tag: int = 0) -> Request:
        source, tag = self._check(source, tag, "irecv")
        if self._lines or (x.__class__ is not np.ndarray and device_of(x) is not None):
            return begin_receive(self, "irecv", x, source, tag)
        return MPIRequest(self, self._begin_receive(x, source, tag), "irecv", x, source, tag)

    def send(self, x: Array, to: int, tag: int = 0) -> None:
        begun = time.perf_counter()
        to, tag = self._check(to, tag, "send")
        if self._lines or (x.__class__ is not np.ndarray and device_of(x) is not None):
            begin_send(self, "send", x, to, tag).wait()
            return
        self._finish_send(self._begin_send(x, to, tag), begun, x, to, tag)

    def recv(self, x: Array, source: int, tag: int = 0) -> int:
        begun = time.perf_counter()
        source, tag = self._check(source, tag, "recv")
        if self._lines or (x.__class__ is not np.ndarray and device_of(x) is not None):
            return begin_receive(self, "recv", x, source, tag).wait()
        handle = self._begin_receive(x, source, tag)
        return self._finish_receive(handle, begun, "recv", x, source, tag)

    def sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int:
        begun = time.perf_counter()
        to, tag = self._check(to, tag, "sendrecv to")
        describe(x)  # what is refused must be so before the receive is posted
        source, tag = self._check(source, tag, "sendrecv")
        if self._lines or (
            not x.__class__ is y.__class__ is np.ndarray
            and (device_of(x) is not None or device_of(y) is not None)
        ):
            receiving = begin_receive(self, "sendrecv", y, source, tag)
            sending = begin_send(self, "send", x, to, tag)
            came_from = receiving.wait()
            sending.wait()
            return came_from
        incoming = self._begin_receive(y, source, tag)
        # To oneself the receive is on record before the send, which looks for it.
        oneself = to == self.rank
        receiving = MPIRequest(self, incoming, "sendrecv", y, source, tag) if oneself else None
        outgoing = self._begin_send(x, to, tag)
        sent = outgoing.Test()  # short messages leave at once
        if sent:
            self._sent(begun, x, to, tag)
        if receiving is None:
            came_from = self._finish_receive(incoming, begun, "sendrecv", y, source, tag)
        else:
            came_from = receiving.wait()
        if not sent:
            self._finish_send(outgoing, begun, x, to, tag)
        return came_from

    def _finish_send(self, handle: MPI.Request, begun: float, x: Array, to: int, tag: int) -> None:
        try:
            self._patience.wait(handle.Test, self._explain, "send", x, to, tag)
        except BaseException:
            MPIRequest(self, handle, "isend", x, to, tag)  # MPI still reads the memory of x
            raise
        self._sent(begun, x, to, tag)

    def _finish_receive(
        self, handle: MPI.Request, begun: float, call: str, x: Array, source: int, tag: int
    ) -> int:
        try:
            self._patience.wait(
                partial(handle.Test, self._status), self._explain, call, x, source, tag
            )
        except MPI.Exception as error:
            raise self._misfit(error, x, source, tag) from None
        except BaseException:
            MPIRequest(self, handle, "irecv", x, source, tag)  # MPI still writes into x
            raise
        came_from = self._received(begun, x, source, tag)
        if came_from is None:
            return MPIRequest(self, self._chunks_into(x, tag), call, x, source, tag).wait()
        return came_from

    def _finish_call(
        self, request: MPI.Request, call: str, peers: tuple[int, ...], *known: Any
    ) -> None:
        """Wait for what is no message. MPI goes on with it, whatever ends the wait, so what it
        knows of is kept then."""
        try:
            self._patience.wait(request.Test, self._explain_call, call, peers)
        except BaseException:
            self._records.given_up.append((request, known))
            raise

    def _test(self, handle: MPI.Request, x: Array, source: int, tag: int) -> bool:
        """Whether a receive is done."""
        try:
            return handle.Test(self._status)
        except MPI.Exception as error:
            raise self._misfit(error, x, source, tag) from None

    def _received(
        self, begun: float, x: Array, source: int, tag: int, too_long: int = 0
    ) -> int | None:
        """Check and record the message that `status` tells of; returns where it came from. None
        if that is only the head of one that comes in chunks."""
        status = self._status
        nbytes = x.nbytes
        came = too_long or status.Get_count(MPI.BYTE)
        source = status.Get_source()
        if came != nbytes:
            if not too_long and self._is_head(nbytes):
                return None
            raise self._mismatch(x, source, tag, came)
        world = self._members[source]
        self._records.received.append((world, tag, nbytes, self._kind))
        if self._spans is not None:
            start = begun - self._records.began
            self._spans.append(("recv", "recv", start, self.now(), world, tag, nbytes))
        return source

    def _is_head(self, nbytes: int) -> bool:
        """Whether `status` tells of what announces chunks, where so many bytes were expected: no
        message so short has a tag with a hint at a size."""
        # Nor has a receive that ended because its sender died, which has no bytes.
        came = self._status.Get_count(MPI.BYTE)
        return nbytes > SHORT and came == HEAD_BYTES and SIZE_HINTS > 1

    def _mismatch(self, x: Array, source: int, tag: int, came: int) -> MessageMismatch:
        nbytes, code = describe(x)
        name, sender = TYPE_NAMES[code], self._members[source]
        return MessageMismatch(
            mismatch_text(self._members[self.rank], sender, tag, (came, name), (nbytes, name))
        )

    def _chunks_into(self, x: Array, tag: int) -> Chunks:
        """A head has come to where `x` is; this stands for the rest of its message."""
        source = self._status.Get_source()
        if isinstance(x, Landing):
            chunks = Chunks(self, x.head(HEAD_BYTES), source, x.place())
        else:
            chunks = Chunks(self, as_bytes(x)[:HEAD_BYTES].copy(), source, InHostMemory(x))
        if chunks.nbytes != x.nbytes:
            raise self._mismatch(x, source, tag, chunks.nbytes)
        return chunks

    def _sent(self, begun: float, x: Array, to: int, tag: int) -> None:
        if self._spans is not None:
            start, peer = begun - self._records.began, self._members[to]
            self._spans.append(("send", "send", start, self.now(), peer, tag, x.nbytes))

    def _copied(self, way: str, begun: float, nbytes: int) -> None:
        """Put a copy between host and device on the timeline."""
        if self._spans is not None:
            start = begun - self._records.began
            self._spans.append((way, way, start, self.now(), -1, -1, nbytes))

    def wait_any(self, requests: Sequence[Request]) -> int:
        waiting = not_waited_for(requests)
        done: list[Request] = []

        def any_finished() -> bool:
            done.extend(next(([request] for request in waiting if request.finished()), []))
            return bool(done)

        def explain() -> Wait:
            waits = [request.explain() for request in waiting]
            peers = tuple(sorted({peer for wait in waits for peer in wait.peers}))
            call = waits[0].call if len(waits) == 1 else f"wait_any of {len(waits)} requests"
            note = next((wait.note for wait in waits if wait.note), "")
            misfit = next((wait.misfit for wait in waits if wait.misfit), "")
            return self._explain_call(call, peers, note, misfit)

        self._patience.wait(any_finished, explain)
        return next(i for i, request in enumerate(requests) if request is done[0])
