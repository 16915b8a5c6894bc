"""Consistency x distribution x compressor on real ranks: what a step takes, and what all of them
learn.

    python -m benchmarks.products [--ranks 1 2 4 5] [--timed 4] [--repetitions 5]

Every combination that makes sense trains the digits. On `--timed` ranks all take turns in an order
that rotates; a time is that of the slowest rank for one whole training, opening the path included,
over its steps. Shown are medians, and how wide their nonparametric 95% intervals are. On all
numbers of `--ranks` the accuracy on held-out digits is that of the worst worker. With a server one
rank does not train, so a path with servers has fewer workers on as many ranks, and where none
would be left, it does not take part.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import numpy as np

from benchmarks.combinations import COMPRESSORS, Combination, fits, sensible
from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_measure.repetitions import side_by_side
from ddl_teach import Comm, Ranks
from ddl_teach.training.compression.feedback import Feedback
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.trainer import train

RESULTS = Path(__file__).parent / "results" / "products.txt"
TASK, RULE, STEPS = Digits(batch=32, hidden=32), SGD(0.2), 20

Found = list[tuple[float, np.ndarray]]  # of each combination: accuracy, seconds of a step


def measure(comm: Comm, combinations: list[Combination], repetitions: int) -> Found:
    """Accuracy of this rank's weights (infinite where it only serves), and times."""
    ends: dict[int, float] = {}

    def training(place: int) -> None:
        result = train(comm, TASK, *combinations[place], RULE, STEPS)
        served = result.weights is None
        ends[place] = np.inf if served else TASK.accuracy(result.weights)

    contestants = {
        str(place): lambda place=place: training(place) for place in range(len(combinations))
    }
    times = side_by_side(
        contestants, repetitions=repetitions, warm_up=0, before=comm.native.barrier
    )
    return [(ends[place], times[str(place)] / STEPS) for place in range(len(combinations))]


def short(thing: object) -> str:
    """The name of a path or of a form; one with a memory is marked by a plus."""
    if isinstance(thing, Feedback):
        return f"+{short(thing.compressor)}"
    name = type(thing).__name__
    return f"{name}({thing.algorithm})" if hasattr(thing, "algorithm") else name


def with_settings(consistency: object) -> str:
    """The name of a consistency and its numbers, as it would be called."""
    settings = (getattr(consistency, field.name) for field in dataclasses.fields(consistency))
    numbers = [str(one) for one in settings if one is not None and one is not False]
    return f"{type(consistency).__name__}({', '.join(numbers)})"


def table(title: str, cells: dict[Combination, str]) -> str:
    """Consistencies and distributions down, compressors across; a dot where it makes no sense."""
    lines = [
        title,
        " " * 44 + "".join(f"{short(compressor)[:12]:>13}" for compressor in COMPRESSORS),
    ]
    for consistency, distribution in dict.fromkeys(
        (one.consistency, one.distribution) for one in cells
    ):
        row = [
            cells.get(Combination(consistency, distribution, compressor), ".")
            for compressor in COMPRESSORS
        ]
        start = f"{with_settings(consistency):<26}{short(distribution):<18}"
        lines.append(start + "".join(f"{cell:>13}" for cell in row))
    return "\n".join(lines)


def main() -> None:
    """Measure, print the tables, keep them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4, 5])
    parser.add_argument("--timed", type=int, default=4)
    parser.add_argument("--repetitions", type=int, default=5)
    chosen = parser.parse_args()
    combinations = sensible(RULE)
    accuracy = dict.fromkeys(combinations, np.inf)
    parts = [heading(describe())]
    for count in dict.fromkeys([*chosen.ranks, chosen.timed]):
        repetitions = chosen.repetitions if count == chosen.timed else 1
        own = [one for one in combinations if fits(one.distribution, count)]
        with Ranks(count) as ranks:
            run = ranks.run(
                measure, combinations=own, repetitions=repetitions, trace=False, timeout=3600
            )
        for place, one in enumerate(own):
            accuracy[one] = min(accuracy[one], *(found[place][0] for found in run.results))
        if count == chosen.timed:
            slowest = [
                interval(np.max([found[place][1] for found in run.results], axis=0))
                for place in range(len(own))
            ]
            wide = np.median([(high - low) / median for median, low, high in slowest])
            cells = {
                one: f"{1e3 * median:.2f}"
                for one, (median, _, _) in zip(own, slowest, strict=True)
            }
            parts.append(table(
                f"milliseconds of a step on {count} ranks; medians of {repetitions} trainings of "
                f"{STEPS} steps,\nwhose 95% intervals are {wide:.0%} of the median wide, half of "
                "them less",
                cells,
            ))  # fmt: skip
            print(parts[-1], flush=True)
    parts.append(table(
        f"held-out accuracy after {STEPS} steps, in percent: the worst worker on "
        f"{', '.join(map(str, chosen.ranks))} ranks",
        {one: f"{100 * share:.0f}" for one, share in accuracy.items()},
    ))  # fmt: skip
    print(parts[-1])
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
