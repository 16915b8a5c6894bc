"""Rules about what so few observations can tell: of held-out samples, of slow answers, of ticks.

Repetitions are not all that is random. An accuracy on n held-out samples is uncertain by about
sqrt(p (1 - p) / n), however many seeds were trained (Wilson 1927 has the interval that holds near
0 and 1 too). The slowest hundredth is among n answers with the chance 1 - 0.99^n only. And a clock
that ticks coarsely repeats itself exactly, which looks like certainty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist

import numpy as np

from ddl_measure.interval import FEWEST
from ddl_measure.reports.cases import Case, cases, timed
from ddl_measure.reports.findings import Finding
from ddl_measure.reports.numbers import ROUNDING, percentile
from ddl_measure.reports.report import HELD_OUT, Report, Series

POINTS = 0.05  # an accuracy that is known no better than this says little
CONFIDENCE = 0.95


def few_samples(report: Report) -> Iterator[Finding]:
    """Of every accuracy that is claimed: enough held-out samples."""
    count = report.data.held_out if report.data else None
    for case in cases(report):
        for series in _cited(case) if count and case.claim.quantity == "accuracy" else ():
            if series.split != HELD_OUT or not series.values:
                continue
            low, high = wilson(float(np.median(series.values)), count)
            if high - low > 2 * POINTS:
                yield Finding(
                    "no interval",
                    case.where,
                    f"of {count} held-out samples it lies between {low:.2f} and {high:.2f}",
                    "hold more samples out, or validate crosswise until all have been",
                )


def few_answers(report: Report) -> Iterator[Finding]:
    """Of every percentile that is claimed: enough values for some to lie beyond it."""
    for case in cases(report):
        share = (percentile(case.claim.summary) or 50) / 100
        if share == 0.5:
            continue
        for series in _cited(case):
            count = len(series.values or ())
            held = 1 - share**count - (1 - share) ** count
            if count and not series.deterministic and held < CONFIDENCE:
                needed = math.log(1 - CONFIDENCE) / math.log(max(share, 1 - share))
                yield Finding(
                    "no interval",
                    f"{case.where}.summary",
                    f"{count} values hold their {case.claim.summary} in {100 * held:.0f} of 100 "
                    "cases",
                    f"measure {math.ceil(needed)} or more, or claim the median",
                )


def coarse_ticks(report: Report) -> Iterator[Finding]:
    """Of every time that was measured: the clock could tell them apart."""
    for entry in report.entries or ():
        for series in entry.series or ():
            values = [it for it in series.values or () if math.isfinite(it)]
            if len(values) < FEWEST or not timed(series) or series.deterministic:
                continue
            different = sorted(set(values))
            tick = min(np.diff(different), default=math.inf)
            coarse = tick > ROUNDING * float(np.median(values))
            if series.ground == "measured" and 2 * len(different) <= len(values) and coarse:
                yield Finding(
                    "no interval",
                    f"entries['{entry.name}'].series['{series.quantity}']",
                    f"{len(values)} values, {len(different)} different: a clock that ticks so "
                    "coarsely, or rounding, hides how they vary",
                    "time many in a row and divide, and keep all digits",
                )


def wilson(share: float, count: int) -> tuple[float, float]:
    """The 95% interval of a share that was found among so many (Wilson 1927)."""
    share = min(max(share, 0.0), 1.0)  # what is no share is unclear, as another rule says
    reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) ** 2 / count
    middle = (share + reach / 2) / (1 + reach)
    half = math.sqrt(reach * share * (1 - share) + reach**2 / 4) / (1 + reach)
    return middle - half, middle + half


def _cited(case: Case) -> tuple[Series, ...]:
    found = (case.series(entry) for entry in case.everybody)
    return tuple(it for it in found if it is not None)
