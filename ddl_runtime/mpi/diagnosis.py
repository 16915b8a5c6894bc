"""What a real rank reports of its waits: for which message, and what has arrived instead."""

import inspect
from typing import Any

from ddl_runtime.core.arrays import Array, describe
from ddl_runtime.core.checks import ANY, HIGHEST_TAG
from ddl_runtime.core.element_types import TYPE_NAMES
from ddl_runtime.diagnosis.deadlock import call_text
from ddl_runtime.diagnosis.frames import source_line
from ddl_runtime.diagnosis.waits import Mismatch, Unasked, Wait
from ddl_runtime.mpi.context import MPIContext
from ddl_runtime.mpi.wire import CHANNEL_SHIFT, MPI, PART, SHORT, SIZE_SHIFT, TYPE_SHIFT, wire_tag


def explain_call(
    context: MPIContext, call: str, peers: tuple[int, ...], *more: Any, **named: Any
) -> Wait:
    """A wait in such a call for any of these ranks, and what else is known of it."""
    return Wait(context.me, call, peers, source_line(inspect.currentframe()), *more, **named)


def explain(context: MPIContext, call: str, x: Array, peer: int, tag: int) -> Wait:
    """What this rank waits for, and whether something lies here that almost fits."""
    peers = context.others if peer == ANY else (context.members[peer],)
    if context.label:
        return explain_call(context, f"{context.label}()", peers)
    nbytes, code = describe(x)
    name = "ANY" if peer == ANY else peer
    group = 0 if context.size == len(context.nodes) else context.size
    text = call_text(call, name, tag, nbytes, TYPE_NAMES[code], group)
    almost: tuple[Unasked | None, Mismatch | None] = (None, None)
    if not call.endswith("send"):
        # One rank after the other: asked for any, MPI would name another one each time.
        sources = range(context.size) if peer == ANY else (peer,)
        lying = [_lying_here(context, x, each, tag) for each in sources]
        almost = next((pair for pair in lying if pair[1]), max(lying, key=any))
    return explain_call(context, text, peers, *almost, anyone=peer == ANY, tag=tag)


def _lying_here(
    context: MPIContext, x: Array, source: int, tag: int
) -> tuple[Unasked | None, Mismatch | None]:
    """A message here that no receive asked for, and one that would be the right one if its
    element type were not another."""
    nbytes, code = describe(x)
    status = context.status
    sender, wanted = context.members[source], (nbytes, TYPE_NAMES[code])

    def misfit(name: str) -> Mismatch:
        sent: int | str = status.Get_count(MPI.BYTE)
        # Of a message that comes in chunks only the head lies here.
        if status.Get_tag() >> SIZE_SHIFT and status.Get_count(MPI.BYTE) <= SHORT:
            sent = f"more than {SHORT}"
        return Mismatch(context.me, sender, tag, (sent, name), wanted)

    for other, name in enumerate(TYPE_NAMES):
        on_wire = wire_tag(tag, other, nbytes, context.channel)
        if other != code and context.mpi.Iprobe(source, on_wire, status):
            return None, misfit(name)
    if context.mpi.Iprobe(source, MPI.ANY_TAG, status):
        other_tag = status.Get_tag()
        other = other_tag >> TYPE_SHIFT & 31
        if other_tag & 1 << CHANNEL_SHIFT == context.channel and other != PART:
            if other_tag & HIGHEST_TAG != tag:
                return Unasked(sender, other_tag & HIGHEST_TAG), None
            return None, misfit(TYPE_NAMES[other])
    return None, None
