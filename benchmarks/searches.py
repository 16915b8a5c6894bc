"""Searches at one budget, ours and Optuna's; and what equal and different run times do to them.

    python -m benchmarks.searches [--seeds 11] [--repetitions 9]

First table: each search may train the digits for so many steps in all, on one worker, and all
begin with the same seeds in turn. Shown are the winner's loss on the validation part, where it was
chosen; its accuracy on the test part, which nobody saw before; in how many seeds that is above
random search's (a tie counts half); how long the winner was trained; all runs it took; and the
processor time of its own that a search takes for a job. Medians over the seeds, with their
nonparametric 95% intervals. Where nothing is pruned, TPE has too few whole trials to learn from:
its first ten are drawn at random.
Second table: the same searches on simulated workers in VIRTUAL TIME, each job as long as its
steps, or so many times as long as its trial's exponentially distributed factor says. Who begins
more trials trains each for a shorter time, and ends sooner: look at the winner's steps as well.
Third table: on real ranks that SLEEP as long as a job would take; halving's time over that of its
asynchronous form, taking turns, the median ratio with its 95% interval.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from optuna import pruners, samplers

from benchmarks.optuna_decider import OptunaDecider
from ddl_measure.interval import interval, ratio_of_turns
from ddl_measure.machine import PACKAGES, describe, heading, keep
from ddl_teach import Ranks, simulate
from ddl_teach.search import by_ranks
from ddl_teach.search.attempt import State, attempt
from ddl_teach.search.conductor import Conductor
from ddl_teach.search.decider import Decider, Job, Settings
from ddl_teach.search.deciders.asynchronous_halving import AsynchronousHalving
from ddl_teach.search.deciders.random import RandomSearch
from ddl_teach.search.deciders.successive_halving import SuccessiveHalving
from ddl_teach.search.population import PopulationPlan, train_population
from ddl_teach.search.report import SearchReport
from ddl_teach.search.space import Choice, LogUniform, Space, UniformNumber
from ddl_teach.search.training import DigitsTraining

RESULTS = Path(__file__).parent / "results" / "searches.txt"
SPACE = Space(
    {"rate": LogUniform(1e-3, 3), "momentum": UniformNumber(0, 0.95), "hidden": Choice(8, 16, 32)}
)
BUDGET, RUNGS = 2400, (10, 30, 90, 270)  # steps in all, and of a trial from rung to rung
WORKERS, STEP = 4, 0.002  # seconds of a step on real ranks
Find = tuple[float, float, int, int, float]
"""Loss and accuracy of the winner, its steps, all runs, and seconds of thinking per job."""


def _optuna(sampler: Callable, pruner: Callable) -> Callable[[int], Decider]:
    return lambda seed: OptunaDecider(SPACE, sampler, pruner, BUDGET, RUNGS, seed)


def _random(seed: int) -> samplers.BaseSampler:
    return samplers.RandomSampler(seed=seed)


def _tpe(seed: int) -> samplers.BaseSampler:
    return samplers.TPESampler(seed=seed)


DECIDERS: Mapping[str, Callable[[int], Decider]] = {
    "random": lambda seed: RandomSearch(SPACE, BUDGET // sum(RUNGS), sum(RUNGS), seed),
    "halving": lambda seed: SuccessiveHalving(SPACE, 60, 4, 3, RUNGS[0], seed),
    "asynchronous halving": lambda seed: AsynchronousHalving(SPACE, BUDGET, 4, 3, RUNGS[0], seed),
    "Optuna: random": _optuna(_random, lambda ends: pruners.NopPruner()),
    "Optuna: TPE": _optuna(_tpe, lambda ends: pruners.NopPruner()),
    "Optuna: TPE, median": _optuna(_tpe, lambda ends: pruners.MedianPruner()),
    "Optuna: random, halving": _optuna(
        _random, lambda ends: pruners.SuccessiveHalvingPruner(ends[0], 3)
    ),
    "Optuna: TPE, halving": _optuna(
        _tpe, lambda ends: pruners.SuccessiveHalvingPruner(ends[0], 3)
    ),
    "Optuna: TPE, Hyperband": _optuna(
        _tpe, lambda ends: pruners.HyperbandPruner(ends[0], ends[-1], 3)
    ),
}
PLAN = PopulationPlan(members=16, generations=10, steps=15)


def alone(decider: Decider) -> Find:
    """One search on one worker, which is this process."""
    training, thinking = DigitsTraining(), 0.0
    with Conductor(decider) as conductor:
        while not conductor.finished:
            begun = time.process_time()
            task = conductor.next(0)
            chosen = time.process_time()
            outcome = attempt(training, task.job, task.state)
            trained = time.process_time()
            conductor.done(task.job, outcome)
            thinking += time.process_time() - trained + chosen - begun
        report = conductor.report(training.test)
    return (
        report.winner.loss, report.accuracy, winners_steps(report), report.runs,
        thinking / report.runs,
    )  # fmt: skip


def winners_steps(report: SearchReport) -> int:
    """How long the best was trained."""
    own = (it for it in report.records if it.trial == report.winner.trial)
    return sum(record.steps for record in own if record.loss is not None)


def population(seed: int) -> Find:
    """A population on one simulated rank; what it thinks besides is not told apart."""
    training, plan = DigitsTraining(), replace(PLAN, seed=seed)
    family = simulate(train_population, 1, training=training, space=SPACE, plan=plan).results[0]
    settings = family.settings[-1][family.best]
    accuracy = training.test(settings, family.winner)
    runs, steps = plan.members * plan.generations, plan.generations * plan.steps
    return float(family.losses[-1].min()), accuracy, steps, runs, np.nan


def equal_budgets(seeds: int) -> str:
    """The first table."""
    contestants: dict[str, Callable[[int], Find]] = {
        name: (lambda seed, make=make: alone(make(seed))) for name, make in DECIDERS.items()
    }
    contestants["population"] = population
    found: dict[str, list[Find]] = {name: [] for name in contestants}
    for seed in range(seeds):
        for name, search in contestants.items():
            found[name].append(search(seed))
    lines = [
        f"{BUDGET:,} steps of training in all, {seeds} seeds: median and 95% interval",
        f"{'':<25}{'loss of the winner':>25}{'accuracy on the test part':>28}"
        f"{'above random':>14}{'its steps':>11}{'runs':>6}{'thinking (ms/job)':>19}",
    ]
    reference = np.array([accuracy for _, accuracy, *_ in found["random"]])
    for name, finds in found.items():
        losses, accuracies, steps, runs, thinking = np.array(finds).T
        loss, low, high = interval(losses)
        accuracy, worst, best = (100 * share for share in interval(accuracies))
        wins = (accuracies > reference).sum() + (accuracies == reference).sum() / 2
        above = "" if name == "random" else f"{wins:g} of {seeds}"
        lines.append(
            f"{name:<25}{loss:>9.3f} {f'({low:.3f} to {high:.3f})':>15}{accuracy:>11.1f}% "
            f"{f'({worst:.1f} to {best:.1f})':>15}{above:>14}"
            f"{np.median(steps):>11.0f}{np.median(runs):>6.0f}{1e3 * np.median(thinking):>19.2f}"
        )
    return "\n".join(lines)


def quick(settings: Settings, state: State | None, steps: int, seed: int) -> tuple[State, float]:
    """Stands in for a training where only time counts: what it returns costs nothing."""
    done = steps + (0 if state is None else state["done"])
    return {"done": done}, abs(np.log10(settings["rate"]) + 1) + 1 / done


@dataclass(frozen=True)
class Pace:
    """Seconds of a job: `step` for each step, all alike or by a factor of each trial's own."""

    step: float
    differ: bool
    seed: int

    def __call__(self, rank: int, job: Job) -> float:
        return self.step * job.steps * self.factor(job.trial)

    def factor(self, trial: int) -> float:
        """Exponentially distributed, one on average."""
        return random.Random(f"{self.seed} {trial}").expovariate(1.0) if self.differ else 1.0


