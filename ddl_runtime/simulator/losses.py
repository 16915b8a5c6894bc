"""Simulated ranks that die, and those that outlive them.

A death is noticed when no rank could go on otherwise. Then RankLost is raised in each rank that
waits for the dead, at the time when its connection would close. If there is none, it is raised in
each rank that waits on a revoked communicator. So all that can still be finished is finished.
Which ranks notice, and when, does not depend on the order of simulation.

A vote, to agree or to shrink, is over 2 ceil(log2 P) latencies after the last living rank came.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ddl_runtime.core.fault_tolerance import RankLost
from ddl_runtime.simulator.diagnosis import VOTES, waits_for
from ddl_runtime.simulator.fibers import Stopped
from ddl_runtime.simulator.rank_state import Strand

Told = list[tuple[Strand, BaseException]]  # strands, and what to raise in them


@dataclass
class Vote:
    """Ranks of one communicator that agree, or shrink it."""

    members: Sequence[int]
    dead: dict[int, float]
    said: dict[int, bool] = field(default_factory=dict)
    strands: list[Strand] = field(default_factory=list)

    def absent(self) -> list[int]:
        """The living members that have not voted."""
        excused = self.dead.keys() | self.said.keys()
        return [member for member in self.members if member not in excused]


class Losses:
    """The dead ranks, the revoked communicators, and the votes that have begun."""

    def __init__(self, network: Any) -> None:
        self._network = network
        self.dead: dict[int, float] = {}  # and when
        self.revoked: dict[int, float] = {}  # contexts, and when
        self.votes: dict[tuple[int, str, int], Vote] = {}  # by family, verb, how manieth

    def tell(self, live: dict[Strand, None], ready: deque[Strand]) -> bool:
        """No rank can run: report a loss, or end a vote; False if there is nothing to do."""
        notices = self._of_the_dead(live) or self._of_what_was_revoked(live)
        # All at once: no message is to go to one that waits no longer, or to wake it.
        for strand, _ in notices:
            for channel in strand.host.channels.values():
                channel.withdraw(strand)
            strand.blocked_on = None
        for strand, error in notices:
            strand.stack.throw(error)
        over = [] if notices else self._over()
        ready.extend(over)
        return bool(notices or over)

    def _of_the_dead(self, live: dict[Strand, None]) -> Told:
        notices: Told = []
        for strand in live if self.dead else ():
            me = strand.host.index
            lost = [member for member in waits_for(strand) if member in self.dead]
            if me in self.dead:
                notices.append((strand, Stopped()))  # what it still ran in the background
            elif lost:
                heard = min(self.dead[member] + self.latency(member, me) for member in lost)
                strand.clock = max(strand.clock, heard)
                numbers = strand.wait[0].members.index
                notices.append((strand, RankLost(me, tuple(sorted(map(numbers, lost))))))
        return notices

    def _of_what_was_revoked(self, live: dict[Strand, None]) -> Told:
        notices: Told = []
        for strand in live:
            context, verb = strand.wait[:2]
            if context.family in self.revoked and verb not in VOTES:
                news = self.latency(context.members[0], context.members[-1])
                strand.clock = max(strand.clock, self.revoked[context.family] + news)
                notices.append((strand, RankLost(strand.host.index, ())))
        return notices

    def _over(self) -> list[Strand]:
        key = next((key for key, vote in self.votes.items() if not vote.absent()), None)
        if key is None:
            return []
        vote = self.votes.pop(key)
        living = [member for member in vote.members if member not in self.dead]
        yes = len(living) == len(vote.members) and all(vote.said.values())
        rounds = 2 * (len(living) - 1).bit_length()
        end = max(strand.clock for strand in vote.strands)
        end += rounds * self.latency(living[0], living[-1])
        for strand in vote.strands:
            strand.clock, strand.message, strand.blocked_on = end, (yes, living), None
        return vote.strands

    def latency(self, rank: int, other: int) -> float:
        """Seconds that the news of one takes to another."""
        network = self._network
        return network.latency(rank, other) if network.shared else network.link(rank, other)[0]
