"""The part of a simulated communicator that dies, and outlives others; `losses` says how."""

from collections.abc import Callable
from typing import Any, NoReturn

from ddl_runtime.simulator.clock import Clock
from ddl_runtime.simulator.context import SimulatedContext
from ddl_runtime.simulator.fibers import Stopped
from ddl_runtime.simulator.losses import Vote


class Failures:
    """Deaths, revocations and votes of one communicator."""

    def __init__(
        self, context: SimulatedContext, clock: Clock, make: Callable[[SimulatedContext], Any]
    ) -> None:
        self._context = context
        self._clock = clock
        self._make = make
        self._losses = context.simulation.losses
        self._votes = 0

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
        place = living.index(context.host.index)
        return self._make(
            SimulatedContext(context.simulation, context.strand, living, place, number)
        )

    def _vote(self, verb: str, yes: bool) -> tuple[bool, list[int]]:
        self._votes += 1
        context, strand = self._context, self._context.strand
        key = context.family, verb, self._votes
        vote = self._losses.votes.setdefault(key, Vote(context.members, self._losses.dead))
        vote.said[context.host.index] = yes
        vote.strands.append(strand)
        with self._clock.span(verb, kind="barrier"):
            wait = (context, verb, vote, None)
            context.block(wait, wait)
        outcome: tuple[bool, list[int]] = strand.message
        strand.message = None
        return outcome
