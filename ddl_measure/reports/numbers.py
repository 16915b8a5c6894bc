"""Rules about numbers: every repetition is there, an interval can be had, a claim follows from it.

Nothing is taken from what a report says of its own certainty: medians and intervals are computed
here, from the repetitions. Repetitions are not all that is random. An accuracy on n held-out
samples is uncertain by about sqrt(p (1 - p) / n), however many seeds were trained (Wilson 1927 has
the interval that holds near 0 and 1 too). The slowest hundredth is among n answers with the chance
1 - 0.99^n only. And a clock with coarse ticks repeats itself exactly, which looks like certainty.
"""

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist

import numpy as np

from ddl_measure.interval import (
    FEWEST,
    Interval,
    coverage,
    interval,
    ratio_of_medians,
    ratio_of_turns,
)
from ddl_measure.reports.cases import Case, higher_is_better, timed
from ddl_measure.reports.findings import Finding, finding
from ddl_measure.reports.report import HELD_OUT, Series

ROUNDING = 0.03  # by so much a number in a sentence may be rounded up
POINT = 0.005  # an accuracy, or a loss of it
POINTS = 0.05  # an accuracy that is known no better than this says little
LEAST_CONFIDENCE = 0.75  # three repetitions
CONFIDENCE = 0.95


def repetitions(series: Series, where: str) -> Iterator[Finding]:
    """No repetition may be left out, and the time must be that of the slowest rank."""
    count = len(series.values or ())
    if count and (series.repeated or 0) > count:
        yield finding("repetitions_gone", where, count=count, repeated=series.repeated)
    if series.over_ranks == "fastest":
        yield finding("fastest_rank", where)


def enough(series: Series, where: str) -> Iterator[Finding]:
    """There must be enough repetitions for an interval of what varies."""
    count, confidence = len(series.values or ()), series.confidence
    if series.taken == "on the way":  # a curve: one value after another, no repetitions
        return
    if not count or (series.deterministic and not (timed(series) and series.ground == "measured")):
        return
    if not LEAST_CONFIDENCE <= confidence < 1:
        bounds = {"least": LEAST_CONFIDENCE, "fewest": FEWEST}
        yield finding("odd_confidence", where, confidence=confidence, **bounds)
    elif count < 2 or coverage(count, confidence) < confidence - 1e-9:
        reached = coverage(count) if count > 1 else 0.0
        lower = f", or say confidence={reached:.2f}" if reached >= LEAST_CONFIDENCE else ""
        repeated = f"{count} repetition{'s' * (count > 1)}"
        shares = {"share": 100 * reached, "wanted": 100 * confidence}
        yield finding("too_few", where, repetitions=repeated, fewest=FEWEST, lower=lower, **shares)


def coarse_ticks(series: Series, where: str) -> Iterator[Finding]:
    """The clock must be fine enough for the times that were measured."""
    values = [value for value in series.values or () if math.isfinite(value)]
    if len(values) < FEWEST or not timed(series) or series.deterministic:
        return
    different = sorted(set(values))
    coarse = min(np.diff(different), default=math.inf) > ROUNDING * float(np.median(values))
    if series.ground == "measured" and 2 * len(different) <= len(values) and coarse:
        yield finding("coarse_ticks", where, count=len(values), different=len(different))


def few_samples(case: Case) -> Iterator[Finding]:
    """Every accuracy that is claimed needs enough held-out samples."""
    count = case.report.data.held_out if case.report.data else None
    for series in case.cited if count and case.claim.quantity == "accuracy" else ():
        if series.split == HELD_OUT and series.values:
            low, high = wilson(float(np.median(series.values)), count)
            if high - low > 2 * POINTS:
                yield finding("few_samples", case.where, count=count, low=low, high=high)


def few_answers(case: Case) -> Iterator[Finding]:
    """Every percentile that is claimed needs enough values for some to lie beyond it."""
    share = (percentile(case.claim.summary) or 50) / 100
    for series in case.cited if share != 0.5 else ():
        count = len(series.values or ())
        held = 1 - share**count - (1 - share) ** count
        if count and not series.deterministic and held < CONFIDENCE:
            needed = math.ceil(math.log(1 - CONFIDENCE) / math.log(max(share, 1 - share)))
            words = {"summary": case.claim.summary, "share": 100 * held, "needed": needed}
            yield finding("few_answers", f"{case.where}.summary", count=count, **words)


