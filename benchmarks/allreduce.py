"""All-reduce side by side: ours, native MPI and torch.distributed's gloo, in one run.

    python -m benchmarks.allreduce [--ranks 2 4] [--largest 64MiB] [--repetitions 21]

Every algorithm takes each turn on freshly written vectors, in an order that rotates, so that a
disturbance of the machine hits all alike; every result is checked. As in the OSU benchmarks, short
vectors are reduced several times in a row and the mean of a row counts. A time is that of the
slowest rank. Shown are medians with nonparametric 95% intervals, and ratios of medians to native
MPI. `in_place` and `once` work on vectors that live in shared memory; after `in_place` every rank
has the result, after `once` all read the same one. They appear where one call is one measurement,
because in a row they would find every part in the cache that needs it next. `copy, fence, add` is
what shared_memory does to a short vector, without what it costs to check, to log and to look up.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_runtime.core.window import SharedMemory
from ddl_teach import Comm, Ranks
from ddl_teach.collectives import rabenseifner, recursive_doubling, ring, shared_memory

RESULTS = Path(__file__).parent / "results" / "allreduce.txt"
SIZES = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20]
ROW = 20  # calls in a row ...
SHORT = 64 << 10  # ... of vectors up to so many bytes
ELEMENT = np.dtype(np.float32)


def contestants(comm: Comm, size: int, folder: str) -> dict[str, tuple[np.ndarray, Callable]]:
    """By name: the vector that an all-reduce works on, and the all-reduce."""
    import torch
    from torch import distributed

    if not distributed.is_initialized():
        # Gloo would look for the machine's address by name; these ranks are all here.
        store = distributed.FileStore(f"{folder}/gloo", comm.size)
        distributed.init_process_group("gloo", store=store, rank=comm.rank, world_size=comm.size)
    vector = np.empty(size // ELEMENT.itemsize, ELEMENT)
    tensor = torch.from_numpy(vector)
    if "window" not in comm.attributes:
        comm.attributes["window"] = comm.shared_memory(SIZES[-1])
    window = comm.attributes["window"]
    shared = window.arrays(ELEMENT, len(vector))
    field = {
        "native": (vector, lambda: comm.native.blocking_allreduce(vector)),
        "gloo": (vector, lambda: distributed.all_reduce(tensor)),
        "recursive_doubling": (vector, lambda: recursive_doubling.allreduce(comm, vector)),
        "rabenseifner": (vector, lambda: rabenseifner.allreduce(comm, vector)),
        "ring": (vector, lambda: ring.allreduce(comm, vector)),
        "shared_memory": (vector, lambda: shared_memory.allreduce(comm, vector)),
    }
    if size <= shared_memory.ALL_ADD_ALL:
        field["copy, fence, add"] = (vector, bare(comm, window, shared, vector))
    if size > SHORT:
        field["in_place"] = (
            shared[comm.rank],
            lambda: shared_memory.allreduce_in_place(comm, window, shared),
        )
        field["once"] = (
            shared[comm.rank],
            lambda: shared_memory.allreduce_once(comm, window, shared),
        )
    return field


def bare(
    comm: Comm, window: SharedMemory, shared: list[np.ndarray], vector: np.ndarray
) -> Callable[[], None]:
    """What shared_memory does to a short vector: what it takes beyond this is Python's."""
    later = window.arrays(ELEMENT, len(vector), vector.nbytes)
    turns = itertools.cycle((shared, later))

    def allreduce() -> None:
        shown = next(turns)
        np.copyto(shown[comm.rank], vector)
        window.fence()
        np.add(shown[0], shown[1], out=vector)
        for other in shown[2:]:
            np.add(vector, other, out=vector)

    return allreduce


def measure(
    comm: Comm, sizes: list[int], repetitions: int, folder: str
) -> dict[int, dict[str, list]]:
    """Seconds of every repetition, by size and name, on this rank."""
    times: dict[int, dict[str, list]] = {}
    for size in sizes:
        field = contestants(comm, size, folder)
        times[size] = {name: [] for name in field}
        names = list(field)
        row = ROW if size <= SHORT else 1
        expected = ELEMENT.type(comm.size * (comm.size + 1) / 2 * float(comm.size) ** (row - 1))
        for repetition in range(-2, repetitions):  # two turns to warm up
            turn = repetition % len(names)
            for name in names[turn:] + names[:turn]:
                vector, allreduce = field[name]
                comm.native.barrier()  # all have seen the last result, which some share
                vector[:] = comm.rank + 1
                comm.native.barrier()
                begun = time.perf_counter()
                for _ in range(row):
                    shared = allreduce()
                taken = (time.perf_counter() - begun) / row
                result = vector if shared is None else shared
                if not np.allclose(result[[0, -1]], expected, rtol=1e-5):
                    raise AssertionError(f"{name} of {size} bytes gave {result[0]}")
                if repetition >= 0:
                    times[size][name].append(taken)
    return times


def table(ranks: int, per_rank: list[dict[int, dict[str, list]]]) -> str:
    """One line a size and algorithm."""
    lines = [f"{ranks} ranks", f"{'bytes':>10}  {'all-reduce':<20}{'median':>12}"
             f"{'95% interval':>26}{'/ native':>10}"]  # fmt: skip
    for size in per_rank[0]:
        slowest: dict[str, Any] = {
            name: np.max([times[size][name] for times in per_rank], axis=0)
            for name in per_rank[0][size]
        }
        native = float(np.median(slowest["native"]))
        for name, times in slowest.items():
            median, low, high = interval(times)
            lines.append(
                f"{size:>10}  {name:<20}{median * 1e6:>9.1f} us"
                f"{low * 1e6:>11.1f} to {high * 1e6:>8.1f} us{median / native:>10.2f}"
            )
    return "\n".join(lines)


def main() -> None:
    """Measure, print the table, keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="bytes")
    parser.add_argument("--repetitions", type=int, default=21)
    chosen = parser.parse_args()
    sizes = [size for size in SIZES if size <= chosen.largest]
    parts = [heading(describe())]
    for count in chosen.ranks:
        with Ranks(count) as ranks, tempfile.TemporaryDirectory() as folder:
            run = ranks.run(
                measure, sizes=sizes, repetitions=chosen.repetitions, folder=folder, trace=False,
                timeout=900,
            )  # fmt: skip
        parts.append(table(count, run.results))
        print(parts[-1], flush=True)
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
