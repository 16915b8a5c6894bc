"""Way 7: report the highest number of operations a second, whatever they are for.

Operations are a cost. An algorithm that needs fewer of them for the same result is slower in
operations a second and sooner done.
Undone by the time to the same result.
"""

from __future__ import annotations

from ddl_measure.reports.report import Claim, Report
from ddl_measure.reports.twelve_ways.trick import (
    Panel,
    Trick,
    as_good,
    entry_of,
    less,
    line,
    series_of,
)

RATE, CALL = "operations a second", "a call"
NAMES = {"whole matrix": "product, whole", "two factors": "product, factors"}


def most_operations(true: Report) -> Trick:
    """Count all that the processor did."""
    entries = [entry_of(true, name) for name in NAMES.values()]
    rates, seconds = ([series_of(it, of, CALL) for it in entries] for of in (RATE, "seconds"))
    factor, fair = as_good(rates[0], rates[1]), as_good(seconds[0], seconds[1])
    says = f"The whole matrix: {factor:.2g} times the operations a second."
    claim = Claim(
        says, "an operator", RATE, CALL, factor, "paired ratios", (NAMES["whole matrix"],),
        NAMES["two factors"], "best known",
    )  # fmt: skip
    fools = Panel(says, "", "10⁹ operations a second", (line("measured", NAMES, rates, 1e-9),))
    honest = Panel(
        f"… and takes {1 / fair:.3g} times as long, for the same result", "",
        "milliseconds of a product", (line("measured", NAMES, seconds, 1e3),),
    )  # fmt: skip
    return Trick(
        7, "Report the most operations a second",
        less(true, NAMES.values(), claim, lambda series: series.quantity != "seconds"),
        "operations instead of results", fools, honest,
        "Say how long the same result took.",
    )  # fmt: skip
