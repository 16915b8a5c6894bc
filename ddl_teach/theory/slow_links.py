"""DiLoCo over slow links: the bytes of a step, the seconds of a round, and what hides them.

K sites agree every H steps on a vector whose message has m bytes: in F fragments, one after
another. The mean of each is used T steps after it began to travel. A step takes c seconds, a
message between sites the latency L, a byte 1/B.

    bytes of a site and step       2 (K-1)/K m / H
    a fragment is under way        e = 2 (K-1) (L + m / (F K B))
    a round of H steps             H c + F max(0, e - T c)
    nothing waits if               e <= T c,    and T is at most H / F

What to look at: fragments do not save bytes. Less must travel at once, so a shorter delay hides
it; but each of them pays all the latencies.
"""

from dataclasses import dataclass

from ddl_teach.theory.inputs import cost, count
from ddl_teach.theory.machine import Link


@dataclass(frozen=True)
class Round:
    """`sites` that agree every `period` steps of `step_seconds`, on messages of `nbytes` for all
    weights."""

    sites: int
    nbytes: float
    period: int
    step_seconds: float
    fragments: int = 1
    delay: int = 0

    def __post_init__(self) -> None:
        for name in ("sites", "period", "fragments", "delay"):
            count(name, getattr(self, name), least=name != "delay")
        cost("step_seconds", self.step_seconds)
        if self.fragments * max(1, self.delay) > self.period:
            raise ValueError("fragments x delay must be at most the period: one is sent at a time")

    @property
    def bytes_per_step(self) -> float:
        """What a site sends."""
        return 2 * (self.sites - 1) / self.sites * self.nbytes / self.period

    def under_way(self, link: Link) -> float:
        """Seconds from the begin of a fragment's average to its end."""
        chunk = self.nbytes / self.fragments / self.sites
        return 2 * (self.sites - 1) * (link.latency + chunk * link.per_byte)

    def seconds(self, link: Link) -> float:
        """A round of `period` steps."""
        waiting = max(0.0, self.under_way(link) - self.delay * self.step_seconds)
        return self.period * self.step_seconds + self.fragments * waiting


def starts(period: int, fragments: int) -> list[int]:
    """After how many steps of each round the fragments begin to travel, in their order."""
    return [(number + 1) * count("period", period) // fragments for number in range(fragments)]
