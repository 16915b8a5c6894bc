"""Simulated ranks that die, and those who outlive them.

A death is noticed when nobody could go on otherwise: then whoever waits for the dead is told, at
the time when a connection that closes would tell him; and if nobody does, whoever waits on a
communicator that was revoked. So what can still be finished is, in whatever order ranks happen to
be simulated, and who is told and when does not depend on it.

A vote, to agree or to shrink, is over 2 ceil(log2 P) latencies after the last who lives has come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from ddl_teach.comm.simulated_exchange import SimulatedExchange
from ddl_teach.comm.simulated_stacks import Stopped
from ddl_teach.comm.simulated_stories import VOTES, waits_for
from ddl_teach.comm.survivors import RankLost

if TYPE_CHECKING:
    from ddl_teach.comm.simulated_comm import SimulatedComm
    from ddl_teach.comm.simulated_rank import Strand

Told = list[tuple[Any, BaseException]]  # strands, and what to raise in them


@dataclass
class Vote:
    """Ranks of one communicator that agree, or shrink it."""

    members: Sequence[int]
    said: dict[int, bool] = field(default_factory=dict)
    strands: list[Strand] = field(default_factory=list)


class Losses:
    """Who has died, what was revoked, and what is being voted on."""

    def __init__(self, network: Any) -> None:
        self._network = network
        self.dead: dict[int, float] = {}  # and when
        self.revoked: dict[int, float] = {}  # contexts, and when
        self.votes: dict[tuple, Vote] = {}  # by context, verb and how manieth that is

    def tell(self, live: dict[Strand, None], ready: deque[Strand]) -> bool:
        """Nobody can run: tell who is to know, or end a vote; False if there is nothing to do."""
        told = self._of_the_dead(live) or self._of_what_was_revoked(live)
        for strand, _ in told:
            _withdraw(strand)  # all at once: what one does next must wake none of the others
        for strand, error in told:
            strand.stack.throw(error)
        over = [] if told else self._over()
        ready.extend(over)
        return bool(told or over)

    def absent(self, vote: tuple) -> list[int]:
        """Who lives and has not voted."""
        members, said = self.votes[vote].members, self.votes[vote].said
        return [one for one in members if one not in self.dead and one not in said]

    def _of_the_dead(self, live: dict[Strand, None]) -> Told:
        told: Told = []
        for strand in live if self.dead else ():
            me = strand.host.index
            lost = [one for one in waits_for(strand) if one in self.dead]
            if me in self.dead:
                told.append((strand, Stopped()))  # what it still ran in the background
            elif lost:
                heard = min(self.dead[one] + self._latency(one, me) for one in lost)
                strand.clock = max(strand.clock, heard)
                numbers = strand.wait[0]._members.index
                told.append((strand, RankLost(me, tuple(sorted(map(numbers, lost))))))
        return told

    def _of_what_was_revoked(self, live: dict[Strand, None]) -> Told:
        told: Told = []
        for strand in live:
            comm, verb = strand.wait[:2]
            if comm.family in self.revoked and verb not in VOTES:
                news = self._latency(comm._members[0], comm._members[-1])
                strand.clock = max(strand.clock, self.revoked[comm.family] + news)
                told.append((strand, RankLost(strand.host.index, ())))
        return told

    def _over(self) -> list[Strand]:
        """Those whose vote is."""
        for key in self.votes:
            if not self.absent(key):
                break
        else:
            return []
        vote = self.votes.pop(key)
        living = [one for one in vote.members if one not in self.dead]
        yes = len(living) == len(vote.members) and all(vote.said.values())
        rounds = 2 * (len(living) - 1).bit_length()
        end = max(strand.clock for strand in vote.strands)
        end += rounds * self._latency(living[0], living[-1])
        for strand in vote.strands:
            strand.clock, strand.message, strand.blocked_on = end, (yes, living), None
        return vote.strands

    def _latency(self, one: int, other: int) -> float:
        network = self._network
        return network.latency(one, other) if network.shared else network.link(one, other)[0]


def _withdraw(strand: Strand) -> None:
    """The strand waits no longer: no message is to go to it, or to wake it."""
    for channel in strand.host.channels.values():
        channel.withdraw(strand)
    strand.blocked_on = None


class SimulatedSurvivors(SimulatedExchange):
    """The part of a simulated communicator that dies, and outlives others."""

    _votes = 0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.family = self._context  # of a meeting: the context of the communicator that meets

    def die(self) -> NoReturn:
        self._simulation.losses.dead[self._host.index] = self._strand.clock
        raise Stopped

    def revoke(self) -> None:
        self._simulation.losses.revoked.setdefault(self.family, self._strand.clock)

    def agree(self, yes: bool = True) -> bool:
        return self._vote("agree", bool(yes))[0]

    def shrink(self) -> SimulatedComm:
        self.revoke()
        _, living = self._vote("shrink", False)
        context = self._simulation.groups.context((self.family, "shrink", self._votes))
        place = living.index(self._host.index)
        return type(self)(self._simulation, self._strand, living, place, context)

    def _vote(self, verb: str, yes: bool) -> tuple[bool, list[int]]:
        self._votes += 1
        key = self.family, verb, self._votes
        vote = self._simulation.losses.votes.setdefault(key, Vote(self._members))
        vote.said[self._host.index] = yes
        vote.strands.append(self._strand)
        with self.span(verb, kind="barrier"):
            wait = (self, verb, key, None)
            self._block(wait, wait)
        outcome, self._strand.message = self._strand.message, None
        return outcome
