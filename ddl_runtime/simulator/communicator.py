"""The communicator of a simulated rank: its parts, and the communicators that are made from it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NoReturn

from ddl_runtime.core.arrays import Array, Operation, Phantom
from ddl_runtime.core.communicator import Comm
from ddl_runtime.core.parts import Request
from ddl_runtime.simulator.context import Clock, SimulatedContext
from ddl_runtime.simulator.fibers import Stopped
from ddl_runtime.simulator.losses import Vote
from ddl_runtime.simulator.point_to_point import PointToPoint
from ddl_runtime.simulator.rank_state import ASKED, SimulatedRequest, Strand
from ddl_runtime.simulator.window import Windows


class SimulatedComm(Comm):
    """A communicator in virtual time."""

    context: SimulatedContext
    virtual_time = True
    _token = Phantom(0)

    def __init__(self, context: SimulatedContext) -> None:
        self._messages = PointToPoint(context)
        super().__init__(context, self._messages)
        self.host_link = context.simulation.host_link
        self.own_thread = context.simulation.threads
        self._arithmetic_is_free = not context.simulation.reduce_per_byte

    def sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int:
        # The path of a million messages: phantoms between two neighbours, written out flat, for
        # one call more would be a tenth of its time. All else takes the usual way.
        messages = self._messages
        host = messages.host
        if to is messages.to and source is messages.source and tag is messages.tag:
            lane = messages.latest
        else:
            lane = messages.known.get((to, source, tag)) or messages.lane(to, source, tag)
            messages.to, messages.source, messages.tag, messages.latest = to, source, tag, lane
        if lane is None or not x.__class__ is y.__class__ is Phantom or host.crowded:
            return super().sendrecv(x, to, y, source, tag)
        outgoing, incoming, dest, strand, latency, per_byte, lasts, world = lane
        if lasts is None:
            return messages.exchange(lane, x, to, y, source, tag)
        begun = strand.clock
        start = host.out_free
        if start < begun:
            start = begun
        nbytes = x.nbytes
        cost = nbytes * per_byte
        host.out_free = left = start + cost
        entry = outgoing.entry
        if entry[2] != nbytes:
            outgoing.entry = entry = (dest.index, tag, nbytes, messages.context.kind)
        host.ledger.append(entry)
        sent: Any = (start + latency, cost, nbytes, None)
        if lasts:  # until a strict rank has asked for it
            sent = [start + latency, cost, nbytes, None, None, strand]
        if outgoing.asked is not None:
            receiver = outgoing.next_asked()
            if lasts:
                sent[ASKED] = receiver.begun
            messages.context.simulation.hand_over(sent, receiver)
        elif outgoing.first is None:
            outgoing.first = sent
        elif outgoing.others:
            outgoing.others.append(sent)
        else:
            outgoing.put(sent)
        if dest.attentive:
            key = messages.context.rank, tag, 0, messages.context.number
            messages.context.simulation.offer(dest, outgoing, key)

        spans: Any = messages.spans
        message = incoming.first
        if spans is not None and (message is None or message[2] != y.nbytes):
            spans.append(("send", "send", start, left, *entry[:3]))
            entry = None  # else it is noted with what is received, as one
        if message is None:
            message = messages.ask(incoming, "sendrecv", (source, tag), y)
        else:
            incoming.first = incoming.others.popleft() if incoming.others else None
            if lasts:
                messages.context.simulation.asked_for(message, begun)
        head, cost, size, _ = message if not lasts else message[:4]
        if size != y.nbytes:
            return messages.complete(message, y, (source, tag), begun)
        in_free = host.in_free
        if head > in_free:
            host.gaps.append(in_free)
            host.gaps.append(head)
            host.in_free = clock = head + cost
        else:
            clock = host.drain(head, cost)
        if clock < left and not lasts:
            clock = left
        if clock > begun:
            strand.clock = clock
        if spans is not None:
            spans.append((begun, strand.clock, start, left, entry, world, tag, size))
        if lasts:
            if sent[ASKED] is None:
                messages.context.block(sent, (messages.context, "send", (to, tag), x))
            strand.clock = max(strand.clock, left, sent[ASKED])
        return source

    def combine(self, a: Array, b: Array, out: Array, op: Operation = "sum") -> None:
        if out.__class__ is not Phantom or not self._arithmetic_is_free:
            self.clock.combine(a, b, out, op)

    @cached_property
    def clock(self) -> Clock:
        return Clock(self.context)

    @cached_property
    def groups(self) -> Groups:
        return Groups(self._messages)

    @cached_property
    def windows(self) -> Windows:
        return Windows(self._messages, self._meet)


class Groups:
    """Communicators that are made from one: of all ranks, of some, or of those that outlive
    others. A group's number is part of what messages must match. How ranks die, `losses` says."""

    def __init__(self, point_to_point: PointToPoint) -> None:
        self._context = context = point_to_point.context
        self._point_to_point = point_to_point
        self._losses = context.simulation.losses
        self._splits = self._places = self._votes = 0
        self._subgroups: Counter[tuple[int, ...]] = Counter()

    def meeting(self, label: str) -> Any:
        return SimulatedComm(self._context.twin(self._context.strand, label, label))

    aside = meeting

    def duplicate(self) -> Any:
        strand = Strand(self._context.host, 0.0)
        twin = self._context.twin(strand, self._places)
        self._places += 1
        return SimulatedComm(twin)

    def split(self, colour: int | None, key: int, meet: Callable[[], None]) -> Any:
        self._splits += 1
        context, split = self._context, (self._context.number, self._splits)
        groups = context.simulation.groups
        groups.wishes.setdefault(split, {})[context.rank] = colour, key
        meet()
        if colour is None:
            return None
        group = groups.of_split(split)[colour]
        members = [context.members[rank] for _, rank in group]
        place = bisect_left(group, (key, context.rank))
        number = groups.context((*split, colour))
        return self._of(members, place, number)

    def subgroup(self, members: Sequence[int], meet: Callable[[], None]) -> Any:
        context, made = self._context, (*members,)
        self._subgroups[made] += 1
        meet()
        key = context.number, "subgroup", made, self._subgroups[made]
        number = context.simulation.groups.context(key)
        world = [context.members[rank] for rank in made]
        return self._of(world, made.index(context.rank), number)

    def on_this_strand(self, place: Any) -> Any:
        return self._of(self._context.members, self._context.rank, place.context.number)

    def _of(self, members: Sequence[int], rank: int, number: int) -> SimulatedComm:
        """The communicator of this strand among these ranks of the world, under a number."""
        context = self._context
        return SimulatedComm(
            SimulatedContext(context.simulation, context.strand, members, rank, number)
        )

    def start(
        self, place: Any, function: Callable[..., Any], args: tuple[Any, ...],
        after: Any = None, light: bool = False,
    ) -> Request:  # fmt: skip
        # One function after another runs on the strand of a place, so that its communicator and
        # all that was made from it stay of use.
        context, strand = self._context, place.context.strand
        begun = context.strand.clock
        request = SimulatedRequest(self._point_to_point, "background")
        context.simulation.checks_who_waits = True

        def begin(free_at: float) -> None:
            strand.clock = max(begun, free_at)
            context.host.count_strands(1)
            call = partial(function, place, *args)
            context.simulation.spawn(strand, call, request, light=light)

        if after is None or after.done_at is not None:
            begin(0.0 if after is None else after.done_at)
        else:
            after.then = begin
        return request

    def die(self) -> NoReturn:
        self._losses.dead[self._context.host.index] = self._context.strand.clock
        raise Stopped

    def revoke(self) -> None:
        self._losses.revoked.setdefault(self._context.family, self._context.strand.clock)

    def agree(self, yes: bool) -> bool:
        return self._vote("agree", bool(yes))[0]

    def shrink(self) -> Any:
        self.revoke()
        _, living = self._vote("shrink", False)
        context = self._context
        number = context.simulation.groups.context((context.family, "shrink", self._votes))
        return self._of(living, living.index(context.host.index), number)

    def _vote(self, verb: str, yes: bool) -> tuple[bool, list[int]]:
        self._votes += 1
        context, strand = self._context, self._context.strand
        key = context.family, verb, self._votes
        vote = self._losses.votes.setdefault(key, Vote(context.members, self._losses.dead))
        vote.said[context.host.index] = yes
        vote.strands.append(strand)
        with Clock(context).span(verb, kind="barrier"):
            wait = (context, verb, vote, None)
            context.block(wait, wait)
        outcome: tuple[bool, list[int]] = strand.message
        strand.message = None
        return outcome
