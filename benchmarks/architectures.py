"""Architectures: three searches and chance at one budget, and what shared weights are worth.

    python -m benchmarks.architectures [--seeds 6] [--trials 40] [--steps 60] [--ranks 3]

All searches may train for trials x steps steps, on real ranks; with a bound of two trials ahead
they are the same on any number of them. Weight sharing spends half of that on the shared network,
scores 200 genotypes with it and trains the best of them alone with the rest. The winner of each
search is then trained again from three other seeds: its error then is what it is worth, and the
test part is looked at only there. Medians over the seeds with nonparametric 95% intervals. What
evolution and controller are set to was looked at with shared weights as scores, on seeds 0 to 7.
Second: the same evolution with an error that pays for the predicted seconds of a step. Third:
fronts of all that was trained. Fourth: rank correlations of cheaper scores with training alone.
The last line counts every run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ddl_measure.experiments.architectures import (
    PlannedJob,
    StepCosts,
    costs,
    step_seconds,
)
from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_teach import Comm, Ranks
from ddl_teach.search.architectures.agreement import kendall_interval
from ddl_teach.search.architectures.cells import CELLS, Genotype, text
from ddl_teach.search.architectures.evolution import Evolution
from ddl_teach.search.architectures.front import undominated
from ddl_teach.search.architectures.reinforce import Reinforce
from ddl_teach.search.architectures.shared import SharedTask
from ddl_teach.search.architectures.train_cells import CellTraining, Priced
from ddl_teach.search.by_ranks import search
from ddl_teach.search.decider import Decider
from ddl_teach.search.deciders.random import RandomSearch
from ddl_teach.search.training import advanced
from ddl_teach.training.optimizers.momentum import Momentum

RESULTS = Path(__file__).parent / "results" / "architectures.txt"
DECIDERS: dict[str, Callable[..., Decider]] = {
    "random": RandomSearch,
    "evolution": lambda *plan: Evolution(*plan, ahead=2),
    "controller": lambda *plan: Reinforce(*plan, ahead=2),
}
TRAINING, SCALING = CellTraining(), PlannedJob()
PRICED = Priced(TRAINING, step_seconds)
SHARED_RATE, SCORED = 0.02, 200
AGAIN = (1001, 1002, 1003)  # seeds that no search has used
COMPARED = 40  # genotypes whose scores are correlated

Runs = list[tuple[Genotype, int, int]]  # each with a seed and its steps


class Trained(NamedTuple):
    """A genotype trained alone: errors on the validation part and on the test part."""

    error: float
    tested: float


class Counted:
    """Ranks that train, and every run and step of them."""

    def __init__(self, pool: Ranks) -> None:
        self._pool = pool
        self.runs = self.steps = 0

    def search(self, training: Any, decider: Decider) -> list[tuple[float, int, Genotype]]:
        """Loss, trial and genotype of all trials."""
        asked = {"training": training, "decider": decider}
        report = self._pool.run(search, **asked, timeout=7200, trace=False).results[0]
        self.runs += report.runs
        self.steps += report.progress.steps
        return [(it.loss, it.trial, it.settings) for it in report.records if it.loss is not None]

    def train(self, runs: Runs) -> list[Trained]:
        """All of them, each alone."""
        results = self._pool.run(trained, runs=runs, timeout=7200, trace=False).results
        self.runs += len(runs)
        self.steps += sum(steps for *_, steps in runs)
        return [results[place % len(results)][place // len(results)] for place in range(len(runs))]

    def share(self, steps: Sequence[int], seed: int) -> list[np.ndarray]:
        """Shared weights after so many steps each, of one training."""
        task, rule, state, found = SharedTask(seed=seed), Momentum(SHARED_RATE), None, []
        for more in np.diff([0, *steps]):
            state = advanced(task, rule, state, more)
            found.append(state["weights"])
        self.runs += 1
        self.steps += steps[-1]
        return found


def trained(comm: Comm, runs: Runs) -> list[Trained]:
    """This rank's share of the runs."""
    found = []
    for genotype, seed, steps in runs[comm.rank :: comm.size]:
        state, error = TRAINING(genotype, None, steps, seed)
        found.append(Trained(error, 1 - TRAINING.test(genotype, state)))
    return found


