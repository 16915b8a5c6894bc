"""The rate at which the whole product learns, chosen without the pictures it is asked about later.

    python -m benchmarks.catalogue [--ranks 4] [--rates 0.1 0.2 0.4]

One rate must do for every consistency with every distribution, the compressors taking turns, on
simulated ranks. Each training is judged by a part of the pictures to learn from
(`Digits(validation=True)`), by its worst worker. The rate whose worst training is best is chosen,
and only then all train once more, at that rate, and are asked about the held-out digits. What to
look at: a larger rate is better for most, and loses some.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.combinations import every_pair, sensible
from benchmarks.products import STEPS, TASK
from ddl_measure.machine import describe, heading, keep
from ddl_teach import simulate
from ddl_teach.comm import TwoLevel
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.trainer import train

RESULTS = Path(__file__).parent / "results" / "catalogue.txt"


def accuracies(task: Digits, rate: float, ranks: int) -> np.ndarray:
    """Of every consistency with every distribution, that of the worst worker."""
    found = []
    for one in every_pair(sensible(SGD(rate))):
        run = simulate(
            train, ranks, network=TwoLevel(ranks), trace=False, task=task,
            consistency=one.consistency,
            distribution=one.distribution, compressor=one.compressor, update=SGD(rate),
            steps=STEPS,
        )  # fmt: skip
        workers = [result.weights for result in run.results if result.weights is not None]
        found.append(min(task.accuracy(weights) for weights in workers))
    return np.array(found)


def line(name: str, found: np.ndarray) -> str:
    """The worst training, the one in the middle, and how many get less than half right."""
    return f"{name:<24}{found.min():>8.1%}{np.median(found):>8.1%}{np.sum(found < 0.5):>12}"


def main() -> None:
    """Choose on the validation part, report the held-out part once."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.1, 0.2, 0.4])
    chosen = parser.parse_args()
    unseen = Digits(batch=TASK.batch, hidden=TASK.hidden, validation=True)
    tried = {rate: accuracies(unseen, rate, chosen.ranks) for rate in chosen.rates}
    best = max(tried, key=lambda rate: tried[rate].min())
    lines = [
        f"{len(tried[best])} combinations, {STEPS} steps, {chosen.ranks} simulated ranks",
        f"{'':<24}{'worst':>8}{'median':>8}{'below half':>12}",
        *(line(f"validation, rate {rate:g}", found) for rate, found in tried.items()),
        line(f"held out, rate {best:g}", accuracies(TASK, best, chosen.ranks)),
    ]
    print(*lines, sep="\n")
    keep(RESULTS, [heading(describe()), "\n".join(lines)])


if __name__ == "__main__":
    main()
