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
from ddl_measure.reports.findings import Finding
from ddl_measure.reports.report import HELD_OUT, Series

ROUNDING = 0.03  # by so much a number in a sentence may be rounded up
POINT = 0.005  # an accuracy, or a loss of it
POINTS = 0.05  # an accuracy that is known no better than this says little
LEAST_CONFIDENCE = 0.75  # three repetitions
CONFIDENCE = 0.95


def repetitions(series: Series, where: str) -> Iterator[Finding]:
    """None of them is gone, and the slowest rank's time is told."""
    count = len(series.values or ())
    if count and (series.repeated or 0) > count:
        shown = f"{count} of {series.repeated} repetitions are shown"
        advice = "show all; an outlier is a fact about the machine too"
        yield Finding("best of n", where, shown, advice)
    if series.over_ranks == "fastest":
        advice = "take the slowest: a step is over when all have ended it"
        yield Finding("best of n", where, "the time is that of the fastest rank", advice)


def enough(series: Series, where: str) -> Iterator[Finding]:
    """There are enough repetitions for an interval of what varies."""
    count, confidence = len(series.values or ()), series.confidence
    if series.taken == "on the way":  # a curve: one value after another, no repetitions
        return
    if not count or (series.deterministic and not (timed(series) and series.ground == "measured")):
        return
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


def coarse_ticks(series: Series, where: str) -> Iterator[Finding]:
    """The clock could tell times apart that were measured."""
    values = [it for it in series.values or () if math.isfinite(it)]
    if len(values) < FEWEST or not timed(series) or series.deterministic:
        return
    different = sorted(set(values))
    coarse = min(np.diff(different), default=math.inf) > ROUNDING * float(np.median(values))
    if series.ground == "measured" and 2 * len(different) <= len(values) and coarse:
        yield Finding(
            "no interval",
            where,
            f"{len(values)} values, {len(different)} different: a clock that ticks so coarsely, "
            "or rounding, hides how they vary",
            "time many in a row and divide, and keep all digits",
        )


def few_samples(case: Case) -> Iterator[Finding]:
    """Of every accuracy that is claimed: enough held-out samples."""
    count = case.report.data.held_out if case.report.data else None
    for series in case.cited if count and case.claim.quantity == "accuracy" else ():
        if series.split == HELD_OUT and series.values:
            low, high = wilson(float(np.median(series.values)), count)
            if high - low > 2 * POINTS:
                between = f"of {count} held-out samples it lies between {low:.2f} and {high:.2f}"
                advice = "hold more samples out, or validate crosswise until all have been"
                yield Finding("no interval", case.where, between, advice)


def few_answers(case: Case) -> Iterator[Finding]:
    """Of every percentile that is claimed: enough values for some to lie beyond it."""
    share = (percentile(case.claim.summary) or 50) / 100
    for series in case.cited if share != 0.5 else ():
        count = len(series.values or ())
        held = 1 - share**count - (1 - share) ** count
        if count and not series.deterministic and held < CONFIDENCE:
            needed = math.log(1 - CONFIDENCE) / math.log(max(share, 1 - share))
            yield Finding(
                "no interval",
                f"{case.where}.summary",
                f"{count} values hold their {case.claim.summary} in {100 * held:.0f} of 100 cases",
                f"measure {math.ceil(needed)} or more, or claim the median",
            )


def claimed_numbers(case: Case) -> Iterator[Finding]:
    """Of every claim: the number follows from the repetitions, and is above the noise."""
    if case.claim.summary == "best":
        yield Finding("best of n", case.where, "the number is that of the best repetitions")
    elif case.claim.summary == "mean of ratios":
        advice = "average the times and take one ratio, or the median of paired ratios"
        yield Finding("mean of rates or ratios", case.where, "ratios were averaged", advice)
    elif case.claim.number is not None and case.baseline is not None:
        if case.pair is not None:
            yield from _compared(case, case.claim.number, *case.pair)
    elif case.claim.number is not None and case.entries:
        series = case.series(case.entries[-1])
        if series is not None and series.values:
            yield from _alone(case, case.claim.number, series)


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
    number = (summary or "").removeprefix("percentile ")
    return float(number) if number.isdigit() and number != summary else None


def wilson(share: float, count: int) -> tuple[float, float]:
    """The 95% interval of a share that was found among so many (Wilson 1927)."""
    share = min(max(share, 0.0), 1.0)  # what is no share is unclear, as another rule says
    reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) ** 2 / count
    middle = (share + reach / 2) / (1 + reach)
    half = math.sqrt(reach * share * (1 - share) + reach**2 / 4) / (1 + reach)
    return middle - half, middle + half


def _compared(case: Case, number: float, one: Series, other: Series) -> Iterator[Finding]:
    summary = case.claim.summary
    if summary == "paired ratios" and len(one.values) != len(other.values):
        counts = f"{len(one.values)} values and {len(other.values)} of the baseline are no pairs"
        advice = "measure them in turns, or compare medians"
        yield Finding("unclear", f"{case.where}.summary", counts, advice)
        return
    ratio = good_ratio(one, other, summary)
    if ratio is None:
        return
    middle, low, high = ratio
    yield from _means(case, one)
    yield from _means(case, other)
    if low <= 1 <= high:
        if number != 1:
            measured = (
                f"measured was {middle:.3g}, between {low:.3g} and {high:.3g}, which holds 1"
            )
            claimed = f"{number:g} times as good is claimed; {measured}"
            yield Finding("within the noise", case.where, claimed)
        return
    if summary in ("means", "harmonic means") or percentile(summary):
        mine, its = (_summed(it.values, summary) for it in (one, other))
        middle = mine / its if higher_is_better(one) else its / mine
    if number > middle * (1 + ROUNDING):
        best = _best(one) / _best(other)
        best = best if higher_is_better(one) else 1 / best
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
    if best:
        comes = f"{number:g} comes from the best repetitions; all of them give {middle:.3g}"
        return Finding("best of n", case.where, comes)
    claimed = f"{number:g} is claimed; the repetitions give {middle:.3g}"
    return Finding("more than measured", case.where, claimed)


def _means(case: Case, series: Series) -> Iterator[Finding]:
    """A mean of rates weighs fast runs most; one of times, the few that were disturbed."""
    if case.claim.summary != "means" or not series.values:
        return
    if "a second" in (series.quantity or ""):
        averaged = f"{series.quantity} were averaged as they are"
        yield Finding("mean of rates or ratios", case.where, averaged)
        return
    middle, low, high = interval(series.values, series.confidence)
    mean = float(np.mean(series.values))
    if not low <= mean <= high:
        both = f"the mean is {mean:.3g}, the median {middle:.3g}, between {low:.3g} and {high:.3g}"
        yield Finding("mean drawn by outliers", case.where, both)


def _summed(values: Sequence[float], summary: str | None) -> float:
    if summary == "means":
        return float(np.mean(values))
    if summary == "harmonic means":
        return float(len(values) / np.sum(1 / np.asarray(values)))
    share = percentile(summary)  # a median may be infinite; between infinities lies no share
    return float(np.median(values) if share is None else np.percentile(values, share))


def _best(series: Series) -> float:
    return (max if higher_is_better(series) else min)(series.values)
