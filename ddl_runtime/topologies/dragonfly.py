"""Dragonfly: groups of routers that act as one huge switch each, every two groups joined.

Short cables inside a group join all its routers; the long ones between groups are few. There are g
groups of a routers with p hosts each, and one cable for every two groups. So h = (g-1)/a of a
router's links are global; balanced is a = 2p = 2h:

    hosts = g * a * p          longest route = local, global, local
    bisection bandwidth = (g/2)^2 * bandwidth     (where g is even)

When all hosts of one group send to one other group, one cable carries all messages: a shift by a *
p takes a * p times as long as on a star. Valiant's way out (1982): by way of a third group drawn
at random. That doubles the load on average, but no pattern is as bad any more.
Kim, Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly topology", 2008.
"""

import random
from dataclasses import dataclass
from functools import cached_property

from ddl_runtime.core.checks import whole_number
from ddl_runtime.topologies.shared_links import Topology


@dataclass(frozen=True)
class Dragonfly(Topology):
    """`groups` of `routers` with `hosts_per_router` each; the shortest way, or `valiant`. The
    third group of a pair of hosts is drawn once, from the `seed`, and is the same both ways."""

    groups: int
    routers: int
    hosts_per_router: int
    valiant: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("groups", "routers", "hosts_per_router"):
            whole_number(getattr(self, name), name, 1)
        if self.valiant and self.groups < 3:
            raise ValueError(f"valiant needs 3 groups or more, not groups={self.groups}")

    @cached_property
    def hosts(self) -> int:
        return self.groups * self.routers * self.hosts_per_router

    @cached_property
    def global_links(self) -> int:
        """The most global links that a router has."""
        return max(1, -(-(self.groups - 1) // self.routers))

    @cached_property
    def local_links(self) -> int:
        """How many links run inside all the groups; the global ones are numbered after them."""
        return self.groups * self.routers * (self.routers - 1)

    @property
    def switch_links(self) -> int:
        return self.local_links + self.groups * (self.groups - 1)

    def route(self, source: int, dest: int) -> tuple[int, ...]:
        start, end = source // self.hosts_per_router, dest // self.hosts_per_router
        group, last = start // self.routers, end // self.routers
        if not self.valiant or group == last:
            return self._shortest(start, end)
        # By any group but these two, and by the same one on the way back.
        low, high = sorted((source, dest))
        by = random.Random(f"{self.seed} {low} {high}").randrange(self.groups - 2)
        for taken in sorted((group, last)):
            by += by >= taken
        entry = by * self.routers + self._gateway(by, group)
        return self._shortest(start, entry) + self._shortest(entry, end)

    def _shortest(self, start: int, end: int) -> tuple[int, ...]:
        """The links from router to router: at most a local, a global and a local one."""
        group, last = start // self.routers, end // self.routers
        if group == last:
            return self._local(group, start % self.routers, end % self.routers)
        over = self.local_links + group * (self.groups - 1) + (last - group - 1) % self.groups
        return (
            *self._local(group, start % self.routers, self._gateway(group, last)),
            over,
            *self._local(last, self._gateway(last, group), end % self.routers),
        )

    def _gateway(self, group: int, other: int) -> int:
        """The router of `group` that has the cable to `other`."""
        return (other - group - 1) % self.groups // self.global_links

    def _local(self, group: int, start: int, end: int) -> tuple[int, ...]:
        """The link between two routers of a group, as a path; empty from a router to itself."""
        if start == end:
            return ()
        return ((group * self.routers + start) * (self.routers - 1) + end - (end > start),)
