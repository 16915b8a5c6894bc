"""Way 5: show a kernel where a whole training is meant.

A part that is f of the time and becomes s times as fast makes the whole 1 / (1 - f + f/s) times as
fast (Amdahl 1967): never more than 1 / (1 - f).
Undone by the whole step, with all its parts.
"""

from __future__ import annotations

from ddl_measure.reports.report import A_TRAINING, Report
from ddl_measure.reports.twelve_ways.part_for_whole import STEPS, part_for_whole
from ddl_measure.reports.twelve_ways.trick import Panel, Trick, less, line

KERNEL = "a gradient"


def only_kernels(true: Report) -> Trick:
    """Time the gradient, speak of training."""
    entries, kernel, step, claim, fair = part_for_whole(
        true, KERNEL, "float32 trains {} times as fast."
    )
    fools = Panel(claim.says, "", "milliseconds", (line("measured", entries, kernel, 1e3),))
    honest = Panel(
        f"… its gradients do; whole steps are {fair:.2g} times as fast", "", "milliseconds",
        (line("the gradient", entries, kernel, 1e3), line("the whole step", entries, step, 1e3)),
    )  # fmt: skip
    told = less(true, STEPS.values(), claim, lambda it: it.of in (KERNEL, A_TRAINING))
    return Trick(
        5, "Show only kernels", told, "kernel only", fools, honest,
        "Measure whole steps, or speak of the kernel only.",
    )  # fmt: skip