def claimed_numbers(case: Case) -> Iterator[Finding]:
    """The number of a claim must follow from the repetitions, and be above the noise."""
    if case.claim.summary == "best":
        yield finding("best_claimed", case.where)
    elif case.claim.summary == "mean of ratios":
        yield finding("ratios_averaged", case.where)
    elif case.claim.number is not None and case.baseline is not None:
        if case.pair is not None:
            yield from _compared(case, case.claim.number, *case.pair)
    elif case.claim.number is not None and case.entries:
        series = case.series(case.entries[-1])
        if series is not None and series.values:
            yield from _alone(case, case.claim.number, series)


def good_ratio(first: Series, other: Series, summary: str | None) -> Interval | None:
    """How many times as good the one is, and its 95% interval; None where no ratio can be had."""
    mine, its = first.values, other.values
    if not all(math.isfinite(value) and value > 0 for value in (*mine, *its)):
        return None
    top, bottom = (mine, its) if higher_is_better(first) else (its, mine)
    if summary == "paired ratios" and len(mine) == len(its):
        return ratio_of_turns(top, bottom)
    middle, low, high = ratio_of_medians(top, bottom)
    if first.deterministic and other.deterministic:
        low = high = middle
    return middle, low, high


def percentile(summary: str | None) -> float | None:
    """Which one a claim's `summary` means: "percentile 99"; None: another summary."""
    number = (summary or "").removeprefix("percentile ")
    return float(number) if number.isdigit() and number != summary else None


def wilson(share: float, count: int) -> tuple[float, float]:
    """The 95% interval of a share that was found among `count` (Wilson 1927)."""
    share = min(max(share, 0.0), 1.0)  # what is no share is unclear, as another rule says
    reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) ** 2 / count
    middle = (share + reach / 2) / (1 + reach)
    half = math.sqrt(reach * share * (1 - share) + reach**2 / 4) / (1 + reach)
    return middle - half, middle + half


def _compared(case: Case, number: float, first: Series, other: Series) -> Iterator[Finding]:
    summary = case.claim.summary
    if summary == "paired ratios" and len(first.values) != len(other.values):
        counts = {"count": len(first.values), "other": len(other.values)}
        yield finding("no_pairs", f"{case.where}.summary", **counts)
        return
    ratio = good_ratio(first, other, summary)
    if ratio is None:
        return
    middle, low, high = ratio
    yield from _means(case, first)
    yield from _means(case, other)
    if low <= 1 <= high:
        if number != 1:
            measured = {"middle": middle, "low": low, "high": high}
            yield finding("within_the_noise", case.where, number=number, **measured)
        return
    if summary in ("means", "harmonic means") or percentile(summary):
        mine, its = (_summed(series.values, summary) for series in (first, other))
        middle = mine / its if higher_is_better(first) else its / mine
    if number > middle * (1 + ROUNDING):
        best = _best(first) / _best(other)
        best = best if higher_is_better(first) else 1 / best
        yield _too_good(case, number, middle, abs(number / best - 1) <= ROUNDING)


def _alone(case: Case, number: float, series: Series) -> Iterator[Finding]:
    middle = _summed(series.values, case.claim.summary)
    yield from _means(case, series)
    if series.quantity == "accuracy":
        better = number - middle > POINT
    elif higher_is_better(series):
        better = number > middle * (1 + ROUNDING)
    else:
        better = number < middle * (1 - ROUNDING)
    if better:
        yield _too_good(case, number, middle, abs(number - _best(series)) <= ROUNDING * number)


def _too_good(case: Case, number: float, middle: float, best: bool) -> Finding:
    rule = "from_the_best" if best else "more_than_measured"
    return finding(rule, case.where, number=number, middle=middle)


def _means(case: Case, series: Series) -> Iterator[Finding]:
    """A mean of rates weighs fast runs most; one of times, the few that were disturbed."""
    if case.claim.summary != "means" or not series.values:
        return
    if "a second" in (series.quantity or ""):
        yield finding("rates_averaged", case.where, quantity=series.quantity)
        return
    middle, low, high = interval(series.values, series.confidence)
    mean = float(np.mean(series.values))
    if not low <= mean <= high:
        ends = {"middle": middle, "low": low, "high": high}
        yield finding("drawn_by_outliers", case.where, mean=mean, **ends)


def _summed(values: Sequence[float], summary: str | None) -> float:
    if summary == "means":
        return float(np.mean(values))
    if summary == "harmonic means":
        return float(len(values) / np.sum(1 / np.asarray(values)))
    share = percentile(summary)  # a median may be infinite; between infinities lies no share
    return float(np.median(values) if share is None else np.percentile(values, share))


def _best(series: Series) -> float:
    return (max if higher_is_better(series) else min)(series.values)