def by_shared_weights(
    counted: Counted, trials: int, steps: int, seed: int
) -> list[tuple[float, int, Genotype]]:
    """Half of the budget for the shared network, half for the best of those it scores."""
    [weights] = counted.share([trials * steps // 2], seed)
    task = SharedTask()
    drawn = [CELLS.sample(seed + 500, number) for number in range(SCORED)]
    distinct = list({text(genotype): genotype for genotype in drawn}.values())
    best = sorted(distinct, key=lambda genotype: task.error(weights, genotype))[: trials // 2]
    found = counted.train([(genotype, seed, steps) for genotype in best])
    return [(one.error, place, best[place]) for place, one in enumerate(found)]


def again(counted: Counted, winners: list[Genotype], steps: int) -> tuple[list[float], ...]:
    """Mean errors of each winner from other seeds: on the validation part and on the test part."""
    runs = [(winner, seed, steps) for winner in winners for seed in AGAIN]
    errors = np.array(counted.train(runs)).reshape(len(winners), len(AGAIN), 2).mean(axis=1)
    return list(errors[:, 0]), list(errors[:, 1])


def middle(numbers: Sequence[float], factor: float = 1.0, digits: int = 1) -> str:
    """A median with its interval."""
    return "{:.{d}f} ({:.{d}f} to {:.{d}f})".format(
        *(factor * one for one in interval(numbers)), d=digits
    )


@cache
def _of_text(items: tuple[tuple[str, str], ...]) -> StepCosts:
    return costs(dict(items), SCALING)


def price(genotype: Genotype) -> StepCosts:
    """What a genotype costs, counted once."""
    return _of_text(tuple(sorted(genotype.items())))


def main() -> None:
    """Search, compare, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("seeds", 6), ("trials", 40), ("steps", 60), ("ranks", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    with Ranks(chosen.ranks) as pool:
        counted = Counted(pool)
        parts = [heading(describe())]
        for part in (_searches, _agreement):
            parts += part(counted, chosen)
            print(*parts[-3:], sep="\n\n", flush=True)
    parts.append(
        f"all of this took {counted.runs:,} trainings and {counted.steps:,} steps, those that "
        "were no use among them"
    )
    keep(RESULTS, parts)


def _searches(counted: Counted, chosen: argparse.Namespace) -> list[str]:
    budget = chosen.trials * chosen.steps
    lines = [
        f"errors in percent; {chosen.seeds} seeds, {budget:,} steps of training for each search",
        f"{'search':<18}{'seen by the search':>22}{'trained again':>22}{'test part':>22}",
    ]
    priced = ["", f"{'evolution by':<18}{'million operations':>20}{'kB of weights':>22}"
              f"{'us of a step':>26}{'efficiency in percent':>24}"]  # fmt: skip
    everything: list[tuple[float, int, Genotype]] = []
    for name in (*DECIDERS, "shared weights", "priced evolution"):
        winners, seen = [], []
        for seed in range(chosen.seeds):
            plan = CELLS, chosen.trials, chosen.steps, seed
            if name == "shared weights":
                trials = by_shared_weights(counted, *plan[1:])
            else:
                training = PRICED if name == "priced evolution" else TRAINING
                trials = counted.search(training, DECIDERS[name.split()[-1]](*plan))
            loss, _, winner = min(trials, key=lambda trial: trial[:2])
            if name == "priced evolution":
                loss /= (price(winner).seconds / PRICED.target) ** PRICED.power
            elif seed == 0:
                everything += trials
            winners.append(winner)
            seen.append(loss)
        errors, tested = again(counted, winners, chosen.steps)
        three = (middle(one, 100) for one in (seen, errors, tested))
        lines.append(f"{name:<18}" + "".join(f"{one:>22}" for one in three))
        print(lines[-1], flush=True)
        if name.endswith("evolution"):
            found = [price(winner) for winner in winners]
            columns = [
                ([one.work for one in found], 1e-6, 20), ([one.nbytes for one in found], 1e-3, 22),
                ([one.seconds for one in found], 1e6, 26),
                ([one.efficiency for one in found], 100, 24),
            ]  # fmt: skip
            by = "priced error" if name.startswith("priced") else "error alone"
            row = (f"{middle(numbers, factor):>{width}}" for numbers, factor, width in columns)
            priced.append(f"{by:<18}" + "".join(row))
    priced[0] = (
        f"winners of both evolutions, a step of {SCALING.ranks} ranks with {SCALING.samples} "
        f"samples each as predicted:\n{SCALING.flops:.0e} operations a second, "
        f"{1e6 * SCALING.link.latency:.0f} us for a message and "
        f"{SCALING.link.bandwidth / 1e6:.0f} MB/s"
    )
    return ["\n".join(lines), "\n".join(priced), _fronts(everything)]


def _fronts(trials: list[tuple[float, int, Genotype]]) -> str:
    unlike = list({text(genotype): (loss, genotype) for loss, _, genotype in trials}.values())
    found = [(loss, price(genotype), text(genotype)) for loss, genotype in unlike]
    rows = [(loss, it.seconds, it.work, it.depth) for loss, it, _ in found]
    counts = [len(undominated(np.array(rows)[:, :prices])) for prices in (2, 3, 4)]
    lines = [
        f"of {len(rows)} networks that the first seed's searches trained {counts[0]} are on the "
        f"front of errors and predicted\nseconds, {counts[1]} with work, {counts[2]} with work "
        "and depth as well. The first of these:",
        f"{'errors':>8}{'step':>10}{'operations':>14}{'depth':>8}{'weights':>10}{'efficient':>11}"
        "   cell",
    ]
    for place in sorted(undominated(np.array(rows)[:, :2]), key=lambda one: rows[one][1]):
        loss, it, about = found[place]
        lines.append(
            f"{loss:>8.1%}{1e6 * it.seconds:>7.0f} us{it.work:>14,}{it.depth:>8}"
            f"{it.nbytes / 1e3:>7.1f} kB{it.efficiency:>11.0%}   {about}"
        )
    return "\n".join(lines)


def _agreement(counted: Counted, chosen: argparse.Namespace) -> list[str]:
    genotypes = [CELLS.sample(900, number) for number in range(COMPARED)]
    alone, other = (
        np.array(counted.train([(it, seed, chosen.steps) for it in genotypes]))[:, 0]
        for seed in (901, 902)
    )
    scores = {f"alone, {chosen.steps} steps, another seed": (COMPARED * chosen.steps, other)}
    for steps in (chosen.steps // 4, chosen.steps // 2):
        found = counted.train([(it, 903, steps) for it in genotypes])
        scores[f"alone, {steps} steps"] = COMPARED * steps, np.array(found)[:, 0]
    shared_steps = [COMPARED * chosen.steps // part for part in (8, 4, 2)]
    task = SharedTask()
    for steps, weights in zip(shared_steps, counted.share(shared_steps, 904), strict=True):
        errors = np.array([task.error(weights, it) for it in genotypes])
        scores[f"shared weights, {steps:,} steps"] = steps, errors
    best = np.argsort(alone + other, kind="stable")[: COMPARED // 3]
    lines = [
        f"Kendall's tau with the errors of {COMPARED} genotypes trained alone for {chosen.steps} "
        "steps, and its 95% interval;\nthe best by the sum of both such trainings, which makes "
        "just these two agree less",
        f"{'score':<34}{'steps it took':>14}{'all':>24}{f'the best {len(best)}':>24}",
    ]
    for name, (steps, errors) in scores.items():
        both = (kendall_interval(errors[it], alone[it]) for it in (slice(None), best))
        cells = (f"{'{:.2f} ({:.2f} to {:.2f})'.format(*tau):>24}" for tau in both)
        lines.append(f"{name:<34}{steps:>14,}" + "".join(cells))
    return ["\n".join(lines)]


if __name__ == "__main__":
    main()
