"""Networks without shared links: what a message costs between two ranks.

LogGP (Alexandrov, Ionescu, Schauser and Scheiman, 1995) with ports. A message of n bytes keeps its
sender's port busy for n / bandwidth. Its head arrives `latency` later; then the receiver's port is
busy for n / bandwidth: alone it takes

    latency + n / bandwidth                  (plus an `overhead` of processor time at both ends)

while P-1 messages to one rank come in one after another: latency + (P-1) n / bandwidth. What a
rank sends leaves in order, too; on networks of `shared_links` it leaves side by side.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ddl_runtime.core.checks import whole_number

SPEEDS = ("bandwidth", "reduce_bandwidth", "flops")  # positive, perhaps endless


def check_positive(**amounts: float) -> None:
    """Refuse a latency, bandwidth or the like that is no possible number."""
    for name, amount in amounts.items():
        if isinstance(amount, bool) or not isinstance(amount, (int, float)):
            raise TypeError(f"{name} must be a plain number, not {amount!r}")
        if name in SPEEDS and not amount >= 1e-300:
            raise ValueError(f"{name} must be positive, not {amount!r}")
        if name not in SPEEDS and not 0 <= amount < math.inf:
            raise ValueError(f"{name} must be zero or more, and finite, not {amount!r}")


def check_fields(owner: object, *names: str) -> None:
    """Refuse an `owner` whose fields of these `names` fail `check_positive`."""
    check_positive(**{name: getattr(owner, name) for name in names})


@dataclass(frozen=True)
class HostLink:
    """Between a rank's device and the memory of its host: a copy of n bytes takes
    start + n / bandwidth. One copy out and one copy in run at a time, beside each other."""

    start: float = 10e-6
    bandwidth: float = 12e9

    def __post_init__(self) -> None:
        check_fields(self, "start", "bandwidth")

    def seconds(self, nbytes: int) -> float:
        return self.start + nbytes / self.bandwidth


def check_host_link(link: object) -> None:
    """Refuse a `host_link` that is neither a HostLink nor None."""
    if link is not None and not isinstance(link, HostLink):
        raise TypeError(f"host_link must be a HostLink(...), or None, not {link!r}")


@dataclass(frozen=True)
class Uniform:
    """Every pair of ranks alike. Seconds and bytes per second; `gap` is the least time between
    the starts of two messages beyond their bytes (LogGP's g). Arrays on devices pass the
    `host_link` on their way to the network; without one, the network reads devices itself."""

    latency: float = 1e-6
    bandwidth: float = 10e9
    overhead: float = 0.0
    gap: float = 0.0
    host_link: HostLink | None = None

    shared = False

    def __post_init__(self) -> None:
        check_fields(self, "latency", "bandwidth", "overhead", "gap")
        check_host_link(self.host_link)

    @property
    def fixed_link(self) -> tuple[float, float]:
        """Latency in seconds and seconds per byte between any two ranks."""
        return self.latency, 1 / self.bandwidth

    def link(self, source: int, dest: int) -> tuple[float, float]:
        """Latency in seconds and seconds per byte from `source` to `dest`."""
        return self.fixed_link

    def node(self, rank: int) -> int:
        return rank


@dataclass(frozen=True)
class TwoLevel:
    """Nodes of `ranks_per_node` ranks: one network inside a node, another between nodes."""

    ranks_per_node: int
    inside: Uniform = Uniform(latency=0.5e-6, bandwidth=20e9)
    between: Uniform = Uniform(latency=2e-6, bandwidth=10e9)
    overhead: float = 0.0
    gap: float = 0.0
    host_link: HostLink | None = None

    shared = False
    fixed_link = None

    def __post_init__(self) -> None:
        whole_number(self.ranks_per_node, "ranks_per_node (the last node may have fewer)", 1)
        for name in ("inside", "between"):
            if not isinstance(getattr(self, name), Uniform):
                raise TypeError(f"{name} must be a Uniform(...), not {getattr(self, name)!r}")
            if getattr(self, name).host_link is not None:
                raise ValueError(
                    f"{name} has a host_link, but a rank has one for all that it sends: give it "
                    "to the TwoLevel(..., host_link=...)"
                )
        check_fields(self, "overhead", "gap")
        check_host_link(self.host_link)

    def link(self, source: int, dest: int) -> tuple[float, float]:
        level = self.inside if self.node(source) == self.node(dest) else self.between
        return level.link(source, dest)

    def node(self, rank: int) -> int:
        return rank // self.ranks_per_node


@dataclass(frozen=True)
class Machine:
    """How fast the simulated ranks compute, and how unevenly.

    Work in operations or bytes begins after `launch` seconds. It takes as long as its operations,
    `flops` a second, or its bytes of memory, `bandwidth` a second, whichever is longer. A
    reduction goes over `reduce_bandwidth` bytes a second. Bytes are free unless given, as in the
    closed formulas. `jitter` spreads each piece of work log-normally by that relative amount;
    `latency_jitter` delays each message by an exponentially distributed share of its latency;
    `stragglers` slows ranks down by a factor. The same `seed` gives the same run. A send of up to
    `eager` bytes ends when these have left. A longer one ends only when its receive has begun as
    well, as in MPI libraries. Programs that rely on eager sends hang there.
    """

    flops: float = 1e10
    reduce_bandwidth: float = math.inf
    bandwidth: float = math.inf
    launch: float = 0.0
    jitter: float = 0.0
    latency_jitter: float = 0.0
    stragglers: dict[int, float] | None = None
    seed: int = 0
    eager: float = math.inf

    def __post_init__(self) -> None:
        check_fields(
            self, "jitter", "latency_jitter", "launch", "flops", "reduce_bandwidth", "bandwidth"
        )
        if self.eager != math.inf:
            check_fields(self, "eager")
        if not isinstance(self.stragglers or {}, Mapping):
            raise TypeError(
                "stragglers names slow ranks, each with its factor: {3: 2.0} makes rank 3 twice "
                f"as slow. It was {self.stragglers!r}"
            )
        for rank, factor in (self.stragglers or {}).items():
            check_positive(**{f"the factor of straggler {rank}": factor})
            if not factor:
                raise ValueError(f"the factor of straggler {rank} must be positive, not 0")

    def check_ranks(self, ranks: int) -> None:
        """Refuse stragglers that are not there."""
        for rank in self.stragglers or {}:
            if rank not in range(ranks):
                raise ValueError(f"straggler {rank!r} does not exist: ranks are 0 to {ranks - 1}")
