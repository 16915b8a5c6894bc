"""Gossip beside a straggler: synchronous (D-PSGD) and asynchronous (AD-PSGD), side by side.

    python -m benchmarks.gossip_stragglers [--ranks 4] [--repetitions 9]

Ranks on a ring learn the digits; each sleeps through its gradients as one does whose accelerator
computes, and one of them five times as long. On a ring that is even every second rank asks and the
others are asked, so the straggler stands once on either side. All ways take turns in an order that
rotates. Shown are, in gradients of a rank that is not slow: how long the fast ranks take for all
their steps, and when the loss of all ranks' last gradients falls below a target; simulated, and
on real ranks the medians with nonparametric 95% intervals. The ratio is that to synchronous
gossip, of the same turns. The accuracy on held-out digits is that of the worst rank in any run.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ddl_measure.interval import interval, ratio_of_turns
from ddl_measure.machine import describe, heading, keep
from ddl_measure.repetitions import side_by_side
from ddl_teach import Comm, Ranks, simulate
from ddl_teach.theory.gossip.graphs import ring
from ddl_teach.training.consistency.asynchronous_gossip import AsynchronousGossip
from ddl_teach.training.consistency.consistency import Consistency
from ddl_teach.training.consistency.gossip import Gossip
from ddl_teach.training.consistency.worker import Pace
from ddl_teach.training.distribution.neighbours import Neighbours
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.tasks.paces import Even, OneSlow
from ddl_teach.training.trainer import Result, train

RESULTS = Path(__file__).parent / "results" / "gossip_stragglers.txt"
PAUSE, TIMES, STEPS = 4e-3, 5.0, 60
TASK, RULE = Digits(batch=8), SGD(0.1)
TARGET, LAST = 0.7, 32  # of the mean loss of so many gradients, whoever made them
WHENS: dict[str, Consistency] = {
    "synchronous": Gossip(),
    "asynchronous": AsynchronousGossip(),
    "the same, ahead=inf": AsynchronousGossip(ahead=math.inf),
}
PACES: dict[str, tuple[int | None, Pace]] = {  # who is slow, and how long gradients take
    "nobody is slow": (None, Even(PAUSE)),
    "rank 0 is slow, who asks": (0, OneSlow(PAUSE, TIMES, worker=0)),
    "rank 1 is slow, who is asked": (1, OneSlow(PAUSE, TIMES, worker=1)),
}


def trained(comm: Comm, consistency: Consistency, pace: Pace) -> Result:
    """One rank's training."""
    return train(comm, TASK, consistency, Neighbours(ring), update=RULE, steps=STEPS, pace=pace)


def in_turns(comm: Comm, repetitions: int) -> dict[tuple[str, str], list[Result]]:
    """This rank's results, by pace and consistency, one a turn."""
    found: dict[tuple[str, str], list[Result]] = {}
    for slow, (_, pace) in PACES.items():
        kept: dict[str, list[Result]] = {name: [] for name in WHENS}
        contestants = {
            name: lambda name=name, pace=pace, kept=kept: kept[name].append(
                trained(comm, WHENS[name], pace)
            )
            for name in WHENS
        }
        side_by_side(contestants, repetitions=repetitions, warm_up=0, before=comm.native.barrier)
        found |= {(slow, name): results for name, results in kept.items()}
    return found


def fast_ones(results: Sequence[Result], slow: int | None) -> float:
    """When the last of those who are not slow has made all its gradients, in gradients."""
    return max(one.seconds[-1] for one in results if one.worker != slow) / PAUSE


def to_target(results: Sequence[Result]) -> float:
    """When the mean loss of the last gradients of all is below the target, in gradients."""
    made = sorted(pair for one in results for pair in zip(one.seconds, one.losses, strict=True))
    seconds, losses = np.transpose(made)
    means = np.convolve(losses, np.full(LAST, 1 / LAST), "valid")
    below = np.flatnonzero(means < TARGET)
    return float(seconds[LAST - 1 + below[0]]) / PAUSE if below.size else math.inf


def lines(ranks: int, repetitions: int) -> list[str]:
    """The table: three paces, three ways each."""
    with Ranks(ranks) as pool:
        run = pool.run(in_turns, repetitions=repetitions, trace=False, timeout=600)
    said = [
        f"{ranks} ranks on a ring, {STEPS} gradients of {PAUSE * 1e3:g} ms each; the slow one "
        f"takes {TIMES:g} times as long; all times in gradients of a fast rank",
        f"{'':<22}{'all steps of the fast ranks':>44}{'loss below ' + str(TARGET):>33}"
        f"{'worst rank':>12}",
        f"{'':<22}{'simulated':>10}{'real':>7}{'95% interval':>15}{'ratio':>12}"
        f"{'simulated':>11}{'real':>7}{'95% interval':>15}{'held out':>12}",
    ]
    for slow, (who, pace) in PACES.items():
        said.append(slow)
        baseline: np.ndarray | None = None
        for name, consistency in WHENS.items():
            twin = simulate(
                trained, ranks, consistency=consistency, pace=pace, trace=False
            ).results
            turns = list(zip(*(found[slow, name] for found in run.results), strict=True))
            took = np.array([fast_ones(results, who) for results in turns])
            learnt = [to_target(results) for results in turns]
            baseline = took if baseline is None else baseline
            ratio, low, high = ratio_of_turns(took, baseline)
            worst = min(TASK.accuracy(one.weights) for results in turns for one in results)
            said.append(
                f"  {name:<20}{fast_ones(twin, who):>10.1f}{_text(took)}{ratio:>6.2f} "
                f"{low:.2f}-{high:.2f}".ljust(68)
                + f"{to_target(twin):>9.1f}{_text(learnt)}{worst:>12.0%}"
            )
    return said


def _text(times: Sequence[float]) -> str:
    middle, low, high = interval(times)
    return f"{middle:>7.1f}{f'{low:.1f} to {high:.1f}':>15}"


def main() -> None:
    """Measure, print the table, keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--repetitions", type=int, default=9)
    chosen = parser.parse_args()
    said = "\n".join(lines(chosen.ranks, chosen.repetitions))
    print(said)
    keep(RESULTS, [heading(describe()), said])


if __name__ == "__main__":
    main()
