"""The all-reduce that `auto` picks beside the best of ours, on real and on simulated ranks.

    python -m benchmarks.automatic [--ranks 2 4 8] [--repetitions 15] [--rounds 7]

On real ranks a timetable is learnt first, within the seconds shown; then, at sizes between those
of the timetable, all algorithms take turns, and then `auto` and the one that it picks. Of several
rounds, each with new ranks, this shows what was picked and how often; the median time of this
algorithm over that of the fastest, the same of `auto` with all that choosing costs, both as the
mean over the rounds with its interval; and how fast a rank reads what its neighbour has just
written. A virtual machine's cores move, so that this changes within seconds, and with it the
order of the algorithms.
On simulated ranks times are exact: those of one call that all ranks begin together. The formulas
choose by the network's own numbers on networks of one level; a timetable, of which no network is
known, chooses on those and on networks of two.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ddl_measure.experiments.choosing.allreduces import (
    ANYWHERE,
    NetworkShape,
    race,
    timetable,
    zeros,
)
from ddl_measure.machine import describe, heading, keep
from ddl_measure.repetitions import slowest_in_turns, slowest_of_all
from ddl_runtime.core.window import SharedMemory
from ddl_teach import Comm, Ranks, simulate
from ddl_teach.collectives import auto, registry
from ddl_teach.comm import Machine
from ddl_teach.theory.machine import Link

RESULTS = Path(__file__).parent / "results" / "automatic.txt"
SIZES = (3 << 10, 12 << 10, 48 << 10, 192 << 10, 768 << 10, 3 << 19)
ONE_LEVEL = [NetworkShape(latency, per_byte)
             for latency, per_byte in ((1e-6, 1e-10), (5e-6, 1e-9), (5e-5, 1e-8))]  # fmt: skip
TWO_LEVELS = [NetworkShape(5e-6, 1e-9, 4), NetworkShape(5e-5, 1e-8, 4)]
CROSSING = 1 << 18  # bytes
COUNTS = (2, 3, 4, 6, 8, 16)
MACHINE = Machine(reduce_bandwidth=10e9)


@dataclass(frozen=True, eq=False)
class Round:
    """One start of ranks: seconds of learning, microseconds of `crossing` before and after
    learning and at the end; for each size the choice, and the slowest rank's times by name: of
    all algorithms in turns, and of the choice and `auto` in turns."""

    learning: float
    crossings: tuple[float, float, float]
    rows: list[tuple[str, dict[str, Any], dict[str, Any]]]


def measure(comm: Comm, repetitions: int) -> Round:
    """Learn, then let all take turns."""
    memory = comm.shared_memory(CROSSING)
    before = crossing(comm, memory)
    begun = time.perf_counter()
    model = timetable(comm)
    comm.barrier()
    learning = time.perf_counter() - begun
    between = crossing(comm, memory)
    rows = []
    for nbytes in SIZES:
        x = zeros(nbytes)
        ways = {name: partial(registry.get(name).allreduce, comm, x) for name in ANYWHERE}
        choice = auto.choose(comm.size, nbytes, model, model.algorithms).algorithm
        pair = {choice: ways[choice], "auto": partial(auto.allreduce, comm, x, model=model)}
        row = (slowest_in_turns(comm, each, repetitions) for each in (ways, pair))
        rows.append((choice, *row))
    return Round(learning, (before, between, crossing(comm, memory)), rows)


def crossing(comm: Comm, memory: SharedMemory, repetitions: int = 15) -> float:
    """Microseconds in which a rank copies what its neighbour has just written: the machine alone,
    without any all-reduce."""
    seconds, copy = np.empty(repetitions), np.empty(CROSSING, np.uint8)
    for turn in range(repetitions):
        memory.parts[comm.rank].fill(turn)
        memory.fence()
        begun = time.perf_counter()
        np.copyto(copy, memory.parts[(comm.rank + 1) % comm.size])
        seconds[turn] = time.perf_counter() - begun
        memory.fence()
    return 1e6 * float(np.median(slowest_of_all(comm, seconds)))


def on_real_ranks(ranks: int, repetitions: int, rounds: int) -> str:
    """One line a size, over all rounds."""
    done = []
    for _ in range(rounds):
        with Ranks(ranks) as engines:
            run = engines.run(measure, repetitions=repetitions, trace=False, timeout=300)
        done.append(run.results[0])
    lines = [f"{ranks} real ranks; the timetable took {max(one.learning for one in done):.1f} s",
             f"{'bytes':>10}  {'picked / fastest':<24}{'auto / fastest':<24}"
             f"{'picked':<48}fastest"]  # fmt: skip
    for place, nbytes in enumerate(SIZES):
        choices, all_times, pairs = zip(*(one.rows[place] for one in done), strict=True)
        best = [fastest(times) for times in all_times]
        picked = [
            [np.stack([times[choice], times[first]])]
            for times, choice, first in zip(all_times, choices, best, strict=True)
        ]
        whole = [
            [*ratio, np.stack([pair["auto"], pair[choice]])]
            for ratio, pair, choice in zip(picked, pairs, choices, strict=True)
        ]
        lines.append(f"{nbytes:>10}  {regret(picked):<24}{regret(whole):<24}"
                     f"{counted(choices):<48}{counted(best)}")  # fmt: skip
    lines += [
        f"{CROSSING >> 10} KiB of a neighbour, us before and after learning, and at the end:"
    ]
    lines += [", ".join(" ".join(f"{each:.0f}" for each in one.crossings) for one in done)]
    return "\n".join(lines)


def fastest(times: dict[str, Any]) -> str:
    """The least median."""
    return min(times, key=lambda name: float(np.median(times[name])))


def regret(rounds: list[list[np.ndarray]], draws: int = 1000) -> str:
    """The mean over rounds of a product of ratios, each of two medians, and its 95% interval: the
    rounds are drawn, and the turns of each (bootstrap)."""
    draw = np.random.default_rng(0)

    def mean(some: list[list[np.ndarray]]) -> float:
        return float(np.mean([
            np.prod([np.divide(*np.median(pair, axis=1)) for pair in pairs]) for pairs in some
        ]))  # fmt: skip

    def drawn(pair: np.ndarray) -> np.ndarray:
        return pair[:, draw.integers(0, pair.shape[1], pair.shape[1])]

    means = [
        mean([
            [drawn(pair) for pair in rounds[place]]
            for place in draw.integers(0, len(rounds), len(rounds))
        ])
        for _ in range(draws)
    ]  # fmt: skip
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{mean(rounds):.2f} ({low:.2f} to {high:.2f})"


def counted(names: Sequence[str]) -> str:
    """What was picked how often, unless always the same."""
    often = Counter(names).most_common()
    if len(often) == 1:
        return names[0]
    return ", ".join(f"{name} {count}" for name, count in often)


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
        table = simulate(
            race, ranks, network=network.fabric(), machine=MACHINE, trace=False, sizes=SIZES,
            algorithms=algorithms, repetitions=1,
        ).results[0]  # fmt: skip
        for nbytes, seconds in zip(SIZES, table[..., 0], strict=True):
            times = dict(zip(algorithms, seconds, strict=True))
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
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    parts = [heading(describe())]
    for ranks in chosen.ranks:
        parts.append(on_real_ranks(ranks, chosen.repetitions, chosen.rounds))
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
