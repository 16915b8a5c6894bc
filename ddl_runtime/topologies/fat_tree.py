"""Fat tree: a tree of equal switches that gets no thinner towards its root.

A switch of k ports has as many links up as down, so all levels together carry what the hosts
send. Oversubscription s saves switches: a leaf has s times as many links down to hosts as up,
u = k / (s+1) up and d = s * u down. Two levels are k leaves under u spines; three are k pods of
k/2 leaves and u middle switches, under u * k/2 cores. Then

    hosts = k * d   or   k * k/2 * d            (k^2/2 or k^3/4 where s = 1)
    bisection bandwidth = hosts/2 * bandwidth / s

All routes up are open to a message; which one it takes depends on its destination alone (d-mod-k).
With s = 1 every shift, rank r to r + c for all r, then runs at full bandwidth if the ranks fill
whole pods (with two levels, whole leaves). With s, a shift by d or more takes s times as long.
What to look at: other permutations collide although the bisection would carry them.
Leiserson (1985); Al-Fares, Loukissas and Vahdat (2008); d-mod-k: Zahavi (2010).
"""

from dataclasses import dataclass
from functools import cached_property

from ddl_runtime.core.checks import whole_number
from ddl_runtime.topologies.shared_links import Topology


@dataclass(frozen=True)
class FatTree(Topology):
    """Switches of `ports` ports in two or three `levels`, leaves oversubscribed s to 1."""

    ports: int
    levels: int = 3
    oversubscription: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.ports, "ports", 1)
        whole_number(self.oversubscription, "oversubscription", 1)
        if self.levels not in (2, 3):
            raise ValueError(f"a FatTree has 2 or 3 levels, not {self.levels!r}; 1 is a Star")
        parts = self.oversubscription + 1
        if self.ports % 2 or self.ports % parts:
            raise ValueError(
                f"{self.ports} ports cannot be split {self.oversubscription}:1 between down and "
                f"up: take an even multiple of {parts}, like {2 * parts}"
            )

    @cached_property
    def up(self) -> int:
        """Links from a leaf up: to the spines, or to the middle switches of its pod."""
        return self.ports // (self.oversubscription + 1)

    @cached_property
    def down(self) -> int:
        """Hosts on a leaf."""
        return self.ports - self.up

    @cached_property
    def pod_leaves(self) -> int:
        """Leaves of a pod; two levels are one pod."""
        return self.ports if self.levels == 2 else self.ports // 2

    @cached_property
    def leaves(self) -> int:
        """Leaves of all pods."""
        return self.ports if self.levels == 2 else self.ports * self.pod_leaves

    @cached_property
    def hosts(self) -> int:
        return self.leaves * self.down

    @property
    def switch_links(self) -> int:
        cores = 0 if self.levels == 2 else self.ports * self.up * self.pod_leaves
        return 2 * (self.leaves * self.up + cores)

    def route(self, source: int, dest: int) -> tuple[int, ...]:
        leaf, last = source // self.down, dest // self.down
        if leaf == last:
            return ()
        middle = dest % self.up
        rise, fall = 2 * (leaf * self.up + middle), 2 * (last * self.up + middle) + 1
        pod, last_pod = leaf // self.pod_leaves, last // self.pod_leaves
        if pod == last_pod:
            return rise, fall
        core = dest // self.up % self.pod_leaves
        first = 2 * self.leaves * self.up
        summit_rise = first + 2 * ((pod * self.up + middle) * self.pod_leaves + core)
        summit_fall = first + 2 * ((last_pod * self.up + middle) * self.pod_leaves + core) + 1
        return rise, summit_rise, summit_fall, fall
