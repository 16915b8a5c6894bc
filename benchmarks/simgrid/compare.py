"""Virtual times and speed of our simulator beside SimGrid's, as tables.

    python -m benchmarks.simgrid.compare [--quick] [--only NETWORK ...]

First without contention, where both must agree with each other to the last digits; then on shared
links, where SimGrid runs by its own protocol and by ours, so that a difference of protocol can be
told from a difference in how links are shared; at last how many messages a second each simulates.
With `--only` it prints the second table for networks of SHARED, and keeps nothing.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.simgrid.programs import PATTERNS
from benchmarks.simgrid.runner import NotInstalled, SimGrid
from ddl_measure import machine
from ddl_runtime.topologies.shared_links import SharedBus, Star, Topology
from ddl_teach import simulate
from ddl_teach.comm import Dragonfly, FatTree, HammingMesh, Rails, Torus, Uniform
from ddl_teach.theory.machine import Cluster

RESULTS = Path(__file__).resolve().parents[1] / "results" / "simgrid.txt"
KIB, MIB = 2**10, 2**20
NOTEWORTHY = 0.01  # a relative deviation that needs an explanation
ALLREDUCES = ("ring", "recursive_doubling", "rabenseifner", "linear")
NODE = {"bandwidth": 50e9, "local_bandwidth": 450e9, "base_latency": 5e-6, "local_latency": 1e-6}
FREE = Uniform(latency=1e-6, bandwidth=10e9)
SHARED: dict[str, Topology] = {
    "star": Star(ports=64),
    "nodes": Cluster(nodes=8).network,
    "bus": SharedBus(ports=64),
    "fat tree": FatTree(ports=8, hop_latency=1e-7),
    "fat tree 3:1": FatTree(ports=16, levels=2, oversubscription=3),
    "torus": Torus(sizes=(8, 8), hop_latency=1e-7),
    "dragonfly": Dragonfly(groups=9, routers=4, hosts_per_router=2),
    "hashed tree": FatTree(ports=16, levels=2, hop_latency=1e-7, routing="hashed", seed=3),
    "adaptive 3:1": FatTree(ports=16, levels=2, oversubscription=3, routing="adaptive"),
    "rails": Rails(nodes=8, oversubscription=8, **NODE),
    "rails, PXN": Rails(nodes=8, oversubscription=8, pxn=True, **NODE),
    "HammingMesh": HammingMesh(boards=(4, 4), hop_latency=1e-7),
}

ABOUT = """\
SimGrid's model: CM02 with TCP-gamma, crosstraffic and all correction factors off (platform.py).
A message alone takes latency + bytes / bandwidth in both simulators.
"""

RENDEZVOUS = """\
Where a ratio under "its way" differs by more than 1 % but the one under "our way" does not, the
cause is the protocol, not the sharing of links. SimGrid's messages start when both sides are there
and hold their senders until they have arrived (rendezvous). Ours start when they are sent and let
their senders go when they have left; the latency comes after the last byte has left, not before
the first. A rank that is ahead then sends early: its message takes bandwidth from the others, but
its own latency no longer delays the next step. With the same protocol the times agree."""


@dataclass(frozen=True)
class Speed:
    """One row of the last table."""

    network: str
    pattern: str
    ranks: int
    nbytes: int


SPEEDS = (
    Speed("uniform", "ring", 1024, MIB),
    Speed("uniform", "alltoall", 512, MIB),
    Speed("uniform", "recursive_doubling", 4096, KIB),
    Speed("uniform", "recursive_doubling", 65_536, KIB),
    Speed("fat tree", "ring", 64, MIB),
    Speed("fat tree", "alltoall_at_once", 64, MIB),
)


def free_lines(simgrid: SimGrid, rank_counts: tuple[int, ...]) -> Iterator[str]:
    """Every pattern on a network in which nothing is shared but the ports."""
    yield (
        f"{'pattern':20}{'ranks':>7}{'bytes':>10}{'messages':>10}{'ours, s':>16}{'SimGrid, s':>16}"
        f"{'ratio':>12}"
    )
    for pattern in (*ALLREDUCES, "alltoall"):
        for ranks in rank_counts:
            for nbytes in (64 * KIB, 16 * MIB):
                run = simulate(PATTERNS[pattern], ranks, network=FREE, trace=False, nbytes=nbytes)
                theirs = simgrid.run(FREE, pattern, ranks, nbytes)
                sent = sum(ledger.messages_sent for ledger in run.ledger)
                assert sent == theirs.messages, f"{pattern}: {sent} and {theirs.messages} messages"
                yield (
                    f"{pattern:20}{ranks:>7}{nbytes:>10}{sent:>10}{run.time:>16.9g}"
                    f"{theirs.time:>16.9g}{run.time / theirs.time:>12.8f}"
                )


def shared_lines(
    simgrid: SimGrid, names: Iterable[str] = SHARED, ranks: int = 64, nbytes: int = MIB
) -> Iterator[str]:
    """Every pattern on the topologies of these names, SimGrid by its protocol and by ours."""
    yield (
        f"{'network':14}{'pattern':20}{'ours, s':>14}{'its way, s':>14}{'ratio':>10}"
        f"{'our way, s':>14}{'ratio':>10}  cause"
    )
    for name in names:
        network = SHARED[name]
        for pattern, program in PATTERNS.items():
            ours = simulate(program, ranks, network=network, trace=False, nbytes=nbytes).time
            its_way = simgrid.run(network, pattern, ranks, nbytes).time
            our_way = simgrid.run(network, pattern, ranks, nbytes, protocol="ports").time
            yield (
                f"{name:14}{pattern:20}{ours:>14.6e}{its_way:>14.6e}{ours / its_way:>10.5f}"
                f"{our_way:>14.6e}{ours / our_way:>10.5f}{cause(ours, its_way, our_way)}"
            )


def cause(ours: float, its_way: float, our_way: float) -> str:
    """Why times deviate, if they do so noticeably."""
    if abs(ours / our_way - 1) > NOTEWORTHY:
        return "  UNEXPLAINED"
    return "  protocol" if abs(ours / its_way - 1) > NOTEWORTHY else ""


def speed_lines(simgrid: SimGrid, rows: tuple[Speed, ...], repetitions: int) -> Iterator[str]:
    """Messages per second of processor time, both in turn, medians and extremes.

    Both use one thread and a process of their own for each run: after many ranks, memory lies
    scattered. Processor time is fair where other programs run on the same cores.
    """
    yield (
        f"{'network':10}{'pattern':20}{'ranks':>7}{'messages':>10}{'ours, 1/s':>12}{'range':>20}"
        f"{'SimGrid, 1/s':>14}{'range':>18}{'ratio':>8}"
    )
    for row in rows:
        network = SHARED.get(row.network, FREE)
        command = [sys.executable, "-m", __spec__.name, "--alone", str(SPEEDS.index(row))]
        ours, theirs = [], []
        for _ in range(repetitions):
            shown = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            sent, took = map(float, shown.split())
            ours.append(sent / took)
            other = simgrid.run(network, row.pattern, row.ranks, row.nbytes)
            theirs.append(other.messages / other.seconds)
        middle = statistics.median(ours), statistics.median(theirs)
        yield (
            f"{row.network:10}{row.pattern:20}{row.ranks:>7}{sent:>10.0f}{middle[0]:>12,.0f}"
            f"{extremes(ours):>20}{middle[1]:>14,.0f}{extremes(theirs):>18}"
            f"{middle[0] / middle[1]:>8.1f}"
        )


def alone(row: Speed) -> None:
    """What a process of ours prints: messages, and processor seconds."""
    begun = time.process_time()
    run = simulate(
        PATTERNS[row.pattern], row.ranks, network=SHARED.get(row.network, FREE), trace=False,
        nbytes=row.nbytes,
    )  # fmt: skip
    took = time.process_time() - begun
    print(sum(ledger.messages_sent for ledger in run.ledger), took)


def extremes(values: list[float]) -> str:
    """The smallest and the largest."""
    return f"{min(values):,.0f}-{max(values):,.0f}"


def main() -> int:
    """Print the tables and keep them with the machine's description."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer ranks, once; nothing is kept")
    parser.add_argument("--only", nargs="+", choices=SHARED, help="these networks alone")
    parser.add_argument("--alone", type=int, help="used by the comparison itself")
    given = parser.parse_args()
    if given.alone is not None:
        alone(SPEEDS[given.alone])
        return 0
    quick = given.quick
    lines: list[str] = []

    def tell(text: str) -> None:
        print(text, flush=True)
        lines.append(text)

    try:
        with SimGrid() as simgrid:
            if given.only:
                print(*shared_lines(simgrid, given.only), sep="\n")
                return 0
            tell(machine.heading({**machine.describe(), "SimGrid": simgrid.version}))
            tell("\n" + ABOUT)
            tell("Without contention: 1 us, 10 GB/s\n")
            for line in free_lines(simgrid, (4, 64) if quick else (4, 64, 256)):
                tell(line)
            tell("\nOn shared links: 64 ranks, 1 MiB\n")
            for line in shared_lines(simgrid):
                tell(line)
            tell("\n" + RENDEZVOUS)
            tell("\nMessages per second of processor time, one thread, without a timeline\n")
            rows = tuple(row for row in SPEEDS if row.ranks <= 64) if quick else SPEEDS
            for line in speed_lines(simgrid, rows, 1 if quick else 5):
                tell(line)
    except NotInstalled as error:
        print(error, file=sys.stderr)
        return 2
    if not quick:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
