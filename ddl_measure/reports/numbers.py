"""Rules about numbers: every repetition is there, an interval can be had, a claim follows from it.

Nothing is taken from what a report says of its own certainty: medians and intervals are computed
here, from the repetitions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ddl_measure.interval import (
    FEWEST,
    Interval,
    coverage,
    interval,
    ratio_of_medians,
    ratio_of_turns,
)
from ddl_measure.reports.cases import Case, cases, higher_is_better, timed
from ddl_measure.reports.findings import Finding
from ddl_measure.reports.report import Report, Series

ROUNDING = 0.03  # by so much a number in a sentence may be rounded up
POINT = 0.005  # an accuracy, or a loss of it
LEAST_CONFIDENCE = 0.75  # three repetitions


def uncertainty(report: Report) -> Iterator[Finding]:
    """Of every series: enough repetitions for an interval, and none of them gone."""
    for entry in report.entries or ():
        for series in entry.series or ():
            where = f"entries['{entry.name}'].series['{series.quantity}']"
            yield from _interval(series, where)
            count = len(series.values or ())
            if count and (series.repeated or 0) > count:
                yield Finding(
                    "best of n",
                    where,
                    f"{count} of {series.repeated} repetitions are shown",
                    "show all; an outlier is a fact about the machine too",
                )
            if series.over_ranks == "fastest":
                yield Finding(
                    "best of n",
                    where,
                    "the time is that of the fastest rank",
                    "take the slowest: a step is over when all have ended it",
                )


def claimed_numbers(report: Report) -> Iterator[Finding]:
    """Of every claim: the number follows from the repetitions, and is above the noise."""
    for case in cases(report):
        summary = case.claim.summary
        if summary == "best":
            yield Finding(
                "best of n",
                case.where,
                "the number is that of the best repetitions",
                "compare medians, and say how far the repetitions reach",
            )
        elif summary == "mean of ratios":
            yield Finding(
                "mean of rates or ratios",
                case.where,
                "ratios were averaged",
                "average the times and take one ratio, or the median of paired ratios",
            )
        elif case.baseline is not None:
            if case.pair is not None and case.claim.number is not None:
                yield from _compared(case, *case.pair)
        elif case.entries and case.claim.number is not None:
            series = case.series(case.entries[-1])
            if series is not None and series.values:
                yield from _alone(case, series)


def good_ratio(one: Series, other: Series, summary: str | None) -> Interval | None:
    """How many times as good the one is, and its 95% interval; None where no ratio can be had."""
    mine, its = one.values, other.values
    if not all(math.isfinite(it) and it > 0 for it in (*mine, *its)):
        return None
    top, bottom = (mine, its) if higher_is_better(one) else (its, mine)
    if summary == "paired ratios" and len(mine) == len(its):
        return ratio_of_turns(top, bottom)
    middle, low, high = ratio_of_medians(top, bottom)
    if one.deterministic and other.deterministic:
        low = high = middle
    return middle, low, high


def percentile(summary: str | None) -> float | None:
    """Which one a claim's `summary` means: "percentile 99"; None: another summary."""
    found = (summary or "").removeprefix("percentile ")
    return float(found) if found.isdigit() and found != summary else None


def _interval(series: Series, where: str) -> Iterator[Finding]:
    count = len(series.values or ())
    if series.taken == "on the way":  # a curve: one value after another, no repetitions
        return
    if not count or (series.deterministic and not (timed(series) and series.ground == "measured")):
        return
    confidence = series.confidence
    if not LEAST_CONFIDENCE <= confidence < 1:
        yield Finding(
            "no interval",
            where,
            f"an interval with confidence {confidence:g} tells nothing",
            f"take one between {LEAST_CONFIDENCE:g} and 1, 0.95 where {FEWEST} repetitions can be",
        )
    elif count < 2 or coverage(count, confidence) < confidence - 1e-9:
        reached = coverage(count) if count > 1 else 0.0
        lower = f", or say confidence={reached:.2f}" if reached >= LEAST_CONFIDENCE else ""
        yield Finding(
            "no interval",
            where,
            f"{count} repetition{'s' * (count > 1)} of something that varies: their range holds "
            f"the median in {100 * reached:.0f} of 100 cases, not {100 * confidence:.0f}",
            f"repeat it until there are {FEWEST} or more{lower}",
        )


