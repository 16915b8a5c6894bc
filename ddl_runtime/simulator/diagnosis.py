"""The diagnosis when simulated ranks cannot go on, or when messages were not received."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

from ddl_runtime.core.arrays import type_name
from ddl_runtime.core.checks import ANY
from ddl_runtime.core.element_types import TYPE_NAMES
from ddl_runtime.diagnosis import deadlock, frames
from ddl_runtime.diagnosis.waits import SENDS, Lost, Mismatch, Unasked, Wait
from ddl_runtime.simulator.rank_state import NBYTES, Host, Membership, SimulatedRequest, Strand

VOTES = ("agree", "shrink")


def find_misfit(strands: Iterable[Strand]) -> tuple[Strand, deadlock.MessageMismatch] | None:
    """A strand that waits for a message although one of another size or element type has arrived,
    and the error that says so; None if there is no such strand."""
    for strand in strands:
        for place, verb, source, tag, y, _ in _wanted(strand):
            for sender, other_tag, code, nbytes in _lying_here(place, source):
                if other_tag == tag and verb not in SENDS:
                    sent, wanted = (nbytes, TYPE_NAMES[code]), (y.nbytes, type_name(y))
                    ends = strand.host.index, place.members[sender]
                    mismatch = Mismatch(*ends, tag, sent, wanted)
                    return strand, deadlock.MessageMismatch(mismatch)
    return None


def tell_deadlock(live: Iterable[Strand], ranks: int) -> deadlock.Deadlock:
    """The error for a state in which no rank can go on: which rank waits for which."""
    by_rank: dict[int, list[Wait]] = {}
    for strand in live:
        by_rank.setdefault(strand.host.index, []).append(_explain(strand))
    waits = [deadlock.together(waits) for _, waits in sorted(by_rank.items())]
    return deadlock.tell_deadlock(waits, set(range(ranks)) - by_rank.keys())


def tell_late(seconds: float, live: Iterable[Strand], ranks: int, rank: int, where: str) -> Any:
    """The error for a simulation whose time is up, in the middle of a line of `rank`."""
    strands = {strand.host.index: strand for strand in live if strand is strand.host.main}

    def position(rank: int) -> str:
        strand = strands.get(rank)
        if strand is None:
            return "had returned"
        if strand.blocked_on is None:
            return "had something to do"
        wait = _explain(strand)
        return f"waiting in {wait.call}\n       | {wait.purpose or f'at {wait.where}'}"

    # Of many ranks only the first are shown.
    positions = {r: position(r) if r < deadlock.SHOWN else "" for r in range(ranks)}
    strands.pop(rank, None)
    positions[rank] = f"at {where}"
    head = f"The time was up: {seconds:g} s, and {len(strands) + 1:,} of {ranks:,} ranks had not "
    head += "returned. " + (f"Rank {rank} was at {where}. " if rank >= deadlock.SHOWN else "")
    head += "Where the ranks were:"
    text = deadlock.tell_positions(head, positions)
    advice = "find the loop that does not end, or give it more time: simulate(..., timeout=...)."
    return deadlock.TimedOut(f"{text}\n\nWhat to try: {advice}")


def left_behind(hosts: Iterable[Host], members: Mapping[int, Sequence[int]]) -> list[Lost]:
    """The messages that were not received. `members` are the ranks of each communicator, by its
    number."""
    left = []
    for host in hosts:
        for (source, tag, _, number), channel in host.channels.items():
            for message in channel.messages() if channel.first else ():
                left.append(Lost(members[number][source], host.index, tag, message[NBYTES]))
        for request in host.open or ():
            if request.message is not None:
                source, tag = request.key[:2]
                sender = request.place.members[source]
                left.append(Lost(sender, host.index, tag, request.message[NBYTES]))
    return sorted(left, key=astuple)


def _explain(strand: Strand) -> Wait:
    """The call in which a strand waits, as text, and the ranks of the whole program that it waits
    for."""
    place, verb = strand.wait[:2]
    where = frames.source_line(strand.stack.gr_frame)
    waits = [_wait(strand.host.index, where, *wanted) for wanted in _wanted(strand)]
    if place.label or not waits:
        peers = tuple(dict.fromkeys(waits_for(strand)))
        return Wait(strand.host.index, f"{place.label or verb}()", peers, where)
    return deadlock.any_of(waits)


def _wait(
    rank: int, where: str, place: Membership, verb: str, source: int, tag: int, y: Any,
    purpose: str,
) -> Wait:  # fmt: skip
    """The wait for one message."""
    lying = () if verb in SENDS else _lying_here(place, source)
    unasked = next((Unasked(place.members[sender], other) for sender, other, *_ in lying), None)
    peer, group = "ANY" if source == ANY else source, 0 if place.whole else place.size
    call = deadlock.call_text(verb, peer, tag, y.nbytes, type_name(y), group)
    peers = tuple(_members(place, source))
    anyone = source == ANY
    return Wait(rank, call, peers, where, unasked, anyone=anyone, tag=tag, purpose=purpose)


def waits_for(strand: Strand) -> list[int]:
    """The ranks (of the whole program) any of which could let it go on."""
    _, verb, details, _ = strand.wait
    if verb in VOTES:
        absent: list[int] = details.absent()
        return absent
    return [
        member for group, _, source, *_ in _wanted(strand) for member in _members(group, source)
    ]


def _wanted(strand: Strand) -> Iterator[tuple[Membership, str, int, int, Any, str]]:
    """The messages that a waiting strand would receive or send, each as its communicator, call,
    peer, tag, array and purpose."""
    place, verb, key, y = strand.wait
    if verb != "wait_any":
        if y is not None:
            awaited = strand.blocked_on
            purpose = awaited.purpose if isinstance(awaited, SimulatedRequest) else ""
            yield place, verb, *key[:2], y, purpose
        return
    for request in key:
        matching = request.key or request.goal
        if matching is not None:
            yield request.place, request.what, *matching[:2], request.y, request.purpose


def _members(place: Membership, source: int) -> Iterable[int]:
    if source != ANY:
        return (place.members[source],)
    return (member for rank, member in enumerate(place.members) if rank != place.rank)


def _lying_here(place: Membership, source: int) -> Iterator[tuple[int, int, int, int]]:
    """Messages from `source`, or from any rank, that have arrived and that this rank has not asked
    for: sender, tag, element type, bytes."""
    if place.label:
        return
    for (sender, tag, code, number), channel in place.host.channels.items():
        if number == place.number and source in (ANY, sender) and channel.first is not None:
            yield sender, tag, code, channel.first[NBYTES]
