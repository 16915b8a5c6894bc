"""Way 5: show a kernel where a whole training is meant.

A part that is f of the time and becomes s times as fast makes the whole 1 / (1 - f + f/s) times as
fast (Amdahl 1967): never more than 1 / (1 - f).
Undone by the whole step, with all its parts.
"""

from __future__ import annotations

from ddl_teach.measure.reports.report import A_TRAINING, Claim, Report
from ddl_teach.measure.reports.twelve_ways.trick import (
    Panel,
    Trick,
    as_good,
    entry_of,
    less,
    line,
    series_of,
)

STEPS = {"float64": "step in float64", "float32": "step in float32"}
KERNEL, WHOLE = "a gradient", "a step"


def only_kernels(true: Report) -> Trick:
    """Time the gradient, speak of training."""
    entries = {told: entry_of(true, name) for told, name in STEPS.items()}
    kernel, step = (
        [series_of(it, "seconds", of) for it in entries.values()] for of in (KERNEL, WHOLE)
    )
    factor = as_good(kernel[1], kernel[0], "paired ratios")
    fair = as_good(step[1], step[0], "paired ratios")
    says = f"float32 trains {factor:.2g} times as fast."
    claim = Claim(
        says, "training", "seconds", KERNEL, factor, "paired ratios", (STEPS["float32"],),
        STEPS["float64"], "best known",
    )  # fmt: skip
    fools = Panel(says, "", "milliseconds", (line("measured", entries, kernel, 1e3),))
    honest = Panel(
        f"… its gradients do; whole steps are {fair:.2g} times as fast", "", "milliseconds",
        (line("the gradient", entries, kernel, 1e3), line("the whole step", entries, step, 1e3)),
    )  # fmt: skip
    told = less(true, STEPS.values(), claim, lambda it: it.of in (KERNEL, A_TRAINING))
    return Trick(
        5, "Show only kernels", told, "kernel only", fools, honest,
        "Measure whole steps, or speak of the kernel only.",
    )  # fmt: skip