def on_workers(name: str, differ: bool, seed: int) -> tuple[float, float, int]:
    """Virtual time of a search, in steps; the share in which workers are idle; winner's steps."""
    pace = Pace(1.0, differ, seed)
    if name == "population":
        plan = replace(PLAN, seed=seed)
        run = simulate(
            train_population, WORKERS, training=quick, space=SPACE, plan=plan,
            pace=lambda member, generation: PLAN.steps * pace.factor(member),
        )  # fmt: skip
        steps = PLAN.generations * PLAN.steps
        busy = steps * sum(map(pace.factor, range(PLAN.members)))
    else:
        run = simulate(
            by_ranks.search, WORKERS + 1, training=quick, decider=DECIDERS[name](seed), pace=pace
        )
        busy, steps = run.results[0].busy, winners_steps(run.results[0])
    return run.time, 1 - busy / run.time / WORKERS, steps


def run_times(seeds: int) -> str:
    """The second table."""
    lines = [
        f"{BUDGET:,} steps on {WORKERS} simulated workers, VIRTUAL TIME in steps, {seeds} seeds: "
        "medians, 95% intervals",
        " " * 25
        + "".join(
            f"{which:>26}{'idle':>6}{'its steps':>11}"
            for which in ("all trials as fast", "trials differ")
        ),
    ]
    for name in (*DECIDERS, "population"):
        line = f"{name:<25}"
        for differ in (False, True):
            found = [on_workers(name, differ, seed) for seed in range(seeds)]
            times, idle, steps = np.array(found).T
            middle, low, high = interval(times)
            line += f"{middle:>9.0f} {f'({low:.0f} to {high:.0f})':>16}{np.median(idle):>6.0%}"
            line += f"{np.median(steps):>11.0f}"
        lines.append(line)
    return "\n".join(lines)


