"""What a real rank tells of its waits: for which message, and what lies here instead."""

import sys
from typing import Any

from ddl_runtime.core.arrays import Array, describe
from ddl_runtime.core.checks import ANY, HIGHEST_TAG
from ddl_runtime.core.element_types import TYPE_NAMES
from ddl_runtime.diagnosis.deadlock import call_text
from ddl_runtime.diagnosis.frames import source_line
from ddl_runtime.diagnosis.waits import Mismatch, Unasked, Wait
from ddl_runtime.mpi.context import MPIContext
from ddl_runtime.mpi.wire import CHANNEL_SHIFT, MPI, PART, SHORT, SIZE_SHIFT, TYPE_SHIFT, wire_tag


class Diagnosis:
    """What one rank's waits on one communicator are told as."""

    def __init__(self, context: MPIContext) -> None:
        self.context = context

    def explain_call(self, call: str, peers: tuple[int, ...], *more: Any, **named: Any) -> Wait:
        """A wait in such a call for any of these ranks, and what else is known of it."""
        return Wait(self.context.me, call, peers, source_line(sys._getframe(1)), *more, **named)

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
        sender, wanted = context.members[source], (nbytes, TYPE_NAMES[code])

        def misfit(name: str) -> Mismatch:
            return Mismatch(context.me, sender, tag, (_bytes_sent(status), name), wanted)

        for other, name in enumerate(TYPE_NAMES):
            on_wire = wire_tag(tag, other, nbytes, context.channel)
            if other != code and context.mpi.Iprobe(source, on_wire, status):
                return None, misfit(name)
        if context.mpi.Iprobe(source, MPI.ANY_TAG, status):
            found = status.Get_tag()
            other = found >> TYPE_SHIFT & 31
            if found & 1 << CHANNEL_SHIFT == context.channel and other != PART:
                if found & HIGHEST_TAG != tag:
                    return Unasked(sender, found & HIGHEST_TAG), None
                return None, misfit(TYPE_NAMES[other])
        return None, None


def _bytes_sent(status: MPI.Status) -> int | str:
    """The size of a message that lies here; of one that comes in chunks only its head does."""
    count = status.Get_count(MPI.BYTE)
    return f"more than {SHORT}" if count <= SHORT and status.Get_tag() >> SIZE_SHIFT else count
