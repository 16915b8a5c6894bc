"""Sparse all-reduce side by side: three ways of ours, the dense ring, native MPI and torch's gloo.

    python -m benchmarks.sparse_allreduce [--ranks 2 4] [--size 1000000] [--repetitions 15]

Vectors of float32 have entries at random places, as many as the density says. The sparse ways get
the list of entries, as a sparse form makes it, and give back a stream; the dense ways get the
vector. Every way takes each turn in an order that rotates, every result is checked. A time is that
of the slowest rank, bytes are those that rank 0 sends (nobody sees those of the libraries). Shown
are medians with nonparametric 95% intervals, and ratios of medians to native MPI, dense.
What to look at: below which density a list wins although memory is the network here, and in how
few bytes.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_measure.repetitions import side_by_side
from ddl_teach import Comm, Ranks
from ddl_teach.collectives import ring
from ddl_teach.collectives.sparse import dense_second_phase, recursive_doubling, split_allgather
from ddl_teach.collectives.sparse.stream import Stream
from ddl_teach.training.compression.qsgd import QSGD

RESULTS = Path(__file__).parent / "results" / "sparse_allreduce.txt"
DENSITIES = (0.0001, 0.001, 0.01, 0.1)
NATIVE = "native, dense"


def contestants(comm: Comm, size: int, density: float) -> dict[str, Callable[[], np.ndarray]]:
    """By name: something that returns the dense sum or the stream of it."""
    import torch
    from torch import distributed

    random = np.random.default_rng([comm.rank, size])
    places = np.sort(random.choice(size, round(size * density), replace=False))
    stream = Stream.listed(size, places, np.ones(len(places), np.float32))
    vector = stream.dense()
    work, tensor = np.empty_like(vector), torch.from_numpy(vector.copy())
    values = torch.from_numpy(stream.values.copy())
    listed = torch.sparse_coo_tensor(
        torch.from_numpy(places[None]), values, (size,), check_invariants=True
    )
    few_bits = QSGD(levels=7, bucket=512).stream(comm.rank)

    def dense(allreduce: Callable[[np.ndarray], None]) -> Callable[[], np.ndarray]:
        def run() -> np.ndarray:
            work[:] = vector
            allreduce(work)
            return work

        return run

    def gloo(sparse: bool) -> np.ndarray:
        if sparse:
            mine = listed.clone().coalesce()
            distributed.all_reduce(mine)
            return mine
        copied = tensor.clone()
        distributed.all_reduce(copied)
        return copied.numpy()

    return {
        NATIVE: dense(comm.native.blocking_allreduce),
        "gloo, dense": lambda: gloo(sparse=False),
        "gloo, sparse tensors": lambda: gloo(sparse=True),
        "ring, dense": dense(lambda x: ring.allreduce(comm, x)),
        "recursive doubling": lambda: recursive_doubling.allreduce(comm, stream),
        "split, all-gather": lambda: split_allgather.allreduce(comm, stream),
        "dense second phase": lambda: dense_second_phase.allreduce(comm, stream),
        "4 bits second phase": lambda: dense_second_phase.allreduce(comm, stream, few_bits),
    }


def measure(
    comm: Comm, size: int, repetitions: int, folder: str
) -> dict[float, dict[str, tuple[np.ndarray, int]]]:
    """Seconds of every repetition and the bytes of one call, by density and name, on this rank."""
    from torch import distributed

    store = distributed.FileStore(f"{folder}/gloo", comm.size)
    distributed.init_process_group("gloo", store=store, rank=comm.rank, world_size=comm.size)
    found = {}
    for density in DENSITIES:
        ways = contestants(comm, size, density)
        sent, right = {}, ways[NATIVE]().copy()
        for name, way in ways.items():
            before = comm.ledger.bytes_sent
            check(name, way(), right)
            sent[name] = comm.ledger.bytes_sent - before
        times = side_by_side(ways, repetitions=repetitions, before=comm.native.barrier)
        found[density] = {name: (times[name], sent[name]) for name in ways}
    distributed.destroy_process_group()
    return found


def check(name: str, found: object, right: np.ndarray) -> None:
    """Refuse a wrong sum; a quantised one may differ."""
    vector = found.dense() if isinstance(found, Stream) else found
    vector = vector if isinstance(vector, np.ndarray) else vector.to_dense().numpy()
    if "bits" not in name and not np.array_equal(vector, right):
        raise AssertionError(f"{name} gives another sum than native MPI")


def table(
    ranks: int, size: int, per_rank: list[dict[float, dict[str, tuple[np.ndarray, int]]]]
) -> str:
    """One line a density and way."""
    lines = [
        f"{ranks} ranks, {size:,} numbers of float32",
        f"{'density':>8}  {'way':<22}{'bytes sent':>12}{'median':>12}{'95% interval':>24}"
        f"{'/ native':>10}",
    ]
    for density, ways in per_rank[0].items():
        slowest = {
            name: np.max([times[density][name][0] for times in per_rank], axis=0) for name in ways
        }
        native = float(np.median(slowest[NATIVE]))
        for name, times in slowest.items():
            median, low, high = interval(times)
            sent = f"{ways[name][1]:,}" if ways[name][1] else "unseen"
            lines.append(
                f"{density:>8.2%}  {name:<22}{sent:>12}{median * 1e3:>9.2f} ms"
                f"{low * 1e3:>11.2f} to {high * 1e3:>6.2f} ms{median / native:>10.2f}"
            )
    return "\n".join(lines)


def main() -> None:
    """Measure, print the tables, keep them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=15)
    chosen = parser.parse_args()
    parts = [heading(describe())]
    for count in chosen.ranks:
        with Ranks(count) as ranks, tempfile.TemporaryDirectory() as folder:
            run = ranks.run(
                measure, size=chosen.size, repetitions=chosen.repetitions, folder=folder,
                trace=False, timeout=600,
            )  # fmt: skip
        parts.append(table(count, chosen.size, run.results))
        print(parts[-1], flush=True)
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
