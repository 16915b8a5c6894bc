"""Other communicators of simulated ranks: a group's number is part of what messages must match."""

from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from ddl_runtime.core.request import Request
from ddl_runtime.simulator.context import SimulatedContext
from ddl_runtime.simulator.point_to_point import PointToPoint
from ddl_runtime.simulator.rank_state import SimulatedRequest, Strand


class CommunicatorMember(Protocol):
    """What is known here of a communicator that is made."""

    context: SimulatedContext


class Groups:
    """Communicators that are made from one; `make` makes each of its context."""

    def __init__(
        self, context: SimulatedContext, point_to_point: PointToPoint,
        make: Callable[[SimulatedContext], Any],
    ) -> None:  # fmt: skip
        self._context = context
        self._point_to_point = point_to_point
        self._make = make
        self._splits = 0
        self._places = 0

    def meeting(self, label: str) -> PointToPoint:
        return PointToPoint(self._context.twin(self._context.strand, label, label))

    def aside(self, label: str) -> Any:
        return self._make(self._context.twin(self._context.strand, label, label))

    def duplicate(self) -> Any:
        strand = Strand(self._context.host, 0.0)
        twin = self._context.twin(strand, self._places)
        self._places += 1
        return self._make(twin)

    def split(self, colour: int | None, key: int, meet: Callable[[], None]) -> Any:
        self._splits += 1
        context, split = self._context, (self._context.number, self._splits)
        groups = context.simulation.groups
        groups.announce(split, context.rank, (colour, key))
        meet()
        if colour is None:
            return None
        group = groups.of_split(split)[colour]
        members = [context.members[rank] for _, rank in group]
        place = bisect_left(group, (key, context.rank))
        number = groups.context((*split, colour))
        return self._make(
            SimulatedContext(context.simulation, context.strand, members, place, number)
        )

    def start(
        self, place: CommunicatorMember, function: Callable[..., Any], args: tuple[Any, ...]
    ) -> Request:
        # One function after another runs on the strand of a place, so that its communicator and
        # all that was made from it stay of use.
        context, strand = self._context, place.context.strand
        strand.clock = context.strand.clock
        request = SimulatedRequest(self._point_to_point, "background")
        context.simulation.checks_who_waits = True
        context.host.strand_begins()
        context.simulation.spawn(strand, partial(function, place, *args), request)
        return request
