"""What can be made of several trained networks: every way, over several seeds, in one run.

    python -m benchmarks.consolidation [--seeds 20] [--members 5] [--ranks 1]

Members learn the digits on real ranks, each from a start of its own; then search.consolidation
makes one answer of them in every way. Settings (rate, steps, temperature) were looked at on the
validation part alone: the first table, all that were tried. The second is of the test part, looked
at once: medians over the seeds with nonparametric 95% intervals, and in how many seeds a way was
better than the mean member (ties count half). Votes are beside what independent errors would make
of them; the last lines are the barriers between two members before and after matching:

    w(a) = (1 - a) w0 + a w1,        barrier = max over a of  loss(w(a)) - ((1 - a) l0 + a l1)

Frankle, Dziugaite, Roy and Carbin, "Linear mode connectivity and the lottery ticket hypothesis",
ICML 2020; Ainsworth et al., "Git Re-Basin", ICLR 2023, for the barrier of losses.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.consolidated import consolidate
from benchmarks.ensembles import majority_error
from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_teach import Ranks
from ddl_teach.search.consolidation.matching import match, twin
from ddl_teach.search.training import DigitsTraining
from ddl_teach.training.tasks.digits import Digits

RESULTS = Path(__file__).parent / "results" / "consolidation.txt"
WIDTHS = ((8, 8), (32, 32), (128, 128), (128, 8))  # of members, and of student and pupil
TEMPERATURES = (1.0, 3.0, 10.0)
SHARES = (0.5, 0.9, 1.0)
LONG = 900  # seconds: nothing is timed here, and the machine may be busy


def settings_tried(ranks: Ranks, members: int, seeds: int) -> tuple[str, float, float]:
    """Students by temperature and share of the teacher on the validation part, and the best."""
    lines = [
        f"validation part, {seeds} seeds, {members} members 128 wide, students 8 wide: mean loss",
        f"{'temperature':<13}"
        + "".join(f"{f'soft {share:g}':>10}" for share in SHARES)
        + "   pupil",
    ]
    found = {}
    for temperature in TEMPERATURES:
        line = f"{temperature:<13g}"
        for soft in SHARES:
            runs = [
                ranks.run(
                    consolidate, members=members, hidden=128, student=8, seed=1000 + 100 * seed,
                    temperature=temperature, soft=soft, trace=False, timeout=LONG,
                ).results[0]
                for seed in range(seeds)
            ]  # fmt: skip
            found[temperature, soft] = float(np.mean([run["student"].loss for run in runs]))
            line += f"{found[temperature, soft]:>10.4f}"
        lines.append(f"{line}{np.mean([run['pupil'].loss for run in runs]):>8.4f}")
    best = min(found, key=found.get)
    return "\n".join(lines), *best


def judged(
    ranks: Ranks, members: int, seeds: int, width: int, student: int, taught: dict[str, float]
) -> Iterator[str]:
    """One row for each way, on the test part."""
    runs = [
        ranks.run(
            consolidate, members=members, hidden=width, student=student, seed=100 * seed,
            test=True, trace=False, timeout=LONG,
            **taught,
        ).results[0]
        for seed in range(seeds)
    ]  # fmt: skip
    yield f"test part, {seeds} seeds, {members} members {width} wide, student {student} wide"
    sure = f"{'95% interval':>19}"
    yield f"{'':<13}{'accuracy':>9}{sure}{'better':>9}{'loss':>9}{sure}"
    usual = np.array([run["members"].accuracy for run in runs])
    for name in runs[0]:
        right = np.array([run[name].accuracy for run in runs])
        middle, low, high = (100 * number for number in interval(right))
        better = np.sum(right > usual) + np.sum(right == usual) / 2
        line = f"{name:<13}{middle:>8.2f}%{low:>9.2f} to {high:.2f}%"
        line += f"{f'{better:g}/{seeds}':>9}"
        if name != "votes":
            middle, low, high = interval([run[name].loss for run in runs])
            line += f"{middle:>9.4f}{low:>9.4f} to {high:.4f}"
        yield line
    taught_by_all, by_labels = (
        np.array([run[name] for run in runs]) for name in ("student", "pupil")
    )
    middle, low, high = interval(taught_by_all[:, 1] - by_labels[:, 1])
    yield (
        f"student less pupil, seed by seed: loss {middle:+.4f} ({low:+.4f} to {high:+.4f}), lower "
        f"in {np.sum(taught_by_all[:, 1] < by_labels[:, 1])} of {seeds}"
    )
    independent = np.mean([1 - majority_error(members, 1 - one) for one in usual])
    yield f"votes, if errors were independent: {independent:.2%}"


def along(
    start: np.ndarray, other: np.ndarray, loss: Callable[[np.ndarray], float], points: int = 11
) -> tuple[np.ndarray, np.ndarray]:
    """Where on the straight line between two networks, from 0 to 1, and the loss there."""
    places = np.linspace(0, 1, points)
    return places, np.array([loss((1 - place) * start + place * other) for place in places])


def barrier(places: np.ndarray, losses: np.ndarray) -> float:
    """How high the hill is above the straight line between the losses of both ends."""
    return float(np.max(losses - ((1 - places) * losses[0] + places * losses[-1])))


def barriers(seeds: int, width: int) -> str:
    """The hill of the test loss between two members, before and after matching."""
    digits, training = Digits(hidden=width), DigitsTraining(hidden=width)
    hills = {"not matched": [], "matched": []}
    for seed in range(seeds):
        one, other = (
            training({"rate": 0.02}, None, 720, 100 * seed + number)[0]["weights"]
            for number in (0, 1)
        )
        nearer = twin(digits.network, other, match(digits.network, one, other))
        hills["not matched"].append(barrier(*along(one, other, digits.loss)))
        hills["matched"].append(barrier(*along(one, nearer, digits.loss)))
    line = f"barrier between two members, {width:>3} wide:"
    for name, found in hills.items():
        middle, low, high = interval(found)
        line += f"  {name} {middle:.3f} ({low:.3f} to {high:.3f})"
    return line


def main() -> None:
    """Measure, print the tables, keep them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=1, help="that share the members")
    chosen = parser.parse_args()
    parts = [heading({**describe(), "real ranks": f"{chosen.ranks}"})]
    with Ranks(chosen.ranks) as ranks:
        text, temperature, soft = settings_tried(ranks, chosen.members, max(1, chosen.seeds // 4))
        taught = {"temperature": temperature, "soft": soft}
        parts.append(f"{text}\ntaken: temperature {temperature:g}, soft {soft:g}")
        print(parts[-1], "\n", flush=True)
        for width, student in WIDTHS:
            rows = judged(ranks, chosen.members, chosen.seeds, width, student, taught)
            parts.append("\n".join(rows))
            print(parts[-1], "\n", flush=True)
    parts.append("\n".join(barriers(chosen.seeds, width) for width in (8, 32, 128, 512)))
    print(parts[-1], flush=True)
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