def _compared(case: Case, one: Series, other: Series) -> Iterator[Finding]:
    number, summary = case.claim.number, case.claim.summary
    if summary == "paired ratios" and len(one.values) != len(other.values):
        yield Finding(
            "unclear",
            f"{case.where}.summary",
            f"{len(one.values)} values and {len(other.values)} of the baseline are no pairs",
            "measure them in turns, or compare medians",
        )
        return
    ratio = good_ratio(one, other, summary)
    if ratio is None:
        return
    middle, low, high = ratio
    yield from _means(case, one)
    yield from _means(case, other)
    if number != 1 and low <= 1 <= high:
        yield Finding(
            "within the noise",
            case.where,
            f"{number:g} times as good is claimed; measured was {middle:.3g}, between {low:.3g} "
            f"and {high:.3g}, which holds 1",
            "measure more repetitions, in turns, or say that no difference was seen: number 1",
        )
        return
    if summary in ("means", "harmonic means") or percentile(summary):
        mine, its = (_summed(it.values, summary) for it in (one, other))
        middle = mine / its if higher_is_better(one) else its / mine
    if number == 1 and low <= 1 <= high:
        return
    if number > middle * (1 + ROUNDING):
        best = _best(one) / _best(other)
        best = best if higher_is_better(one) else 1 / best
        yield _too_good(case, number, middle, abs(number / best - 1) <= ROUNDING)


def _alone(case: Case, series: Series) -> Iterator[Finding]:
    number, upwards = case.claim.number, higher_is_better(series)
    middle = _summed(series.values, case.claim.summary)
    yield from _means(case, series)
    if series.quantity == "accuracy":
        better = number - middle > POINT
    else:
        better = (
            (number > middle * (1 + ROUNDING)) if upwards else (number < middle * (1 - ROUNDING))
        )
    if better:
        yield _too_good(case, number, middle, abs(number - _best(series)) <= ROUNDING * number)


def _too_good(case: Case, number: float, middle: float, best: bool) -> Finding:
    if best:
        return Finding(
            "best of n",
            case.where,
            f"{number:g} comes from the best repetitions; all of them give {middle:.3g}",
            "compare medians, and say how far the repetitions reach",
        )
    return Finding(
        "more than measured",
        case.where,
        f"{number:g} is claimed; the repetitions give {middle:.3g}",
        "write what the repetitions give",
    )


def _means(case: Case, series: Series) -> Iterator[Finding]:
    """A mean of rates weighs fast runs most; one of times, the few that were disturbed."""
    if case.claim.summary != "means" or not series.values:
        return
    if "a second" in (series.quantity or ""):
        yield Finding(
            "mean of rates or ratios",
            case.where,
            f"{series.quantity} were averaged as they are",
            "average the seconds and divide (the harmonic mean), or take medians",
        )
        return
    middle, low, high = interval(series.values, series.confidence)
    mean = float(np.mean(series.values))
    if not low <= mean <= high:
        yield Finding(
            "mean drawn by outliers",
            case.where,
            f"the mean is {mean:.3g}, the median {middle:.3g}, between {low:.3g} and {high:.3g}",
            "take medians, and show the outliers",
        )


def _summed(values: Sequence[float], summary: str | None) -> float:
    if summary == "means":
        return float(np.mean(values))
    if summary == "harmonic means":
        return float(len(values) / np.sum(1 / np.asarray(values)))
    share = percentile(summary)  # a median may be infinite; between infinities lies no share
    return float(np.median(values) if share is None else np.percentile(values, share))


def _best(series: Series) -> float:
    return (max if higher_is_better(series) else min)(series.values)
