"""The all-reduce that `auto` picks beside the best of ours, on real and on simulated ranks.

    python -m benchmarks.automatic [--ranks 2 4 8] [--repetitions 15]

On real ranks a timetable is learnt first, within the seconds shown; then, at sizes between those
of the timetable, all algorithms and `auto` itself take turns, in an order that rotates. Shown are
what it picked; the median time of this algorithm over that of the fastest, the same of `auto` with
all that choosing costs, and how often a draw of the same turns (bootstrap) has the same fastest.
On simulated ranks times are exact. The formulas choose by the network's own numbers on networks of
one level; a timetable, of which no network is known, chooses on those and on networks of two.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ddl_measure.experiments.choosing.allreduces import (
    ANYWHERE,
    NetworkShape,
    timetable,
    zeros,
)
from ddl_measure.machine import describe, heading, keep
from ddl_measure.repetitions import slowest_in_turns
from ddl_teach import Comm, Ranks, simulate
from ddl_teach.collectives import auto, registry
from ddl_teach.comm import Machine, Phantom
from ddl_teach.theory.machine import Link

RESULTS = Path(__file__).parent / "results" / "automatic.txt"
SIZES = (3 << 10, 12 << 10, 48 << 10, 192 << 10, 768 << 10, 3 << 19)
ONE_LEVEL = [NetworkShape(latency, per_byte)
             for latency, per_byte in ((1e-6, 1e-10), (5e-6, 1e-9), (5e-5, 1e-8))]  # fmt: skip
TWO_LEVELS = [NetworkShape(5e-6, 1e-9, 4), NetworkShape(5e-5, 1e-8, 4)]
COUNTS = (2, 3, 4, 6, 8, 16)
MACHINE = Machine(reduce_bandwidth=10e9)


def measure(comm: Comm, repetitions: int) -> tuple[float, list[tuple[str, dict[str, Any]]]]:
    """Seconds of learning; for each size the choice, and the slowest rank's times by name."""
    comm.barrier()
    begun = time.perf_counter()
    model = timetable(comm)
    comm.barrier()
    taken = time.perf_counter() - begun
    rows = []
    for nbytes in SIZES:
        x = zeros(nbytes)
        ways = {name: partial(registry.get(name).allreduce, comm, x) for name in ANYWHERE}
        ways["auto"] = partial(auto.allreduce, comm, x, model=model)
        choice = auto.choose(comm.size, nbytes, model, model.algorithms).algorithm
        rows.append((choice, slowest_in_turns(comm, ways, repetitions)))
    return taken, rows


def on_real_ranks(ranks: int, repetitions: int) -> str:
    """One line a size."""
    with Ranks(ranks) as engines:
        run = engines.run(measure, repetitions=repetitions, trace=False, timeout=300)
    taken, rows = run.results[0]
    lines = [f"{ranks} real ranks; the timetable took {taken:.1f} s",
             f"{'bytes':>10}  {'picked':<20}{'fastest':<20}{'picked / fastest':>18}"
             f"{'auto / fastest':>16}{'fastest in draws':>18}"]  # fmt: skip
    draw = np.random.default_rng(0)
    for nbytes, (choice, times) in zip(SIZES, rows, strict=True):
        names = [name for name in times if name != "auto"]
        medians = {name: float(np.median(times[name])) for name in times}
        fastest = min(names, key=medians.__getitem__)
        table = np.stack([times[name] for name in names])
        turns = draw.integers(0, repetitions, (500, repetitions))
        winners = np.median(table[:, turns], axis=2).argmin(axis=0)
        share = (winners == names.index(fastest)).mean()
        lines.append(
            f"{nbytes:>10}  {choice:<20}{fastest:<20}{medians[choice] / medians[fastest]:>18.2f}"
            f"{medians['auto'] / medians[fastest]:>16.2f}{share:>18.0%}"
        )
    return "\n".join(lines)


def seconds(name: str, ranks: int, nbytes: int, network: NetworkShape) -> float:
    """Exactly, of a call when groups and windows have been made."""
    one, three = (
        simulate(
            called, ranks, network=network.fabric(), machine=MACHINE, trace=False, name=name,
            nbytes=nbytes, times=times,
        ).time
        for times in (1, 3)
    )  # fmt: skip
    return (three - one) / 2


def called(comm: Comm, name: str, nbytes: int, times: int) -> None:
    """So many calls in a row."""
    for _ in range(times):
        registry.get(name).allreduce(comm, Phantom(nbytes, 4))


def on_simulated_ranks(networks: list[NetworkShape], by: str) -> str:
    """How far the choices are from the fastest, over all networks, numbers of ranks and sizes."""
    algorithms = auto.PREDICTABLE if by == "formulas" else ANYWHERE
    ratios, missed = [], []
    for network, ranks in product(networks, COUNTS):
        if by == "formulas":
            link = Link(network.latency, network.per_byte, 1 / MACHINE.reduce_bandwidth)
            model: Any = auto.LatencyBandwidth(link)
        else:
            fabric = network.fabric()
            model = simulate(
                timetable, ranks, network=fabric, machine=MACHINE, trace=False
            ).results[0]
        for nbytes in SIZES:
            times = {name: seconds(name, ranks, nbytes, network) for name in algorithms}
            choice = auto.choose(ranks, nbytes, model, algorithms).algorithm
            ratios.append(times[choice] / min(times.values()))
            if ratios[-1] > 1.05:
                best = min(times, key=times.__getitem__)
                missed.append(f"  {ranks} ranks, {nbytes} bytes, {network.latency * 1e6:g} us: "
                              f"{choice} takes {ratios[-1]:.2f} times {best}")  # fmt: skip
    within = np.mean(np.array(ratios) <= 1.05)
    first = (f"simulated ranks, nodes of {networks[0].ranks_per_node}, {by}, {len(ratios)} cases: "
             f"within 5% of the fastest in {within:.0%}, at most {max(ratios):.2f}")  # fmt: skip
    return "\n".join([first, *missed])


def main() -> None:
    """Measure, print the tables, keep them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="*", default=[2, 4, 8])
    parser.add_argument("--repetitions", type=int, default=15)
    chosen = parser.parse_args()
    parts = [heading(describe())]
    for ranks in chosen.ranks:
        parts.append(on_real_ranks(ranks, chosen.repetitions))
        print(parts[-1], flush=True)
    parts.append(on_simulated_ranks(ONE_LEVEL, "formulas"))
    print(parts[-1], flush=True)
    parts.append(on_simulated_ranks(ONE_LEVEL, "timetable"))
    print(parts[-1], flush=True)
    parts.append(on_simulated_ranks(TWO_LEVELS, "timetable"))
    print(parts[-1], flush=True)
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
