"""What a real rank tells of its waits: for which message, and what lies here instead."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ddl_teach.comm.arrays import TYPE_NAMES, Array, describe
from ddl_teach.comm.frames import source_line
from ddl_teach.comm.interface import ANY, HIGHEST_TAG, Comm
from ddl_teach.comm.mpi import CHANNEL_SHIFT, MPI, PART, SHORT, SIZE_SHIFT, TYPE_SHIFT, wire_tag
from ddl_teach.comm.story import MessageMismatch, Wait, call_text, mismatch_text, unasked_text


class MPIStories(Comm):
    """The part of a communicator of MPI processes that explains."""

    label: str
    mpi: MPI.Intracomm
    _members: Sequence[int]
    _nodes: Sequence[int]
    _channel: int
    _status: MPI.Status

    @property
    def _others(self) -> tuple[int, ...]:
        """All members but this rank."""
        return tuple(m for i, m in enumerate(self._members) if i != self.rank)

    def _explain_call(
        self, call: str, peers: tuple[int, ...], note: str = "", misfit: str = ""
    ) -> Wait:
        where = source_line(sys._getframe(1))
        return Wait(self._members[self.rank], call, peers, where, note, misfit)

    def _explain(self, call: str, x: Array, peer: int, tag: int) -> Wait:
        """What this rank waits for, and whether something lies here that almost fits."""
        peers = self._others if peer == ANY else (self._members[peer],)
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
                source, wire_tag(tag, other, nbytes, self._channel), status
            ):
                sent, wanted = (_bytes_sent(status), name), (nbytes, TYPE_NAMES[code])
                return "", mismatch_text(me, sender, tag, sent, wanted)
        if self.mpi.Iprobe(source, MPI.ANY_TAG, status):
            found = status.Get_tag()
            other = found >> TYPE_SHIFT & 31
            if found & 1 << CHANNEL_SHIFT == self._channel and other != PART:
                if found & HIGHEST_TAG != tag:
                    return unasked_text(sender, found & HIGHEST_TAG), ""
                sent, wanted = (_bytes_sent(status), TYPE_NAMES[other]), (nbytes, TYPE_NAMES[code])
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


def _bytes_sent(status: MPI.Status) -> int | str:
    """The size of a message that lies here; of one that comes in chunks only its head does."""
    count = status.Get_count(MPI.BYTE)
    return f"more than {SHORT}" if count <= SHORT and status.Get_tag() >> SIZE_SHIFT else count
