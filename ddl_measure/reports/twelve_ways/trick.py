"""What a way to fool makes of true measurements: a report, and two pictures as plain data.

What to look at: `less` never changes a number. It takes away entries, series and words.
"""

import functools
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np

from ddl_measure.interval import interval
from ddl_measure.reports.numbers import good_ratio
from ddl_measure.reports.report import A_TRAINING, HELD_OUT, Claim, Entry, Report, Series

Place = float | str


@dataclass(frozen=True)
class ReportedCurve:
    """Values with the ends of their intervals; over names they are bars. `ideal`: hoped for."""

    name: str
    x: tuple[Place, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    ideal: bool = False


@dataclass(frozen=True)
class Panel:
    """One picture: the title says what a reader is to believe."""

    title: str
    x: str
    y: str
    lines: tuple[ReportedCurve, ...]
    logarithmic: bool = False


@dataclass(frozen=True)
class Trick:
    """One of the twelve ways, carried out."""

    way: int
    name: str
    fault: str  # what review finds in it
    undone: str  # how, in a sentence
    fooling: Report
    fools: Panel
    honest: Panel


Keep = Callable[[Series], bool]
Told = tuple[Report, Sequence[ReportedCurve], Sequence[ReportedCurve], dict[str, Any]]
"""The fooling report, the lines of both pictures, and the values in the way's texts."""
WAYS: list[Callable[[Report], Trick]] = []
TEXTS = tomllib.loads(files(__package__).joinpath("all_ways.toml").read_text(encoding="utf-8"))


def way(tell: Callable[[Report], Told]) -> Callable[[Report], Trick]:
    """A function of true measurements becomes one of the twelve, with its texts."""
    texts = TEXTS[tell.__name__]

    @functools.wraps(tell)
    def carried_out(true: Report) -> Trick:
        fooling, *lines, values = tell(true)
        says, instead = (texts[which].format(**values) for which in ("says", "instead"))
        fools = Panel(says, lines=tuple(lines[0]), **texts["fools"])
        honest = Panel(instead, lines=tuple(lines[1]), **texts["honest"])
        claims = tuple(replace(claim, says=says) for claim in fooling.claims or ())
        fooling = replace(fooling, title=says, claims=claims)
        named = {field: texts[field] for field in ("way", "name", "fault", "undone")}
        return Trick(**named, fooling=fooling, fools=fools, honest=honest)

    WAYS.append(carried_out)
    return carried_out


def entry_of(report: Report, name: str) -> Entry:
    """The entry of that name, or an error that says where it comes from."""
    for entry in report.entries or ():
        if entry.name == name:
            return entry
    raise ValueError(
        f"the report has no entry '{name}': give true measurements as "
        "'python -m benchmarks.twelve_ways' makes them"
    )


def series_of(entry: Entry, quantity: str, of: str = A_TRAINING, **wanted: str) -> Series:
    """The series of that quantity, or an error that names it."""
    for series in entry.series or ():
        if (series.quantity, series.of) == (quantity, of) and all(
            getattr(series, name) == value for name, value in wanted.items()
        ):
            return series
    raise ValueError(f"entry '{entry.name}' has no series of {quantity} of {of}")


def all_series(
    true: Report, names: Iterable[str], quantity: str, of: str = A_TRAINING
) -> list[Series]:
    """The series of this quantity, one for each of these entries."""
    return [series_of(entry_of(true, name), quantity, of) for name in names]


def held_out(entry: Entry) -> Series:
    """The accuracies of an entry on data held out, at the end of training."""
    return series_of(entry, "accuracy", split=HELD_OUT, taken="at the end")


def less(
    true: Report, names: Iterable[str], claim: Claim, keep: Keep = lambda series: True
) -> Report:
    """The report with these entries only, of which it keeps some series, and with one claim."""
    entries = [entry_of(true, name) for name in names]
    fewer = [replace(entry, series=tuple(filter(keep, entry.series))) for entry in entries]
    trials = tuple(
        trial for trial in true.trials or () if trial.entry in {entry.name for entry in entries}
    )
    return replace(true, entries=tuple(fewer), trials=trials, claims=(claim,), target=None)


def middle(series: Series) -> float:
    """The median of its values."""
    return float(np.median(series.values))


def trains(number: float, quantity: str, *named: Any) -> Claim:
    """What is claimed of medians of trainings; `named` are entries, baseline and what that is."""
    return Claim(None, "training", quantity, A_TRAINING, number, "medians", *named)


def races(about: str, quantity: str, of: str, number: float, winner: str, baseline: str) -> Claim:
    """What is claimed of two that took turns."""
    named = (winner,), baseline, "best known"
    return Claim(None, about, quantity, of, number, "paired ratios", *named)


def as_good(first: Series, other: Series, summary: str = "medians") -> float:
    """How many times as good as the other, in three digits."""
    return float(f"{good_ratio(first, other, summary)[0]:.3g}")


def line(
    name: str, places: Sequence[Place], series: Sequence[Series], factor: float = 1.0
) -> ReportedCurve:
    """Medians with the ends of their 95% intervals."""
    triples = [interval(np.multiply(factor, each.values), each.confidence) for each in series]
    middles, lows, highs = zip(*triples, strict=True)
    return ReportedCurve(name, tuple(places), middles, lows, highs)


def speed_ups(name: str, places: Sequence[float], series: Sequence[Series]) -> ReportedCurve:
    """Speed-ups over the first series, which is 1 by definition and has no interval."""
    triples = [(1.0, 1.0, 1.0), *(good_ratio(each, series[0], "medians") for each in series[1:])]
    middles, lows, highs = zip(*triples, strict=True)
    return ReportedCurve(name, tuple(places), middles, lows, highs)


def ideal(places: Sequence[float]) -> ReportedCurve:
    """The ideal curve: as many times as fast as there are ranks."""
    return ReportedCurve(
        "ideal", tuple(places), tuple(float(place) for place in places), ideal=True
    )
