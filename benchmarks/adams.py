"""Do wrong Adams lose on a larger task? The three of unit 19 on the embedding of Python's library.

    python -m benchmarks.adams

Each is given the same rates and seeds, and the rate with the least mean loss on the files held out
is kept. Numbers depend on the version of Python, whose library is read.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ddl_class.exercises.mutants.suspects import suspects, tell
from ddl_measure.levels.training_level import rule_of
from ddl_measure.machine import describe, heading, keep
from ddl_teach.training.tasks.statements.corpus import read
from ddl_teach.training.tasks.statements.embedding import Statements

RESULTS = Path(__file__).parent / "results" / "adams.txt"
RATES, SEEDS, STEPS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3), 3, 300


def loss(candidate: Callable[..., Any], rate: float, seed: int) -> float:
    """The loss on the files held out, after so many steps."""
    task, adam = Statements(read(), batch=256, seed=seed), candidate(rate=rate)
    weights, rule = task.initial(), rule_of(adam, adam.states)
    for step in range(STEPS):
        weights = rule(weights, task.gradient(weights, 0, 1, step)[1])
    return task.loss(weights)


def main() -> None:
    """Keep a line for each Adam and rate, and which rate is the best."""
    weights = Statements(read()).initial().size
    lines = [f"{weights:,} weights, {STEPS} steps, {SEEDS} seeds; losses on the files held out"]
    for suspect in suspects("training.optimizers.adam.Adam"):
        lines.append(tell(suspect.number).splitlines()[0].partition(": ")[2])
        means = {}
        for rate in RATES:
            losses = [loss(suspect.candidate, rate, seed) for seed in range(SEEDS)]
            means[rate] = np.mean(losses)
            lines.append(" ".join([f"    rate {rate:<7g} loss", *map("{:.3f}".format, losses)]))
        best = min(means, key=lambda rate: means[rate])
        lines.append(f"    best: rate {best:g}, mean loss {means[best]:.3f}")
    keep(RESULTS, [heading(describe()), "\n".join(lines)])


if __name__ == "__main__":
    main()
