"""Steps in two precisions, of which a part was timed and the whole: what two ways begin with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ddl_measure.reports.report import Claim, Entry, Report, Series
from ddl_measure.reports.twelve_ways.trick import as_good, entry_of, series_of

STEPS = {"float64": "step in float64", "float32": "step in float32"}
WHOLE = "a step"


class PartForWhole(NamedTuple):
    """`claim` speaks of the part; the whole is `fair` times as fast."""

    entries: Mapping[str, Entry]
    part: list[Series]
    whole: list[Series]
    claim: Claim
    fair: float


def part_for_whole(true: Report, of: str, says: str) -> PartForWhole:
    """Take the seconds `of` a part; in `says` its factor stands where {} is."""
    entries = {told: entry_of(true, name) for told, name in STEPS.items()}
    part, whole = (
        [series_of(it, "seconds", each) for it in entries.values()] for each in (of, WHOLE)
    )
    factor, fair = (as_good(it[1], it[0], "paired ratios") for it in (part, whole))
    claim = Claim(
        says.format(f"{factor:.2g}"), "training", "seconds", of, factor, "paired ratios",
        (STEPS["float32"],), STEPS["float64"], "best known",
    )  # fmt: skip
    return PartForWhole(entries, part, whole, claim, fair)
