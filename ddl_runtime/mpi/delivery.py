"""Single messages through MPI: they are begun, compared with what was wanted, and recorded.

A message is on record in the ledger when MPI knows of it, and on the timeline when it has ended.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ddl_runtime.core import arrays
from ddl_runtime.core.arrays import Array, as_bytes, describe, type_name
from ddl_runtime.core.checks import ANY
from ddl_runtime.devices.staging import Landing
from ddl_runtime.diagnosis.deadlock import MessageMismatch
from ddl_runtime.diagnosis.waits import Mismatch
from ddl_runtime.mpi.chunked import HEAD_BYTES, Chunks, InHostMemory
from ddl_runtime.mpi.context import MPIContext
from ddl_runtime.mpi.diagnosis import explain_call
from ddl_runtime.mpi.wire import MPI, MPI_SOURCE, SHORT, SIZE_HINTS, memory, wire_tag


class Delivery:
    """Sends and receives single messages for one rank on one communicator."""

    def __init__(self, context: MPIContext) -> None:
        self.context = context

    @cached_property
    def for_transfers(self) -> Delivery:
        """The delivery of messages in chunks, which any strand of this rank may continue."""
        return Delivery(self.context.for_transfers)

    def begin_send(self, x: Array, to: int, tag: int) -> MPI.Request:
        """Give a message in host memory to MPI."""
        context = self.context
        nbytes, code = describe(x)
        wire, on_wire = memory(x, nbytes), wire_tag(tag, code, nbytes, context.channel)
        count = self.room(nbytes, on_wire) if to == context.rank else nbytes
        begin = context.mpi.Isend if context.watch is None else context.mpi.Issend
        handle = begin([wire, count, MPI.BYTE], to, on_wire)
        context.records.ledger.append((context.members[to], tag, nbytes, context.kind))
        return handle

    def room(self, nbytes: int, on_wire: int) -> int:
        """How many bytes of a message to itself this rank's waiting receive has room for. Open MPI
        would write all of them, beyond the end of a receive that was begun before."""
        # A copy: functions in the background open and close requests of their own meanwhile.
        for request in list(self.context.records.open):
            if request.takes(self.context, on_wire):
                return request.offer(nbytes)
        return nbytes

    def begin_receive(self, x: Array, source: int, tag: int) -> MPI.Request:
        context = self.context
        nbytes, code = describe(x)
        arrays.check_writable(x)
        wire = memory(x, nbytes)
        place = MPI_SOURCE.get(source, source), wire_tag(tag, code, nbytes, context.channel)
        if source in (ANY, context.rank) and (
            context.mpi.Iprobe(context.rank, place[1], context.status)
            and context.status.Get_count(MPI.BYTE) > nbytes
        ):
            # Of a message of one's own Open MPI would write all, over the end of the array.
            message = context.mpi.Improbe(*place, context.status)
            room = max(nbytes, context.status.Get_count(MPI.BYTE))
            wire = wire if room == nbytes else np.empty(room, np.uint8)
            return message.Irecv([wire, MPI.BYTE])
        return context.mpi.Irecv([wire, MPI.BYTE], *place)

    def finish_call(
        self, request: MPI.Request, call: str, peers: tuple[int, ...], *known: Any
    ) -> None:
        """Wait for what is no message. MPI goes on with it, whatever ends the wait, so what it
        knows of is kept then."""
        try:
            self.context.polling.wait(request.Test, explain_call, self.context, call, peers)
        except BaseException:
            self.context.records.given_up.append((request, known))
            raise

    def test(self, handle: MPI.Request, x: Array, source: int, tag: int) -> bool:
        """Whether a receive is done."""
        try:
            return handle.Test(self.context.status)
        except MPI.Exception as error:
            raise self.misfit(error, x, source, tag) from None

    def received(
        self, begun: float, x: Array, source: int, tag: int, too_long: int = 0
    ) -> int | None:
        """Check and record the message of `status`; returns its source. None if this message is
        only the head of one that comes in chunks."""
        context, status = self.context, self.context.status
        nbytes = x.nbytes
        came = too_long or status.Get_count(MPI.BYTE)
        source = status.Get_source()
        if came != nbytes:
            if not too_long and self.is_head(nbytes):
                return None
            raise self._mismatch(x, source, tag, came)
        world = context.members[source]
        context.records.received.append((world, tag, nbytes, context.kind))
        if context.spans is not None:
            context.note("recv", "recv", begun, world, tag, nbytes)
        return source

    def is_head(self, nbytes: int) -> bool:
        """Whether `status` is of a head of chunks, where `nbytes` bytes were expected: no message
        that is so short has a tag with a hint at a size."""
        # Nor has a receive that ended because its sender died, which has no bytes.
        came = self.context.status.Get_count(MPI.BYTE)
        return nbytes > SHORT and came == HEAD_BYTES and SIZE_HINTS > 1

    def _mismatch(self, x: Array, source: int, tag: int, came: int | str) -> MessageMismatch:
        name, sender = type_name(x), self.context.members[source]
        sent, wanted = (came, name), (x.nbytes, name)
        return MessageMismatch(Mismatch(self.context.me, sender, tag, sent, wanted))

    def misfit(
        self, error: MPI.Exception, x: Array, source: int, tag: int
    ) -> MessageMismatch | MPI.Exception:
        """What to raise for an error of MPI's: itself, unless it means a message too long."""
        if error.Get_error_class() != MPI.ERR_TRUNCATE:
            return error
        source = self.context.status.Get_source() if source == ANY else source
        return self._mismatch(x, source, tag, f"more than {x.nbytes}")

    def chunks_into(self, x: Array, tag: int) -> Chunks:
        """The request for the rest of a message in chunks; its head has been received into `x`."""
        source = self.context.status.Get_source()
        if isinstance(x, Landing):
            chunks = Chunks(self.context, x.head(HEAD_BYTES), source, x.place())
        else:
            chunks = Chunks(self.context, as_bytes(x)[:HEAD_BYTES].copy(), source, InHostMemory(x))
        if chunks.nbytes != x.nbytes:
            raise self._mismatch(x, source, tag, chunks.nbytes)
        return chunks

    def sent(self, begun: float, x: Array, to: int, tag: int) -> None:
        """Put a message that has left on the timeline."""
        context = self.context
        if context.spans is not None:
            context.note("send", "send", begun, context.members[to], tag, x.nbytes)

    def copied(self, way: str, begun: float, nbytes: int) -> None:
        """Put a copy between host and device on the timeline."""
        self.context.note(way, way, begun, nbytes=nbytes)
