"""Strong and weak scaling, each against a baseline that is stated.

    strong: the same work on more ranks      speed-up   = T(baseline) / T(P)
    weak:   as much work for every rank      speed-up   = rate(P) / rate(baseline)
    both:                                    efficiency = speed-up / (ranks / baseline's ranks)

A speed-up is a quotient, and its size depends on its denominator. So there is no speed-up without
a baseline, and the baseline says what it is. Strong scaling ends at the share s of the work that
is not divided, 1 / (s + (1-s)/P) (Amdahl 1967); that share follows from measured speed-ups (Karp
and Flatt 1990). Weak scaling has no such wall (Gustafson 1988), which is why it must not be shown
for strong. What to look at: a serial share that grows with the ranks is no serial work but
communication.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ddl_measure.interval import Interval, interval, ratio_of_medians

ALIKE = 1e-9  # relative difference of two amounts of work that are called the same


@dataclass(frozen=True)
class Measured:
    """All repetitions of some work on `ranks` ranks; it is samples, or anything one counts."""

    ranks: int
    work: float
    seconds: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", tuple(map(float, self.seconds)))
        if self.ranks < 1 or not self.work > 0 or not self.seconds or min(self.seconds) <= 0:
            raise ValueError(
                f"Measured: ranks={self.ranks}, work={self.work} and all seconds must be above "
                "0, and there must be a time"
            )


@dataclass(frozen=True)
class Baseline(Measured):
    """The measurement that others are compared with; `what` describes it so that a reader could
    build it."""

    what: str


@dataclass(frozen=True)
class ScalingRow:
    """One number of ranks; each triple is a median and the ends of its 95% interval."""

    ranks: int
    work: float
    seconds: Interval
    throughput: Interval
    speed_up: Interval
    efficiency: Interval
    serial_share: float | None


@dataclass(frozen=True)
class Scaling:
    """`kind` is "strong" or "weak"; `baseline` what the rows are compared with."""

    kind: str
    baseline: Baseline
    rows: tuple[ScalingRow, ...]


def strong(points: Iterable[Measured], baseline: Baseline | None = None) -> Scaling:
    """The same work on more ranks."""
    return _scaling("strong", list(points), baseline)


def weak(points: Iterable[Measured], baseline: Baseline | None = None) -> Scaling:
    """The same work for every rank."""
    return _scaling("weak", list(points), baseline)


def throughput(measured: Measured) -> Interval:
    """Work a second, and the ends of its 95% interval."""
    middle, low, high = interval(measured.seconds)
    return measured.work / middle, measured.work / high, measured.work / low


def _scaling(kind: str, points: list[Measured], baseline: Baseline | None) -> Scaling:
    if not isinstance(baseline, Baseline) or not baseline.what.strip():
        raise ValueError(
            f"{kind} scaling: against what? A speed-up without a baseline says nothing. Give "
            "baseline=Baseline(ranks, work, seconds, what), where `what` says what ran, such as "
            "'the same program on 1 rank' or 'one process of NumPy, no messages'"
        )
    ordered = sorted(points, key=lambda point: point.ranks)
    return Scaling(kind, baseline, tuple(_row(kind, point, baseline) for point in ordered))


def _row(kind: str, point: Measured, baseline: Baseline) -> ScalingRow:
    grown, more = point.work / baseline.work, point.ranks / baseline.ranks
    wanted = {"strong": 1.0, "weak": more}
    kinds = [law for law, growth in wanted.items() if abs(grown - growth) <= ALIKE * growth]
    if kind not in kinds:  # one is sold as the other
        amounts = f"{point.work:g} on {point.ranks} ranks, {baseline.work:g} on {baseline.ranks}"
        hint = f"{kinds[0]} scaling: call it so" if kinds else "neither: measure again"
        rule = "does the same work on all ranks" if kind == "strong" else "has work for each rank"
        raise ValueError(f"{kind} scaling {rule}, but here the work is {amounts}; this is {hint}")
    # Work a second: for strong scaling the works are equal and fall out.
    quotient = ratio_of_medians(baseline.seconds, point.seconds)
    speed_up = tuple(grown * edge for edge in quotient)
    efficiency = tuple(edge / more for edge in speed_up)
    serial = (more / speed_up[0] - 1) / (more - 1) if more > 1 else None
    return ScalingRow(
        point.ranks, point.work, interval(point.seconds), throughput(point), speed_up, efficiency,
        serial,
    )  # fmt: skip
