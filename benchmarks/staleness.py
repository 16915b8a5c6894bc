"""Who waits, how old gradients get, how large a step they bear: formula, simulation, real ranks.

    python -m benchmarks.staleness [--repetitions 5]

Three tables. The largest stable step against staleness: by the closed formula, by simulated ranks
of equal pace, and measured on real ranks, beside what the histogram of their ages predicts. The
ages themselves, for workers that sleep through their gradients alike and with one five times
slower. The time of a step with such a straggler, of the workers that are not slow: 256 simulated
ones, and three real ones. Shown are medians with nonparametric 95% intervals.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_teach import Ranks, Run, simulate
from ddl_teach.comm import TwoLevel
from ddl_teach.theory.staleness import stable_rate, stable_step
from ddl_teach.theory.stragglers import bounded_time
from ddl_teach.training.consistency.asynchronous import Asynchronous
from ddl_teach.training.consistency.consistency import Consistency
from ddl_teach.training.consistency.hogwild import Hogwild
from ddl_teach.training.consistency.stale_synchronous import StaleSynchronous
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.server import Server
from ddl_teach.training.distribution.shared_vector import SharedVector
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.stability import stable_limit
from ddl_teach.training.tasks.paces import Even, OneSlow
from ddl_teach.training.tasks.quadratic import Quadratic
from ddl_teach.training.trainer import train

RESULTS = Path(__file__).parent / "results" / "staleness.txt"
PAUSE, TIMES = 2e-3, 5.0  # seconds of a gradient, and how much slower the straggler is
LOCK_FREE = {"when": Hogwild(), "path": SharedVector(), "pace": Even(PAUSE), "trace": False}
BOWL = {"task": Quadratic(), "path": Server(), "update": SGD(1e-3), "trace": False}
BOUNDS: dict[str, tuple[Consistency, float]] = {
    "synchronous": (Synchronous(), 0),
    "bound 2": (StaleSynchronous(2), 2),
    "bound 8": (StaleSynchronous(8), 8),
    "asynchronous": (Asynchronous(), np.inf),
}


def limits(ranks: Ranks, repetitions: int) -> Iterator[str]:
    """The largest stable step of lock-free workers."""
    yield "largest stable step, rate x curvature, of lock-free workers"
    yield f"{'workers':>7}{'formula':>10}{'simulated':>11}{'real':>8}{'95% interval':>20}" + (
        f"{'mean age':>10}{'by their ages':>15}"
    )
    for workers in (1, 2, 3, 4, 8, 16, 32):
        network = TwoLevel(workers)
        simulated = simulate(stable_limit, workers, network=network, steps=40, **LOCK_FREE)
        line = f"{workers:>7}{stable_rate(workers - 1):>10.4f}{simulated.results[0].rate:>11.4f}"
        if workers <= ranks.size:
            found = [
                ranks.run(stable_limit, workers, steps=40, **LOCK_FREE).results[0]
                for _ in range(repetitions)
            ]
            ages = np.concatenate([limit.ages for limit in found])
            middle, low, high = interval([limit.rate for limit in found])
            predicted = stable_step(np.bincount(ages) / len(ages))
            line += (
                f"{middle:>8.3f}{low:>10.3f} to {high:.3f}{ages.mean():>10.2f}{predicted:>15.3f}"
            )
        yield line.rstrip()


def ages(ranks: Ranks) -> Iterator[str]:
    """How old the gradients of three real workers are when a server applies them."""
    yield "age of gradients, three real workers: share of each age, and the last one"
    slow = OneSlow(PAUSE, TIMES, worker=2)
    for name, consistency, pace in (
        ("asynchronous, even", Asynchronous(), Even(PAUSE)),
        ("asynchronous, one slow", Asynchronous(), slow),
        ("bound 2, one slow", StaleSynchronous(2), slow),
    ):
        run = ranks.run(train, 4, consistency=consistency, pace=pace, steps=200, **BOWL)
        counts = np.bincount(run.results[0].report.staleness)
        shares = " ".join(f"{share:6.1%}" for share in counts / counts.sum())
        yield f"{name:<24}{shares}"


def paces(ranks: Ranks, repetitions: int) -> Iterator[str]:
    """What a step takes beside a straggler, in gradients of a worker that is not slow."""
    yield f"time of 30 steps in fast gradients, one worker {TIMES:g} times slower"
    yield f"{'':<16}{'formula':>9}{'256 simulated':>15}{'3 real':>9}{'95% interval':>20}"
    given = {"steps": 30, "pace": OneSlow(PAUSE, TIMES), **BOWL}

    def fast(run: Run) -> float:
        return float(np.median([worker.seconds[-1] for worker in run.results[2:]])) / PAUSE

    for name, (consistency, bound) in BOUNDS.items():
        formula = 30.0 if bound == np.inf else bounded_time(30, int(bound), 1.0, TIMES)
        simulated = fast(simulate(train, 257, consistency=consistency, **given))
        real = [
            fast(ranks.run(train, 4, consistency=consistency, **given)) for _ in range(repetitions)
        ]
        middle, low, high = interval(real)
        line = f"{name:<16}{formula:>9.1f}{simulated:>15.1f}{middle:>9.1f}"
        yield f"{line}{low:>12.1f} to {high:.1f}"


def main() -> None:
    """Measure, print the tables, keep them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=5)
    repetitions = parser.parse_args().repetitions
    parts = [heading(describe())]
    with Ranks(4) as ranks:
        for lines in (limits(ranks, repetitions), ages(ranks), paces(ranks, repetitions)):
            parts.append("\n".join(lines))
            print(parts[-1], "\n", flush=True)
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
