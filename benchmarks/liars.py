"""How many of eight workers may lie: each rule of `distribution.robust` with each lie.

    python -m benchmarks.liars [--workers 8] [--rounds 24] [--seeds 3]

The digits, local SGD in rounds of 8 steps with an outer momentum of 0.5 (`BlockMomentum`), and the
last few workers lie about every change. Each cell is the held-out accuracy in percent, mean over
the seeds, at the best of the same four rates for each cell; the rate is chosen by other pictures
(`Digits(validation=True)`) and one seed more. A cell says "lost" if one of its seeds diverged.
One process does what `Robust` does on ranks; a test compares the two. Each rule is told how many
lie, as it is in the papers, up to the most that it bears. The last table is without liars, once
with a mix of digits for each worker, once with a few digits for each (`skewed`).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from ddl_measure.machine import describe, heading, keep
from ddl_teach.theory.byzantine import most_liars
from ddl_teach.training.distribution.robust import Lie
from ddl_teach.training.distribution.robust_rules import RULES
from ddl_teach.training.tasks.digits import Digits

RESULTS = Path(__file__).parent / "results" / "liars.txt"


def flipped(rows: np.ndarray, liars: int) -> np.ndarray:
    """Each liar sends the opposite of its own vector."""
    return -rows[-liars:]


def huge(rows: np.ndarray, liars: int) -> np.ndarray:
    """The opposite, a hundred times as long."""
    return -100 * rows[-liars:]


def little(rows: np.ndarray, liars: int) -> np.ndarray:
    """A small bias: in each coordinate one and a half standard deviations of the honest ones from
    their mean, all to one side, and so among them (Baruch, Baruch and Goldberg 2019)."""
    honest = rows[:-liars]
    return np.tile(honest.mean(axis=0) - 1.5 * honest.std(axis=0), (liars, 1))


LIES: dict[str, Lie] = {"opposite": flipped, "100 times opposite": huge, "small bias": little}
RATES = (0.03, 0.1, 0.3, 0.9)


def trained(
    task: Digits, workers: int, rule: str, lie: Lie | None, liars: int, rate: float, rounds: int,
    period: int = 8, momentum: float = 0.5,
) -> np.ndarray:  # fmt: skip
    """The weights after so many rounds; NaN where the training has diverged."""
    agreed = task.initial()
    velocity, last = np.zeros_like(agreed), np.zeros_like(agreed)
    expected = min(liars, most_liars(rule, workers)) if rule != "mean" else 0
    for done in range(rounds):
        rows = []
        for worker in range(workers):
            weights = agreed.copy()
            for step in range(done * period, (done + 1) * period):
                weights -= rate * task.gradient(weights, worker, workers, step)[1]
            rows.append(weights - agreed)
        sent = np.stack(rows)
        if lie is not None and liars:
            sent[-liars:] = lie(sent, liars)
        last = RULES[rule](sent, expected, last)
        velocity = momentum * velocity + last
        agreed = agreed + velocity
        if not np.abs(agreed).max() < 1e4:
            return np.full_like(agreed, np.nan)
    return agreed


def accuracy(chosen: argparse.Namespace, skewed: bool, *setting: object) -> str:
    """In percent, at the rate that is best on the validation part; or "lost"."""

    def of(rate: float, seed: int, validation: bool) -> float:
        task = Digits(8, 16, seed, skewed=skewed, validation=validation)
        weights = trained(task, chosen.workers, *setting, rate, chosen.rounds)
        return -1.0 if np.isnan(weights).any() else task.accuracy(weights)

    best = max(RATES, key=lambda rate: of(rate, 100, True))
    results = [of(best, seed, False) for seed in range(chosen.seeds)]
    return "lost" if min(results) < 0 else f"{100 * np.mean(results):.1f}"


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    parts = [heading(describe())]
    counts = range(chosen.workers // 2)
    for name, lie in LIES.items():
        lines = [f"{name}, {chosen.workers} workers, accuracy in percent by the number of liars"]
        lines.append(f"{'rule':<20}" + "".join(f"{liars:>8}" for liars in counts))
        for rule in RULES:
            cells = [accuracy(chosen, False, rule, lie, liars) for liars in counts]
            lines.append(f"{rule:<20}" + "".join(f"{cell:>8}" for cell in cells))
            print(name, lines[-1], flush=True)
        parts.append("\n".join(lines))
    lines = ["no liars, accuracy in percent", f"{'rule':<20}{'alike':>8}{'skewed':>8}"]
    for rule in RULES:
        cells = [accuracy(chosen, skewed, rule, None, 2 * skewed) for skewed in (False, True)]
        lines.append(f"{rule:<20}" + "".join(f"{cell:>8}" for cell in cells))
    parts.append("\n".join(lines))
    print(parts[-1])
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
