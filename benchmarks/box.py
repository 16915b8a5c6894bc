"""All-reduce on a real network: the nodes of a cluster in a box, beside the model.

    python -m benchmarks.box [--rate 100mbit] [--delay 0ms] [--repetitions 11]

Four nodes, one rank each, 2 MiB. Latency and time per byte are fitted to ping-pongs on the same
box, before the algorithms take turns; `theory` makes times of them. Shown are medians of the
slowest rank with nonparametric 95% intervals, over the model's; and the bytes that the cards of
the nodes have counted for one turn, beside those of the ledgers. Who has no quiet machine gives
this command precedence: `chrt -r 5 python -m benchmarks.box`, as root.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from ddl_class.clusters.box.box import Box
from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_measure.ping_pong import ping_pong
from ddl_measure.repetitions import side_by_side, slowest_of_all
from ddl_teach import Comm, Ranks
from ddl_teach.collectives import rabenseifner, recursive_doubling, ring
from ddl_teach.theory.collectives import formula
from ddl_teach.theory.machine import Link

RESULTS = Path(__file__).parent / "results" / "box.txt"
ALGORITHMS = {
    "ring": ring,
    "recursive_doubling": recursive_doubling,
    "rabenseifner": rabenseifner,
}
RANKS, SIZE = 4, 2**21
SHORT, LONG = 8, 2**20  # bytes of the balls


def fit(comm: Comm, repetitions: int) -> Link:
    """What a message costs; on rank 0."""
    short = [ping_pong(comm, SHORT, 20) for _ in range(repetitions)]
    long = [ping_pong(comm, LONG, 1) for _ in range(repetitions)]
    if comm.rank:
        return Link(0.0, 0.0)
    latency = float(np.median(short))
    return Link(latency, (float(np.median(long)) - latency) / LONG)


def in_turns(comm: Comm, repetitions: int) -> tuple[Link, dict[str, np.ndarray]]:
    """The fit, and the slowest rank's seconds by algorithm."""
    fitted = fit(comm, repetitions)
    x = np.zeros(SIZE // 4, np.float32)
    contestants = {
        name: lambda module=module: module.allreduce(comm, x)
        for name, module in ALGORITHMS.items()
    }
    times = side_by_side(contestants, repetitions=repetitions, before=comm.barrier)
    return fitted, {name: slowest_of_all(comm, seconds) for name, seconds in times.items()}


def once(comm: Comm, name: str) -> None:
    """One turn, for the cards to count."""
    ALGORITHMS[name].allreduce(comm, np.zeros(SIZE // 4, np.float32))


def lines(box: Box, repetitions: int) -> list[str]:
    """What was measured, as a table."""
    with Ranks(RANKS, on=box) as ranks:
        run = ranks.run(in_turns, timeout=600, trace=False, repetitions=repetitions)
        link, times = run.results[0]
        table = [
            f"latency {link.latency * 1e6:.0f} us, {link.per_byte * 1e9:.2f} ns a byte "
            f"({8e-6 / link.per_byte:.1f} Mbit/s of payload)",
            "",
            f"{'':<20}{'model':>10}{'measured':>12}{'over the model':>26}"
            f"{'ledger, a rank':>17}{'card, a node':>15}",
        ]
        for name, seconds in times.items():
            model = formula(name)(RANKS, SIZE, link)
            middle, low, high = interval(seconds / model)
            before = box.counters()
            ledger = max(one.bytes_sent for one in ranks.run(once, name=name).ledger)
            after = box.counters()
            card = max(after[node].sent_bytes - before[node].sent_bytes for node in box.nodes)
            table.append(
                f"{name:<20}{model * 1e3:>7.1f} ms{np.median(seconds) * 1e3:>9.1f} ms"
                f"{middle:>10.3f} [{low:.3f}, {high:.3f}]{ledger:>15,} B{card:>13,} B"
            )
    return table


def main() -> None:
    """Make a box, measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", default="100mbit")
    parser.add_argument("--delay", default="0ms")
    parser.add_argument("--repetitions", type=int, default=11)
    chosen = parser.parse_args()
    with Box.up(RANKS, chosen.rate, chosen.delay, name="benchmark") as box:
        asked = f"{RANKS} nodes, {chosen.rate}, {chosen.delay} of delay; the switch: {box.switch}"
        parts = [heading(describe()), f"{asked}; {SIZE:,} bytes; {chosen.repetitions} turns"]
        parts.append("\n".join(lines(box, chosen.repetitions)))
    print("\n\n".join(parts))
    keep(RESULTS if box.switch == "kernel" else RESULTS.with_stem("box_delayed"), parts)


if __name__ == "__main__":
    main()
