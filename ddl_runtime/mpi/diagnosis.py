"""What a real rank tells of its waits: for which message, and what lies here instead."""

from __future__ import annotations

import sys

from ddl_runtime.core.arrays import Array, describe
from ddl_runtime.core.checks import ANY, HIGHEST_TAG
from ddl_runtime.core.element_types import TYPE_NAMES
from ddl_runtime.diagnosis.deadlock import MessageMismatch, call_text
from ddl_runtime.diagnosis.frames import source_line
from ddl_runtime.diagnosis.waits import Mismatch, Unasked, Wait
from ddl_runtime.mpi.context import MPIContext
from ddl_runtime.mpi.wire import CHANNEL_SHIFT, MPI, PART, SHORT, SIZE_SHIFT, TYPE_SHIFT, wire_tag


class Diagnosis:
    """What one rank's waits on one communicator are told as."""

    def __init__(self, context: MPIContext) -> None:
        self.context = context

    def explain_call(
        self,
        call: str,
        peers: tuple[int, ...],
        unasked: Unasked | None = None,
        misfit: Mismatch | None = None,
        anyone: bool = False,
        tag: int | None = None,
    ) -> Wait:
        where = source_line(sys._getframe(1))
        return Wait(self.context.me, call, peers, where, unasked, misfit, anyone, tag)

    def explain(self, call: str, x: Array, peer: int, tag: int) -> Wait:
        """What this rank waits for, and whether something lies here that almost fits."""
        context = self.context
        peers = context.others if peer == ANY else (context.members[peer],)
        if context.label:
            return self.explain_call(f"{context.label}()", peers)
        nbytes, code = describe(x)
        name = "ANY" if peer == ANY else peer
        group = 0 if context.size == len(context.nodes) else context.size
        text = call_text(call, name, tag, nbytes, TYPE_NAMES[code], group)
        if call.endswith("send"):
            return self.explain_call(text, peers, tag=tag)
        return self.explain_call(text, peers, *self._look_around(x, peer, tag), peer == ANY, tag)

    def _look_around(
        self, x: Array, source: int, tag: int
    ) -> tuple[Unasked | None, Mismatch | None]:
        """A message here that nobody asked for, and one that would be the right one if its
        element type were not another."""
        # One rank after the other: asked for any, MPI would name another one each time.
        sources = range(self.context.size) if source == ANY else (source,)
        found = [self._lying_here(x, each, tag) for each in sources]
        return next((pair for pair in found if pair[1]), max(found, key=any))

    def _lying_here(
        self, x: Array, source: int, tag: int
    ) -> tuple[Unasked | None, Mismatch | None]:
        nbytes, code = describe(x)
        context, status = self.context, self.context.status
        me, sender = context.me, context.members[source]
        for other, name in enumerate(TYPE_NAMES):
            if other != code and context.mpi.Iprobe(
                source, wire_tag(tag, other, nbytes, context.channel), status
            ):
                sent, wanted = (_bytes_sent(status), name), (nbytes, TYPE_NAMES[code])
                return None, Mismatch(me, sender, tag, sent, wanted)
        if context.mpi.Iprobe(source, MPI.ANY_TAG, status):
            found = status.Get_tag()
            other = found >> TYPE_SHIFT & 31
            if found & 1 << CHANNEL_SHIFT == context.channel and other != PART:
                if found & HIGHEST_TAG != tag:
                    return Unasked(sender, found & HIGHEST_TAG), None
                sent, wanted = (_bytes_sent(status), TYPE_NAMES[other]), (nbytes, TYPE_NAMES[code])
                return None, Mismatch(me, sender, tag, sent, wanted)
        return None, None

    def misfit(
        self, error: MPI.Exception, x: Array, source: int, tag: int
    ) -> MessageMismatch | MPI.Exception:
        if error.Get_error_class() != MPI.ERR_TRUNCATE:
            return error
        nbytes, code = describe(x)
        name = TYPE_NAMES[code]
        context = self.context
        source = context.status.Get_source() if source == ANY else source
        sent = (f"more than {nbytes}", name)
        sender = context.members[source]
        return MessageMismatch(Mismatch(context.me, sender, tag, sent, (nbytes, name)))


def _bytes_sent(status: MPI.Status) -> int | str:
    """The size of a message that lies here; of one that comes in chunks only its head does."""
    count = status.Get_count(MPI.BYTE)
    return f"more than {SHORT}" if count <= SHORT and status.Get_tag() >> SIZE_SHIFT else count
