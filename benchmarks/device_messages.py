"""Messages between devices, in the manner of the OSU micro-benchmarks: all paths, side by side.

    python -m benchmarks.device_messages [--ranks 2] [--largest 4194304] [--repetitions 15]

Latency, bandwidth and bandwidth both ways between two ranks, and an all-reduce of all: from host
memory, and from device memory directly, staged, and pipelined in chunks of several sizes; beside
them the MPI library's own all-reduce, torch's gloo, and NCCL where it exists. All ways of one size
take turns, every result is compared with what was sent, and every repetition is kept. Copies
between host and device are measured by themselves; from these stages alone the best chunk and the
sizes where paths cross are predicted, and stand beside what was measured. From the times comes the
table of decisions, which `comm.device_table` takes; on a GPU it is kept, and messages go by it.

Where there is no GPU the host's rows are measurements like any others, and the device is a
stand-in whose copies are slept through: an exercise of the code, and labelled so in every line.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu import report
from benchmarks.gpu.kept_tables import keep_tables
from benchmarks.gpu.peers import peers_of
from benchmarks.gpu.provenance import about
from ddl_class.notebook.device_places import device_here, place_of, reads_device_memory
from ddl_measure.device_messages import (
    ALLREDUCE,
    BANDWIDTH,
    BOTH_WAYS,
    LATENCY,
    Peer,
    measure_copies,
    measure_messages,
)
from ddl_measure.device_run import GPU, HOST, DeviceRun, DeviceTiming, TransferPath, save
from ddl_measure.machine import heading, keep
from ddl_runtime.core.arrays import Array
from ddl_teach import Comm, Ranks
from ddl_teach.collectives import staged_once
from ddl_teach.collectives.on_devices import ONCE
from ddl_teach.theory.robust_line import FEWEST_SIZES

RESULTS = Path(__file__).parent / "results"
SMALLEST = 1 << 10
CHUNKS = (64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20)


def on_a_rank(
    comm: Comm, device: str, sizes: Sequence[int], chunks: Sequence[int], repetitions: int,
    folder: str,
) -> tuple[list[DeviceTiming], dict[str, str]]:  # fmt: skip
    """All that this rank measured, and what is to be said about it."""
    place = place_of(comm, device)
    direct, why = reads_device_memory(comm, device)
    ways = [
        TransferPath(HOST),
        *([TransferPath("direct")] if direct else []),
        TransferPath("staged"),
    ]
    ways += [TransferPath("pipelined", chunk) for chunk in chunks]
    peers, notes = peers_of(comm, place, device, folder)
    peers.append(Peer(ALLREDUCE, TransferPath(ONCE), place, partial(once, comm)))
    rows = measure_messages(comm, place, ways, sizes, repetitions, peers)
    comm.barrier()
    # One rank alone: two on one GPU, or on two cores, would share what is measured.
    rows += measure_copies(place, sizes, repetitions) if comm.rank == 0 else []
    comm.barrier()
    said = "reads device memory" if direct else "does not read device memory"
    return rows, {"MPI": f"{said}: {why}", **notes}


def once(comm: Comm, x: Array, _: Array) -> None:
    """An all-reduce that copies out and in once, beside those whose messages are staged."""
    staged_once.allreduce(comm, x, "max")


def slowest(per_rank: Sequence[list[DeviceTiming]]) -> tuple[DeviceTiming, ...]:
    """Rank 0's rows of messages; of what all ranks do together the slowest counts each time."""
    others = [{(row.test, row.way, row.nbytes): row for row in rows} for rows in per_rank]
    found = []
    for row in per_rank[0]:
        key = row.test, row.way, row.nbytes
        if all(key in rows for rows in others) and row.test not in (LATENCY, BANDWIDTH, BOTH_WAYS):
            seconds = np.max([rows[key].seconds for rows in others], axis=0)
            row = DeviceTiming(*key, tuple(seconds.tolist()))
        found.append(row)
    return tuple(found)


def measure(device: str, ranks: int, given: dict[str, Any], command: str) -> DeviceRun:
    """The whole benchmark on this machine."""
    with Ranks(ranks) as pool, tempfile.TemporaryDirectory() as folder:
        asked = {"device": device, "folder": folder, **given}
        results = pool.run(on_a_rank, **asked, trace=False, timeout=1800).results
    rows = slowest([rows for rows, _ in results])
    return DeviceRun(device, about(device, ranks, command) | results[0][1], rows)


def text_of(run: DeviceRun) -> list[str]:
    """The parts of a results file."""
    tables = [report.table(run, test) for test in (LATENCY, BANDWIDTH, BOTH_WAYS, ALLREDUCE)]
    head = heading(dict(run.about))
    return [head, report.crossings(run), report.table_text(run), *tables]


def powers_of_four(largest: int) -> list[int]:
    """Sizes in bytes."""
    return [SMALLEST << 2 * k for k in range(40) if SMALLEST << 2 * k <= largest]


def arguments(description: str) -> argparse.ArgumentParser:
    """What this benchmark and the one of all parts are asked."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2, help="two on one GPU, or one GPU each")
    parser.add_argument("--largest", type=int, help="bytes; 16 MiB on a GPU, else 4 MiB")
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--chunks", type=int, nargs="+", help="bytes")
    return parser


def sizes_of(chosen: argparse.Namespace, device: str) -> dict[str, Any]:
    """Of messages and chunks, as asked or as becomes the device."""
    largest, more = (16 << 20, (4 << 20,)) if device == GPU else (4 << 20, ())
    largest = chosen.largest or largest
    sizes = powers_of_four(largest)
    wanted = tuple(chosen.chunks or (*CHUNKS, *more))
    chunks = [chunk for chunk in wanted if 0 < chunk < max(sizes, default=0)]
    if len(sizes) < FEWEST_SIZES or not chunks:
        raise SystemExit(
            f"messages of up to {largest} bytes in chunks of {wanted}: stages are fitted to "
            f"{FEWEST_SIZES} sizes, {SMALLEST} bytes and on by fours, and a chunk is smaller than "
            "the largest; give a larger --largest, or smaller --chunks"
        )
    return {"sizes": sizes, "chunks": chunks}


def main() -> None:
    """Measure, keep, print."""
    chosen = arguments(__doc__).parse_args()
    device = device_here()
    given = sizes_of(chosen, device) | {"repetitions": chosen.repetitions}
    command = f"python -m benchmarks.device_messages {' '.join(sys.argv[1:])}".strip()
    run = measure(device, chosen.ranks, given, command)
    if device == GPU:
        keep_tables(report.by_awareness(run))
    name = "device_messages" if device == GPU else "device_messages_stand_in"
    save(RESULTS / f"{name}.json", run)
    parts = text_of(run)
    keep(RESULTS / f"{name}.txt", parts)
    report.draw(report.pictures(run).values(), RESULTS / f"{name}.png")
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
