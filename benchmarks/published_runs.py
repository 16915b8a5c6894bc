"""Published trainings, predicted: how far one set of assumptions is from what others measured.

    python -m benchmarks.published_runs [FILE.csv] [--fit] [--keep]

Without a file, the 336 trainings of `published/runs.csv`, each with its source. The time of a step
comes from `published.step_time`; the 14 assumptions that no source gives were fitted on the runs
of FITTED_ON, fewer than a tenth (--fit does it anew), and stand in `published/assumptions.json`.
Shown are the errors by source, how often the better of two plans for the same model and machine is
picked, and the worst runs with what they are made of. --keep writes results/published_runs.txt and
its picture.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields, replace
from operator import itemgetter
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from benchmarks.published.runs import TABLE, PublishedRun, named, read_runs
from benchmarks.published.step_time import FITTED, Assumptions, StepTime, step_time

ASSUMED = TABLE.with_name("assumptions.json")
RESULTS = Path(__file__).parent / "results" / "published_runs.txt"
PICTURE = RESULTS.with_suffix(".png")
FITTED_ON = (
    "R0019 R0025 R0035 R0047 R0059 R0072 R0075 R0082 R0086 R0096 R0106 R0122 R0139 R0149 R0170 "
    "R0199 R0214 R0221 R0225 R0239 R0272 R0533 R0570 R0575 R0576 R0645 R0655 R0690 R0699 R0701 "
    "R0709 R0721 R0738"
).split()
NOISE = 1.06  # the same plan on other days: R0553 and R0570, R0554 and R0567 are 6% apart
DOUBTFUL = {
    "R0544": "the grid of its row has 640 ranks, its nodes 320",
    "R0566": "1,568 samples take as long as 2,016 in the row after the next",
    "R0562": "heads of 108 numbers, no multiple of 8, run on slow kernels",
    "R0596": "heads of 108 numbers, no multiple of 8, run on slow kernels",
    "R0725": "73% of the peak at sequences of 512: padding must have been left out of the work",
    "R0727": "as R0725",
    "R0729": "as R0725",
    "R0731": "as R0725",
    "R0697": "the same network reads 3,410 images a second with MXNet on this processor",
    "R0698": "as R0697",
    "R0179": "its neighbours on 16 and 64 processors reach 55% of the peak, it 45%",
}
"""Runs that no set of assumptions can meet beside their neighbours, and why."""


def errors(runs: Iterable[PublishedRun], assumed: Assumptions) -> np.ndarray:
    """Relative errors of the predicted steps."""
    return np.array([step_time(run, assumed).total / run.seconds - 1 for run in runs])


def fit(runs: Sequence[PublishedRun]) -> Assumptions:
    """The assumptions that come closest to these runs; a few of them cannot pull far."""
    start = Assumptions()
    first = np.log([getattr(start, name) for name in FITTED])

    def with_values(logarithms: np.ndarray) -> Assumptions:
        return replace(start, **dict(zip(FITTED, np.exp(logarithms).tolist(), strict=True)))

    def residuals(logarithms: np.ndarray) -> np.ndarray:
        off = np.log1p(errors(runs, with_values(logarithms)))
        return np.concatenate([off, 0.02 * (logarithms - first)])

    shares = {field.name for field in fields(start) if getattr(start, field.name) < 1}
    most = [math.log(1.0 if name in shares else 1e12) for name in FITTED]
    found = least_squares(residuals, first, bounds=(-np.inf, most), loss="soft_l1", f_scale=0.1)
    return with_values(found.x)


def picked(runs: Sequence[PublishedRun], assumed: Assumptions) -> tuple[int, int]:
    """Of pairs of plans for the same model and machine: how often the better one is named.

    Pairs that lie within the noise of a repeated plan have no better one.
    """
    right = pairs = 0
    for one, other in itertools.combinations(runs, 2):
        if one.arch == "cnn" or one.setting != other.setting or one.plan == other.plan:
            continue
        measured = one.seconds_a_sample / other.seconds_a_sample
        if 1 / NOISE < measured < NOISE:
            continue
        expected = [step_time(run, assumed).total / run.global_batch for run in (one, other)]
        pairs += 1
        right += (measured < 1) == (expected[0] < expected[1])
    return right, pairs


def summary(runs: Sequence[PublishedRun], assumed: Assumptions) -> str:
    """One line: runs, errors, pairs."""
    off = np.abs(errors(runs, assumed))
    right, pairs = picked(runs, assumed)
    of_pairs = f", the better plan in {right} of {pairs} pairs" if pairs else ""
    return (
        f"{len(runs)} runs: median error {np.median(off):.1%}, {np.mean(off <= 0.25):.1%} of them "
        f"within 25%{of_pairs}"
    )


def by_source(runs: Sequence[PublishedRun], assumed: Assumptions) -> str:
    """A row for each source: how many runs, the median error, the mean, the worst."""
    lines = [f"{'source':<62}{'runs':>5}{'median':>8}{'mean':>8}{'worst':>8}"]
    of_source: dict[tuple[str, str, str], list[PublishedRun]] = defaultdict(list)
    for run in runs:
        of_source[run.source.split(",")[0][:40], run.gpu, run.precision].append(run)
    for (source, gpu, precision), own in sorted(of_source.items(), key=itemgetter(0)):
        off = errors(own, assumed)
        worst = off[np.abs(off).argmax()]
        lines.append(
            f"{f'{source}, {gpu}, {precision}':<62}{len(own):>5}{np.median(np.abs(off)):>8.1%}"
            f"{off.mean():>+8.1%}{worst:>+8.0%}"
        )
    return "\n".join(lines)


def worst(runs: Sequence[PublishedRun], assumed: Assumptions, count: int = 15) -> str:
    """The runs that are predicted worst, with the reason, or with what their step is made of; and
    all that are doubtful."""
    off = errors(runs, assumed)
    lines = []
    for rank, place in enumerate(np.argsort(-np.abs(off))):
        run = runs[place]
        if rank >= count and run.name not in DOUBTFUL:
            continue
        why = DOUBTFUL.get(run.name) or made_of(step_time(run, assumed))
        lines.append(
            f"{run.name} {off[place]:+.0%} {run.model}, {run.processors:.0f} {run.gpu}, "
            f"{run.precision}: {why}"
        )
    return "\n".join(lines)


def made_of(parts: StepTime) -> str:
    """The three largest parts of a predicted step."""
    shares = {name.replace("_", " "): part / parts.total for name, part in asdict(parts).items()}
    largest = sorted(shares, key=lambda name: -shares[name])[:3]
    return "made of " + ", ".join(f"{name} {shares[name]:.0%}" for name in largest)


def report(runs: Sequence[PublishedRun], assumed: Assumptions) -> str:
    """Everything that is shown."""
    kept_back = [run for run in runs if run.name not in FITTED_ON]
    sound = [run for run in kept_back if run.name not in DOUBTFUL]
    return "\n\n".join([
        "predicted / measured time of a step, minus 1",
        "all                  " + summary(runs, assumed) + "\n"
        "not fitted on        " + summary(kept_back, assumed) + "\n"
        "and not doubtful     " + summary(sound, assumed),
        by_source(kept_back, assumed),
        worst(kept_back, assumed),
    ])  # fmt: skip


def draw(runs: Sequence[PublishedRun], assumed: Assumptions, path: Path) -> None:
    """Predicted against measured, a mark a run, with the band of 25%."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 5.5), layout="constrained")
    kinds = sorted({run.kind for run in runs})
    for kind, marker in zip(kinds, "osD^v", strict=False):
        own = [run for run in runs if run.kind == kind]
        axes.loglog(
            [run.seconds for run in own], [step_time(run, assumed).total for run in own], marker,
            markersize=4, alpha=0.7, label=f"{kind}, {len(own)} runs",
        )  # fmt: skip
    ends = np.array(
        [min(run.seconds for run in runs) / 1.5, max(run.seconds for run in runs) * 1.5]
    )
    axes.plot(ends, ends, color="0.3", linewidth=1)
    axes.fill_between(ends, 0.75 * ends, 1.25 * ends, color="0.85", label="within 25%")
    axes.set(xlabel="seconds a step, published", ylabel="seconds a step, predicted")
    axes.set_title(summary(runs, assumed).replace(", the", "\nthe"), fontsize=10)
    axes.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Predict, print, keep."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.published_runs", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("file", nargs="?", type=Path, default=TABLE, metavar="FILE.csv")
    parser.add_argument("--fit", action="store_true", help="fit the assumptions anew")
    parser.add_argument("--keep", action="store_true", help="keep the report and its picture")
    options = parser.parse_args()
    if options.fit:
        assumed = fit(named(read_runs(), FITTED_ON))
        ASSUMED.write_text(json.dumps(asdict(assumed), indent=1) + "\n")
    try:
        runs = read_runs(options.file)
    except (OSError, ValueError, KeyError) as error:
        parser.error(f"{options.file} cannot be read as a table of runs: {error}")
    text = report(runs, assumptions())
    print(text)
    if options.keep:
        RESULTS.write_text(text + "\n")
        draw(runs, assumptions(), PICTURE)


def assumptions() -> Assumptions:
    """The fitted ones."""
    return Assumptions(**json.loads(ASSUMED.read_text()))


if __name__ == "__main__":
    main()
