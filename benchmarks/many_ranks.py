"""PAT and two trees on 65,536 simulated ranks, symmetric programs on a million, and formulas.

    python -m benchmarks.many_ranks

Virtual times are the same on any machine; the seconds of the processor are not. The first three
take some tens of seconds and about 2 GB. Messages limit what can be simulated: two trees send
4 (P - 1) of them for a chunk in each tree. With 1 MiB, in 8 chunks a tree, that is 2.1 million,
eight times the third row's, and as many times its seconds. Of a symmetric program one rank runs in
place of all: its messages alone cost time.
"""

import time
from pathlib import Path

from ddl_measure.machine import describe, heading, keep
from ddl_teach import simulate
from ddl_teach.collectives import (
    double_binary_tree,
    pairwise,
    pat,
    rabenseifner,
    recursive_doubling,
    ring,
)
from ddl_teach.comm import Comm, Phantom
from ddl_teach.theory import collectives
from ddl_teach.theory.machine import Link

RESULTS = Path(__file__).parent / "results" / "many_ranks.txt"
RANKS, LINK = 65_536, Link(2e-6, 1 / 25e9)


def gathered(comm: Comm, nbytes: int) -> None:
    """An all-gather by PAT."""
    pat.allgather(comm, Phantom(nbytes))


def summed(comm: Comm, nbytes: int) -> None:
    """An all-reduce by two trees, in each a chunk for every 64 KiB."""
    double_binary_tree.allreduce(comm, Phantom(nbytes))


WAYS = {  # the program, its bytes, and the seconds by the formula on so many ranks
    "PAT": (gathered, 2**22, lambda ranks: collectives.pat(ranks, 2**22, LINK, ranks)),
    "two trees, short": (
        summed, 2**10, lambda ranks: collectives.double_binary_tree(ranks, 2**10, LINK, 1),
    ),
    "two trees": (
        summed, 2**17, lambda ranks: collectives.double_binary_tree(ranks, 2**17, LINK, 1),
    ),
    "two trees, long": (
        summed, 2**20, lambda ranks: collectives.double_binary_tree(ranks, 2**20, LINK, 8),
    ),
}  # fmt: skip
MILLION = 2**20
SYMMETRIC = {  # a collective of 8 MiB on a million ranks, and its formula
    "ring": (ring.allreduce, lambda ranks: collectives.ring(ranks, 2**23, LINK)),
    "Rabenseifner": (
        rabenseifner.allreduce, lambda ranks: collectives.rabenseifner(ranks, 2**23, LINK),
    ),
    "recursive doubling": (
        recursive_doubling.allreduce,
        lambda ranks: collectives.recursive_doubling(ranks, 2**23, LINK),
    ),
    "pairwise": (
        lambda comm, x: pairwise.alltoall(comm, x, Phantom(x.nbytes)),
        lambda ranks: (ranks - 1) * (LINK.latency + 2**23 / ranks * LINK.per_byte),
    ),
}  # fmt: skip


def symmetric_seconds(way: str, ranks: int = MILLION) -> float:
    """The virtual time, by one rank in place of all."""
    given = {"network": LINK.network, "trace": False, "symmetric": True}
    return simulate(SYMMETRIC[way][0], ranks, x=Phantom(2**23), **given).time


def seconds(way: str, ranks: int = RANKS) -> float:
    """The virtual time."""
    program, nbytes, _ = WAYS[way]
    given = {"network": LINK.network, "trace": False, "timeout": 3600}
    return simulate(program, ranks, nbytes=nbytes, **given).time


def main() -> None:
    """A row for each way."""
    lines = [
        f"{'way':18}{'bytes':>9}{'ranks':>8}{'simulated':>15}{'by formula':>15}{'processor':>12}"
    ]
    rows = [(way, WAYS[way][1], RANKS, seconds, WAYS[way][2]) for way in WAYS]
    rows += [(way, 2**23, MILLION, symmetric_seconds, SYMMETRIC[way][1]) for way in SYMMETRIC]
    for way, nbytes, ranks, simulated, formula in rows:
        begun = time.process_time()
        virtual = simulated(way)
        took = time.process_time() - begun
        computed = formula(ranks)
        lines.append(
            f"{way:18}{nbytes:>9}{ranks:>8}{1e3 * virtual:>12.4f} ms{1e3 * computed:>12.4f} ms"
            f"{took:>10.0f} s"
        )
    keep(RESULTS, [heading(describe()), "\n".join(lines)])


if __name__ == "__main__":
    main()
