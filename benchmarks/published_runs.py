"""Published trainings, predicted: how far one set of assumptions is from what others measured.

    python -m benchmarks.published_runs [FILE.csv] [--fit] [--keep]

Without a file, the 336 trainings of `published/runs.csv`, each with its source. The time of a step
comes from `ddl_teach.planning`; the 14 assumptions that no source gives were fitted on the runs
of FITTED_ON, fewer than a tenth (--fit does it anew), and stand in `published/assumptions.json`.
Shown are the errors by source, the worst runs with what they are made of, how often the better of
two plans for the same model and machine is picked, and where it is not. --keep writes
results/published_runs.txt and its picture.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields, replace
from operator import itemgetter
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from benchmarks.published.runs import CHANGES, TABLE, PublishedRun, named, read_runs
from benchmarks.published.step_time import FITTED, step_time
from ddl_teach.planning.step_time import Assumptions, StepTime

ASSUMED = TABLE.with_name("assumptions.json")
RESULTS = Path(__file__).parent / "results" / "published_runs.txt"
PICTURE = RESULTS.with_suffix(".png")
FITTED_ON = (
    "R0019 R0025 R0035 R0047 R0059 R0072 R0075 R0082 R0086 R0096 R0106 R0122 R0139 R0149 R0170 "
    "R0199 R0214 R0221 R0225 R0239 R0272 R0533 R0570 R0575 R0576 R0645 R0655 R0690 R0699 R0701 "
    "R0709 R0721 R0738"
).split()
NOISE = 1.02  # the same plan on days that may be compared: R0539 and R0557 are 1.1% apart
DOUBTFUL = {
    "R0544": "the grid of its row has 640 ranks, its nodes 320",
    "R0566": "1,568 samples take 113.0 s; in R0567, 2,048 by the same plan take 114.1 s",
    "R0562": "heads of 108 numbers, no multiple of 8: heads of 144 take 125 s (R0561), these 163",
    "R0596": "heads of 108 numbers, no multiple of 8: heads of 144 take 118 s (R0595), these 157",
    "R0725": "73% of the peak; no other row on an A100 has more than 67%. Is padding left out?",
    "R0727": "as R0725",
    "R0729": "as R0725",
    "R0731": "as R0725",
    "R0697": "the same network reads 3,410 images a second with MXNet on this processor",
    "R0698": "as R0697",
    "R0179": "its neighbours on 16 and 64 processors reach 55% of the peak, it 45%",
}
"""Rows that contradict themselves, their neighbours or another table, and in what."""


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


def pairs(
    runs: Sequence[PublishedRun], assumed: Assumptions
) -> list[tuple[PublishedRun, PublishedRun, float, float]]:
    """Two plans for the same model and machine, and the time of a sample by the first over that by
    the second: as measured, and as predicted.

    Pairs that lie within the noise of a repeated plan have no better one and are left out.
    """
    both = []
    for first, second in itertools.combinations(runs, 2):
        if first.arch == "cnn" or first.setting != second.setting or first.plan == second.plan:
            continue
        measured = first.seconds_a_sample / second.seconds_a_sample
        if 1 / NOISE < measured < NOISE:
            continue
        expected = [step_time(run, assumed).total / run.global_batch for run in (first, second)]
        both.append((first, second, measured, expected[0] / expected[1]))
    return both


def picked(runs: Sequence[PublishedRun], assumed: Assumptions) -> tuple[int, int]:
    """Of pairs of plans for the same model and machine: how often the better one is named."""
    right = [(measured < 1) == (expected < 1) for *_, measured, expected in pairs(runs, assumed)]
    return sum(right), len(right)


def mistaken(runs: Sequence[PublishedRun], assumed: Assumptions) -> str:
    """Which pairs are compared; those whose worse plan is named, and whether a row is doubtful."""
    compared = pairs(runs, assumed)
    if not compared:
        return "no two rows are plans for the same model and machine"
    sources = Counter(first.source.split(",")[0] for first, *_ in compared)
    ((source, most),) = sources.most_common(1)
    lines = [
        "A pair: two plans, the same model and machine, times of a sample more than "
        f"{NOISE - 1:.0%} apart.",
        f"{most} of {len(compared)} pairs are of {source}.",
        f"BLOOM's before and after {' and '.join(CHANGES)} are not compared: its notes forbid it.",
        "The worse plan is named in:",
    ]
    for first, second, measured, expected in compared:
        if (measured < 1) != (expected < 1):
            doubt = [run.name for run in (first, second) if run.name in DOUBTFUL]
            lines.append(
                f"{first.name} / {second.name}: measured {measured:.2f}, predicted {expected:.2f}"
                + "".join(f"; {name} is doubtful" for name in doubt)
            )
    return "\n".join(lines)


def summary(runs: Sequence[PublishedRun], assumed: Assumptions) -> str:
    """One line: runs, errors, pairs."""
    off = np.abs(errors(runs, assumed))
    right, compared = picked(runs, assumed)
    of_pairs = ""
    if compared:
        of_pairs = f", the better plan in {right} of {compared} pairs ({right / compared:.1%})"
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
        mistaken(kept_back, assumed),
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
