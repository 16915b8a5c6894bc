"""How real ranks exchange messages: over MPI.

The only file that imports mpi4py. Messages travel as plain bytes, so that every element type does,
also those that MPI has no name for. The type stands in the MPI tag, beside the learner's own tag
and the channel, so a message is never taken for one of another type.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from mpi4py import MPI

from ddl_teach.comm import arrays
from ddl_teach.comm.arrays import (
    TYPE_NAMES,
    Array,
    Phantom,
    describe,
)
from ddl_teach.comm.frames import source_line
from ddl_teach.comm.interface import ANY, HIGHEST_TAG, Comm, Request, not_waited_for
from ddl_teach.comm.ledger import Ledger
from ddl_teach.comm.mpi_requests import SHORT, MPIRequest, Records
from ddl_teach.comm.patience import Monitor, Patience
from ddl_teach.comm.story import MessageMismatch, Wait, call_text, mismatch_text, unasked_text

# Where element type, channel and a hint at the size stand in an MPI tag.
TYPE_SHIFT, CHANNEL_SHIFT, SIZE_SHIFT = 15, 20, 21
SIZE_HINTS = min(1021, max(1, (MPI.COMM_WORLD.Get_attr(MPI.TAG_UB) >> SIZE_SHIFT) - 1))
LARGEST_MESSAGE = 2**31 - 1
MPI_SOURCE = {ANY: MPI.ANY_SOURCE}  # every library has a number of its own for it


class MPIMessages(Comm):
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

    # -- messages ---------------------------------------------------------------------------

    def _begin_send(self, x: Array, to: int, tag: int) -> MPI.Request:
        nbytes, code = describe(x)
        wire, wire_tag = _memory(x, nbytes), self._wire_tag(tag, code, nbytes)
        count = self._room(nbytes, wire_tag) if to == self.rank else nbytes
        handle = self.mpi.Isend([wire, count, MPI.BYTE], to, wire_tag)
        self._records.ledger.append((self._members[to], tag, nbytes, self._kind))
        return handle

    def _room(self, nbytes: int, wire_tag: int) -> int:
        """How many bytes of a message to oneself the receive that waits for it has room for.

        Open MPI would write all of them, over the end of a receive that was begun before.
        """
        # A copy: functions in the background open and close requests of their own meanwhile.
        for request in list(self._records.open):
            if request.takes(self, wire_tag):
                return request.offer(nbytes)
        return nbytes

    def _begin_receive(self, x: Array, source: int, tag: int) -> MPI.Request:
        nbytes, code = describe(x)
        arrays.check_writable(x)
        wire = _memory(x, nbytes)
        place = MPI_SOURCE.get(source, source), self._wire_tag(tag, code, nbytes)
        if source in (ANY, self.rank) and self._longer_from_oneself(nbytes, place[1]):
            message = self.mpi.Improbe(*place, self._status)
            room = max(nbytes, self._status.Get_count(MPI.BYTE))
            wire = wire if room == nbytes else np.empty(room, np.uint8)
            return message.Irecv([wire, MPI.BYTE])
        return self.mpi.Irecv([wire, MPI.BYTE], *place)

    def _longer_from_oneself(self, nbytes: int, wire_tag: int) -> bool:
        """Whether a message of this rank's own lies here that needs more room than `nbytes`.

        Open MPI would write all of it, over the end of the array.
        """
        found = self.mpi.Iprobe(self.rank, wire_tag, self._status)
        return found and self._status.Get_count(MPI.BYTE) > nbytes

    def _wire_tag(self, tag: int, code: int, nbytes: int) -> int:
        # Some libraries copy all of a long message even when too little room was given for it.
        # With a hint at its size in the tag, it does not meet a receive of another size.
        hint = 1 + nbytes % (SIZE_HINTS - 1) if nbytes > SHORT and SIZE_HINTS > 1 else 0
        return tag | code << TYPE_SHIFT | self._channel | hint << SIZE_SHIFT

    def isend(self, x: Array, to: int, tag: int = 0) -> Request:
        to, tag = self._check(to, tag, "isend")
        return MPIRequest(self, self._begin_send(x, to, tag), "isend", x, to, tag)

    def irecv(self, x: Array, source: int, tag: int = 0) -> Request:
        source, tag = self._check(source, tag, "irecv")
        return MPIRequest(self, self._begin_receive(x, source, tag), "irecv", x, source, tag)

    def send(self, x: Array, to: int, tag: int = 0) -> None:
        begun = time.perf_counter()
        to, tag = self._check(to, tag, "send")
        self._finish_send(self._begin_send(x, to, tag), begun, x, to, tag)

    def recv(self, x: Array, source: int, tag: int = 0) -> int:
        begun = time.perf_counter()
        source, tag = self._check(source, tag, "recv")
        handle = self._begin_receive(x, source, tag)
        return self._finish_receive(handle, begun, "recv", x, source, tag)

    def sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int:
        begun = time.perf_counter()
        to, tag = self._check(to, tag, "sendrecv to")
        describe(x)  # what is refused must be so before the receive is posted
        source, tag = self._check(source, tag, "sendrecv")
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
        return self._received(begun, x, source, tag)

    def _test(self, handle: MPI.Request, x: Array, source: int, tag: int) -> bool:
        """Whether a receive is done."""
        try:
            return handle.Test(self._status)
        except MPI.Exception as error:
            raise self._misfit(error, x, source, tag) from None

    def _received(self, begun: float, x: Array, source: int, tag: int, too_long: int = 0) -> int:
        """Check and record the message that `status` tells of; returns where it came from."""
        status = self._status
        nbytes = x.nbytes
        came = too_long or status.Get_count(MPI.BYTE)
        source = status.Get_source()
        if came != nbytes:
            name = TYPE_NAMES[describe(x)[1]]
            me, sender = self._members[self.rank], self._members[source]
            raise MessageMismatch(mismatch_text(me, sender, tag, (came, name), (nbytes, name)))
        world = self._members[source]
        if not self.label:
            self._records.received.append((world, tag, nbytes))
        if self._spans is not None:
            start = begun - self._records.began
            self._spans.append(("recv", "recv", start, self.now(), world, tag, nbytes))
        return source

    def _sent(self, begun: float, x: Array, to: int, tag: int) -> None:
        if self._spans is not None:
            start, peer = begun - self._records.began, self._members[to]
            self._spans.append(("send", "send", start, self.now(), peer, tag, x.nbytes))

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

    # -- stories ----------------------------------------------------------------------------

    def _explain_call(
        self, call: str, peers: tuple[int, ...], note: str = "", misfit: str = ""
    ) -> Wait:
        where = source_line(sys._getframe(1))
        return Wait(self._members[self.rank], call, peers, where, note, misfit)

    def _explain(self, call: str, x: Array, peer: int, tag: int) -> Wait:
        """What this rank waits for, and whether something lies here that almost fits."""
        everybody = tuple(m for i, m in enumerate(self._members) if i != self.rank)
        peers = everybody if peer == ANY else (self._members[peer],)
        if self.label:
            return self._explain_call(f"{self.label}()", peers)
        nbytes, code = describe(x)
        name = "ANY" if peer == ANY else peer
        group = 0 if self.size == len(self._nodes) else self.size
        text = call_text(call, name, tag, nbytes, TYPE_NAMES[code], group)
        if call.endswith("send"):
            return self._explain_call(text, peers)
        return self._explain_call(text, peers, *self._look_around(x, peer, tag))

    def _look_around(self, x: Array, source: int, tag: int) -> tuple[str, str]:
        """A note about a message nobody asked for, and the text of an error should the one that
        is waited for never come because its element type is another."""
        # One rank after the other: asked for any, MPI would name another one each time.
        sources = range(self.size) if source == ANY else (source,)
        found = [self._lying_here(x, each, tag) for each in sources]
        return next((texts for texts in found if texts[1]), max(found, key=any))

    def _lying_here(self, x: Array, source: int, tag: int) -> tuple[str, str]:
        nbytes, code = describe(x)
        status = self._status
        me, sender = self._members[self.rank], self._members[source]
        for other, name in enumerate(TYPE_NAMES):
            if other != code and self.mpi.Iprobe(
                source, self._wire_tag(tag, other, nbytes), status
            ):
                sent, wanted = (status.Get_count(MPI.BYTE), name), (nbytes, TYPE_NAMES[code])
                return "", mismatch_text(me, sender, tag, sent, wanted)
        if self.mpi.Iprobe(source, MPI.ANY_TAG, status):
            found = status.Get_tag()
            if found & 1 << CHANNEL_SHIFT == self._channel:
                if found & HIGHEST_TAG != tag:
                    return unasked_text(sender, found & HIGHEST_TAG), ""
                other = TYPE_NAMES[found >> TYPE_SHIFT & 31]
                sent, wanted = (status.Get_count(MPI.BYTE), other), (nbytes, TYPE_NAMES[code])
                return "", mismatch_text(me, sender, tag, sent, wanted)
        return "", ""

    def _misfit(
        self, error: MPI.Exception, x: Array, source: int, tag: int
    ) -> MessageMismatch | MPI.Exception:
        if error.Get_error_class() != MPI.ERR_TRUNCATE:
            return error
        nbytes, code = describe(x)
        name = TYPE_NAMES[code]
        source = self._status.Get_source() if source == ANY else source
        me, sender = self._members[self.rank], self._members[source]
        sent = (f"more than {nbytes}", name)
        return MessageMismatch(mismatch_text(me, sender, tag, sent, (nbytes, name)))


def _memory(x: Array, nbytes: int) -> Any:
    """The memory of `x`, as MPI takes it."""
    if nbytes > LARGEST_MESSAGE:
        raise ValueError(
            f"a message of {nbytes} bytes is more than MPI takes at once (2 GiB): send it in "
            "parts, for instance x[:half] and x[half:]"
        )
    if x.__class__ is np.ndarray:
        return x
    if x.__class__ is Phantom:
        return np.empty(nbytes, np.uint8)  # real ranks move real bytes
    return MPI.buffer.fromaddress(x.data_ptr(), nbytes)
