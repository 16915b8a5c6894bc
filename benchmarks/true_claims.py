"""What may be said of the measurements behind the twelve ways: numbers that follow from them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ddl_measure.reports.cases import find
from ddl_measure.reports.numbers import good_ratio
from ddl_measure.reports.report import A_TRAINING, HELD_OUT, Claim, Entry, Report, Series

ONE, EIGHT = "weak, 1 ranks", "weak, 8 ranks"


def claims(report: Report) -> Iterator[Claim]:
    """A sentence for each group of entries."""
    entries = {entry.name: entry for entry in report.entries}

    def compared(about, quantity, of, names, baseline, kind, summary="medians", **more):
        one, other = entries[names[-1]], entries[baseline]
        number = ratio(series(one, quantity, of), series(other, quantity, of), summary)
        if about == "training":
            lost = right(one) - right(other)
            more |= {"accuracy_change": round(lost, 4)} if lost < 0 else {}
        said = f"{names[-1]}: {number:g} times {baseline}, in {quantity} of {of}."
        return Claim(said, about, quantity, of, number, summary, names, baseline, kind, **more)

    def trained(names, baseline, kind, **more):
        return compared("training", "seconds", A_TRAINING, names, baseline, kind, **more)

    weak = tuple(f"weak, {ranks} ranks" for ranks in (2, 4, 8))
    strong = tuple(f"strong, {ranks} ranks" for ranks in (2, 4, 8))
    yield compared(
        "training", "samples a second", A_TRAINING, weak, ONE, "one rank", scaling="weak"
    )
    yield trained(strong, ONE, "one rank", scaling="strong")
    yield trained(("side 8, 8 ranks",), "side 8, 1 ranks", "one rank", scaling="strong")
    for age in ("old", "new"):
        eight = f"8 bytes, {age} accelerators"
        yield trained((f"4 bytes, {age} accelerators",), eight, "previous version")
    yield trained(("average now and then",), "average at every step", "best known")
    best = right(entries["rate searched"])
    said = f"The rate that was searched: {100 * best:.1f}% of pictures held out are recognised."
    yield Claim(said, "training", "accuracy", A_TRAINING, best, "medians", ("rate searched",))
    steps = ("step in float32",), "step in float64"
    yield compared("training", "seconds", "a step", *steps, "best known", "paired ratios")
    pairs = [("product, factors", "product, whole", "an operator")]
    pairs += [(f"all-reduce, {name}", "all-reduce, native", "communication")
              for name in ("linear", "ring")]  # fmt: skip
    for name, baseline, about in pairs:
        yield compared(
            about, "seconds", "a call", (name,), baseline, "best known", "paired ratios"
        )


def series(entry: Entry, quantity: str, of: str) -> Series:
    """The one that is meant."""
    return next(it for it in find(entry, quantity) if it.of == of)


def right(entry: Entry) -> float:
    """The median accuracy on data held out, at the end."""
    ends = (it for it in find(entry, "accuracy") if it.of == A_TRAINING)
    return float(np.median(next(it.values for it in ends if it.split == HELD_OUT)))


def ratio(one: Series, other: Series, summary: str) -> float:
    """How many times as good, in three digits; 1 where no difference can be seen."""
    middle, low, high = good_ratio(one, other, summary)
    return 1.0 if low <= 1 <= high else float(f"{middle:.3g}")
