"""What simulated ranks tell when they cannot go on, or when something was left behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ddl_teach.comm import frames, story
from ddl_teach.comm.arrays import TYPE_NAMES, describe
from ddl_teach.comm.interface import ANY
from ddl_teach.comm.simulated_channels import NBYTES

if TYPE_CHECKING:
    from ddl_teach.comm.simulated_rank import Strand
    from ddl_teach.comm.simulator import Simulation


VOTES = ("agree", "shrink")


def find_misfit(strands: Iterable[Strand]) -> tuple[Strand, story.MessageMismatch] | None:
    """A strand beside whose wait lies a message of another element type."""
    for strand in strands:
        for comm, verb, source, tag, y in _wanted(strand):
            for sender, other_tag, code, nbytes in _lying_here(comm, source):
                if other_tag == tag and verb not in story.SENDS:
                    wanted, wanted_code = describe(y)
                    rank, sender = strand.host.index, comm._members[sender]
                    sent = nbytes, TYPE_NAMES[code]
                    text = story.mismatch_text(
                        rank, sender, tag, sent, (wanted, TYPE_NAMES[wanted_code])
                    )
                    return strand, story.MessageMismatch(text)
    return None


def tell_deadlock(simulation: Simulation) -> story.Deadlock:
    """Nobody can go on: who waits for whom."""
    by_rank: dict[int, list[story.Wait]] = {}
    for strand in simulation.live:
        by_rank.setdefault(strand.host.index, []).append(_explain(strand))
    waits = [story.together(waits) for _, waits in sorted(by_rank.items())]
    return story.tell_deadlock(waits, set(range(len(simulation.hosts))) - by_rank.keys())


def left_behind(simulation: Simulation) -> list[tuple[int, int, int, int]]:
    """Messages that nobody received, as `(source, dest, tag, nbytes)`."""
    left = []
    for host in simulation.hosts:
        for (source, tag, _, context), channel in host.channels.items():
            if channel.first is None:
                continue
            for message in channel.messages():
                sender = simulation.groups.members[context][source]
                left.append((sender, host.index, tag, message[NBYTES]))
        for request in host.open or ():
            if request.message is not None:
                source, tag = request.key[:2]
                sender = request.comm._members[source]
                left.append((sender, host.index, tag, request.message[NBYTES]))
    return sorted(left)


def _explain(strand: Strand) -> story.Wait:
    """The call a strand hangs in, in words, and the ranks (of the whole program) it waits for."""
    comm, verb, requests, _ = strand.wait
    wanted = list(_wanted(strand))
    note = ""
    for group, name, source, _, _ in wanted:
        if name in story.SENDS:
            continue
        for sender, tag, _, _ in _lying_here(group, source):
            note = story.unasked_text(group._members[sender], tag)
    if comm.label:
        call, note = f"{comm.label}()", ""
    elif verb == "wait_any" and len(requests) > 1:
        call = f"wait_any of {len(requests)} requests"
    elif not wanted:
        call = f"{verb}()"
    else:
        group, name, source, tag, y = wanted[0]
        nbytes, code = describe(y)
        peer = "ANY" if source == ANY else source
        whole = group.size == len(group._simulation.hosts)
        size = 0 if whole else group.size
        call = story.call_text(name, peer, tag, nbytes, TYPE_NAMES[code], size)
    where = frames.source_line(strand.stack.frame)
    peers = tuple(dict.fromkeys(waits_for(strand)))
    return story.Wait(strand.host.index, call, peers, where, note)


def waits_for(strand: Strand) -> list[int]:
    """The ranks (of the whole program) any of which could let it go on."""
    comm, verb, details, _ = strand.wait
    if verb in VOTES:
        return comm._simulation.losses.absent(details)
    return [one for group, _, source, _, _ in _wanted(strand) for one in _members(group, source)]


def _wanted(strand: Strand) -> Iterator[tuple[Any, str, int, int, Any]]:
    """What a waiting strand would receive or send: on which communicator, by which call, from or
    to whom, with which tag, and what."""
    comm, verb, key, y = strand.wait
    if verb != "wait_any":
        if y is not None:
            yield comm, verb, *key[:2], y
        return
    for request in key:
        matching = request.key or request.goal
        if matching is not None:
            yield request.comm, request.what, *matching[:2], request.y


def _members(comm: Any, source: int) -> Iterable[int]:
    if source != ANY:
        return (comm._members[source],)
    return (member for rank, member in enumerate(comm._members) if rank != comm.rank)


def _lying_here(comm: Any, source: int) -> Iterator[tuple[int, int, int, int]]:
    """Messages from `source`, or from anybody, that this rank has not asked for: sender, tag,
    element type, bytes."""
    if comm.label:
        return
    for (sender, tag, code, context), channel in comm._host.channels.items():
        if context == comm._context and source in (ANY, sender) and channel.first is not None:
            yield sender, tag, code, channel.first[NBYTES]
