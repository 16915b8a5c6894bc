"""A claim with the entries and series that it names: what the rules look at."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ddl_measure.reports.report import (
    A_TRAINING,
    COMMUNICATION,
    HELD_OUT,
    HIGHER,
    QUANTITIES,
    STEP_PARTS,
    Claim,
    Entry,
    Report,
    Series,
)

TO_TARGET = ("seconds to target", "epochs to target", "steps to target")
SAME = 1e-3  # largest difference of weights, relative, that rounding may make


@dataclass(frozen=True)
class Case:
    """One claim of a report; its entries are those that exist."""

    where: str
    report: Report
    claim: Claim

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The contestants, in the claim's order."""
        by_name = {entry.name: entry for entry in self.report.entries or ()}
        return tuple(by_name[name] for name in self.claim.entries or () if name in by_name)

    @cached_property
    def baseline(self) -> Entry | None:
        """The entry that the contestants are compared with."""
        named = (entry for entry in self.report.entries or () if entry.name == self.claim.baseline)
        return next(named, None) if self.claim.baseline is not None else None

    @property
    def everybody(self) -> tuple[Entry, ...]:
        """The baseline, if there is one, and the contestants."""
        others = (self.baseline,) if self.baseline else ()
        return others + tuple(entry for entry in self.entries if entry is not self.baseline)

    @property
    def training(self) -> bool:
        return self.claim.about == "training"

    @property
    def to_target(self) -> bool:
        return self.claim.quantity in TO_TARGET

    def series(self, entry: Entry | None) -> Series | None:
        """What it cites of an entry."""
        wanted = self.claim.quantity, self.claim.of
        own = (entry.series if entry else None) or ()
        return next(
            (candidate for candidate in own if (candidate.quantity, candidate.of) == wanted), None
        )

    @property
    def cited(self) -> list[Series]:
        return [series for entry in self.everybody if (series := self.series(entry)) is not None]

    @property
    def pair(self) -> tuple[Series, Series] | None:
        """The two series that `number` compares: the last entry's and the baseline's. None if
        one has no values."""
        mine, its = (
            self.series(entry) for entry in ((self.entries or (None,))[-1], self.baseline)
        )
        return (mine, its) if mine and its and mine.values and its.values else None


def cases(report: Report) -> Iterator[Case]:
    """All claims of a report."""
    for place, claim in enumerate(report.claims or ()):
        yield Case(f"claims[{place}]", report, claim)


def each_series(report: Report) -> Iterator[tuple[Series, str]]:
    """Every series, and where it stands."""
    for entry in report.entries or ():
        yield from ((series, place_of(entry, series)) for series in entry.series or ())


def place_of(entry: Entry, series: Series | None = None) -> str:
    """Where an entry, or one of its series, stands in a report."""
    within = f".series['{series.quantity}']" if series else ""
    return f"entries['{entry.name}']{within}"


def trained(report: Report) -> tuple[Entry, ...]:
    """All that was trained, where training is spoken of: also what no claim names."""
    named = {each.name for case in cases(report) if case.training for each in case.everybody}
    return tuple(
        entry
        for entry in report.entries or ()
        if entry.name in named
        or (named and any(each.of == A_TRAINING for each in entry.series or ()))
    )


def find(entry: Entry, quantity: str) -> tuple[Series, ...]:
    """All series of this quantity."""
    return tuple(series for series in entry.series or () if series.quantity == quantity)


def qualities(entry: Entry) -> tuple[Series, ...]:
    """What says how well it has learnt: accuracies, and whatever was found on data held out."""
    return tuple(
        series
        for series in entry.series or ()
        if series.quantity == "accuracy"
        or (series.split == HELD_OUT and series.taken != "on the way")
    )


def same_numbers(entry: Entry) -> bool:
    """Whether it was measured that this learns what the baseline learns, bit by bit or nearly."""
    return any(series.values and max(series.values) <= SAME for series in find(entry, "error"))


def higher_is_better(series: Series) -> bool:
    """Which way is up."""
    return QUANTITIES.get(series.quantity or "", ("", series.better))[1] == HIGHER


def timed(series: Series) -> bool:
    """Whether a clock was read for it."""
    return "second" in (series.quantity or "")


def parts_of_a_step(entry: Entry) -> tuple[str, ...]:
    """What a step of a training has in it."""
    return STEP_PARTS + ((COMMUNICATION,) if (entry.ranks or 1) > 1 else ())