def on_ranks(repetitions: int) -> str:
    """The third table."""
    makes = {
        "halving": lambda seed: SuccessiveHalving(SPACE, 27, 4, 3, 10, seed),
        "asynchronous halving": lambda seed: AsynchronousHalving(SPACE, 1080, 4, 3, 10, seed),
    }
    lines = [
        f"1,080 steps of {1e3 * STEP:g} ms on {WORKERS} real workers that SLEEP, "
        f"{repetitions} seeds in turn"
    ]
    with Ranks(WORKERS + 1) as ranks:
        for differ in (False, True):
            found: dict[str, list[tuple[float, int]]] = {name: [] for name in makes}
            for seed in range(-1, repetitions):  # the first turn warms up
                for name in [*makes][:: 1 if seed % 2 else -1]:
                    asked = {"decider": makes[name](abs(seed)), "pace": Pace(STEP, differ, seed)}
                    run = ranks.run(by_ranks.search, training=quick, trace=False, **asked)
                    found[name] += [(run.time, winners_steps(run.results[0]))] * (seed >= 0)
            times, steps = np.transpose([*found.values()])
            middle, low, high = ratio_of_turns(*times.T)
            each = ", ".join(
                f"{name} {np.median(times[:, place]):.2f} s "
                f"(its winner: {np.median(steps[:, place]):.0f} steps)"
                for place, name in enumerate(makes)
            )
            which = "trials differ" if differ else "all trials as fast"
            lines.append(f"{which:<20}{each}; ratio {middle:.2f} ({low:.2f} to {high:.2f})")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=11)
    parser.add_argument("--repetitions", type=int, default=9)
    chosen = parser.parse_args()
    parts = [heading(describe((*PACKAGES, "optuna", "scikit-learn")))]
    for table in (
        partial(run_times, chosen.seeds),
        partial(on_ranks, chosen.repetitions),
        partial(equal_budgets, chosen.seeds),
    ):
        parts.append(table())
        print(parts[-1], flush=True)
    keep(RESULTS, [parts[0], parts[3], *parts[1:3]])


if __name__ == "__main__":
    main()
