"""Fat tree: a tree of equal switches that gets no thinner towards its root.

A switch of k ports has as many links up as down, so all levels together carry what the hosts
send. Oversubscription s saves switches: a leaf has s times as many links down to hosts as up,
u = k / (s+1) up and d = s * u down. Two levels are k leaves under u spines; three are k pods of
k/2 leaves and u middle switches, under u * k/2 cores. Then

    hosts = k * d   or   k * k/2 * d            (k^2/2 or k^3/4 where s = 1)
    bisection bandwidth = hosts/2 * bandwidth / s

All routes up are open to a message. `routing` says which it takes: by its "destination" alone
(d-mod-k); "hashed", drawn from the `seed` for each pair of hosts, as ECMP does for each flow; or
"adaptive": packets are spread evenly over all of them, so that a switch has one wide link up. With
s = 1 every shift, rank r to r + c for all r, then runs at full bandwidth. But the ranks must fill
whole pods, or with two levels whole leaves. With s, a shift by d or more takes s times as long.
What to look at: other permutations collide although the bisection would carry them, and where
flows are hashed every permutation may; with packets spread evenly none does.
Leiserson (1985); Al-Fares, Loukissas and Vahdat (2008); d-mod-k: Zahavi (2010).
"""

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np

from ddl_runtime.core.checks import one_of, whole_number
from ddl_runtime.topologies.shared_links import Topology

ROUTINGS = "destination", "hashed", "adaptive"


@dataclass(frozen=True)
class FatTree(Topology):
    """Switches of `ports` ports in two or three `levels`, leaves oversubscribed s to 1."""

    ports: int
    levels: int = 3
    oversubscription: int = 1
    routing: str = "destination"
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.ports, "ports", 1)
        whole_number(self.oversubscription, "oversubscription", 1)
        if self.levels not in (2, 3):
            raise ValueError(f"a FatTree has 2 or 3 levels, not {self.levels!r}; 1 is a Star")
        one_of(self.routing, "routing", ROUTINGS)
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
        """The number of hosts on a leaf switch."""
        return self.ports - self.up

    @cached_property
    def pod_leaves(self) -> int:
        """The number of leaf switches in a pod; with two levels all leaves are one pod."""
        return self.ports if self.levels == 2 else self.ports // 2

    @cached_property
    def leaves(self) -> int:
        """The number of leaf switches in all pods."""
        return self.ports if self.levels == 2 else self.ports * self.pod_leaves

    @cached_property
    def hosts(self) -> int:
        return self.leaves * self.down

    @property
    def switch_links(self) -> int:
        if self.routing == "adaptive":
            return 2 * (self.leaves + self.ports)
        cores = 0 if self.levels == 2 else self.ports * self.up * self.pod_leaves
        return 2 * (self.leaves * self.up + cores)

    def route(self, source: int, dest: int) -> tuple[int, ...]:
        leaf, last = source // self.down, dest // self.down
        if leaf == last:
            return ()
        pod, last_pod = leaf // self.pod_leaves, last // self.pod_leaves
        if self.routing == "adaptive":
            # A pod has one wide link up to the cores; the one down is the next.
            summit = 2 * (self.leaves + pod), 2 * (self.leaves + last_pod) + 1
            return 2 * leaf, *(summit if pod != last_pod else ()), 2 * last + 1
        number = dest
        if self.routing == "hashed":
            flow = f"{self.seed} {source} {dest}".encode()
            number = int.from_bytes(blake2b(flow, digest_size=8).digest(), "big")
        middle = number % self.up
        rise, fall = 2 * (leaf * self.up + middle), 2 * (last * self.up + middle) + 1
        if pod == last_pod:
            return rise, fall
        core = number // self.up % self.pod_leaves
        first = 2 * self.leaves * self.up
        summit_rise = first + 2 * ((pod * self.up + middle) * self.pod_leaves + core)
        summit_fall = first + 2 * ((last_pod * self.up + middle) * self.pod_leaves + core) + 1
        return rise, summit_rise, summit_fall, fall

    def capacities(self) -> np.ndarray:
        capacities = super().capacities()
        if self.routing == "adaptive":
            leaf_links, pod_links = np.split(capacities[-self.switch_links :], [2 * self.leaves])
            leaf_links *= self.up
            pod_links *= self.up * self.pod_leaves
        return capacities
