"""Who copies the bytes? Messages between devices on two nodes, by every path that is open.

    mpiexec -n 4 python labs/4_cuda_aware/program.py

Where every rank has a GPU, arrays lie on it. Else they lie on a stand-in, whose copies to the host
take as long as `link_start` and `link_bandwidth` say: the cable between the nodes is real, the
device is described, and every table says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date

import numpy as np

from ddl_class.commands.mistake import Mistake
from ddl_class.labs.hand_in import Lab, Question, main
from ddl_class.notebook import device_places as places
from ddl_measure.device_messages import (
    ALLREDUCE,
    BANDWIDTH,
    COPY_IN,
    COPY_OUT,
    IN_A_ROW,
    LATENCY,
    ArrayHome,
    Peer,
    measure_copies,
    measure_messages,
)
from ddl_measure.device_run import (
    GPU,
    HOST,
    STAND_IN,
    DeviceRun,
    DeviceTiming,
    TransferPath,
    as_plain,
)
from ddl_teach import Comm
from ddl_teach.collectives import ring, staged_once
from ddl_teach.collectives.on_devices import ONCE
from ddl_teach.theory.bounds import bus_bandwidth
from ddl_teach.theory.robust_line import FEWEST_SIZES

KIB, MIB = 1 << 10, 1 << 20
SIZES = {GPU: [4 * KIB << 2 * k for k in range(7)], STAND_IN: [4 * KIB << 2 * k for k in range(5)]}
CHUNKS = {GPU: (64 * KIB, 256 * KIB, MIB, 4 * MIB), STAND_IN: (16 * KIB, 64 * KIB, 256 * KIB)}


def paths(
    comm: Comm, *, repetitions: int, largest: int, link_start: float, link_bandwidth: float
) -> dict | None:
    """Messages by each path, copies by themselves, and an all-reduce copied once or in steps."""
    if comm.size < 2:
        raise Mistake("a message needs two ranks: start this with mpiexec -n 2 or more")
    if not (link_start >= 0 and link_bandwidth > 0):
        raise Mistake("link_start is in seconds, 0 or more; link_bandwidth in bytes a second")
    device = GPU if _all(comm, places.device_here() == GPU) else STAND_IN
    aware, why = places.reads_device_memory(comm, device)
    straight = [TransferPath("direct")] if _all(comm, aware) else []
    link = link_start, link_bandwidth
    place = places.place_of(comm, device, link)
    sizes = [size for size in SIZES[device] if size <= largest or not largest]
    if len(sizes) < FEWEST_SIZES:
        raise Mistake(
            f"--set largest={largest}: a line needs {FEWEST_SIZES} sizes, so at least "
            f"{SIZES[device][FEWEST_SIZES - 1]} bytes, or 0 for all"
        )
    ways = [
        TransferPath(HOST),
        *straight,
        TransferPath("staged"),
        *(TransferPath("pipelined", c) for c in CHUNKS[device]),
    ]

    # The first ranks of all nodes come first: ranks 0 and 1 are on two nodes if there are two.
    apart = comm.split(0, comm.split(comm.node).rank)
    before = comm.ledger.by_kind()
    rows = measure_messages(apart, place, ways, sizes, repetitions, tests=[LATENCY])
    kinds = comm.ledger.by_kind() - before
    rows += measure_messages(apart, place, ways[:1], sizes, repetitions, tests=[BANDWIDTH])
    if comm.rank == 0:  # alone: two on one GPU, or on two cores, would share what is measured
        rows += measure_copies(place, sizes, repetitions)
    comm.barrier()
    rows += all_reduces(comm, place, [*straight, TransferPath("staged")], sizes, repetitions)
    if comm.rank:
        return None
    about = places.about_device(device, comm.size, link) | {"date": f"{date.today()}", "MPI": why}
    run = DeviceRun(device, about, tuple(rows))
    print("\n\n".join([run.label, *tables(run, sizes, comm.size)]))
    return {"messages by kind": dict(kinds), "run": as_plain(run)}


def all_reduces(
    comm: Comm,
    place: ArrayHome,
    ways: Sequence[TransferPath],
    sizes: Sequence[int],
    repetitions: int,
) -> list[DeviceTiming]:
    """Rings whose every message goes one of these ways, beside one copy out and one in; of all
    ranks the slowest counts."""
    once = Peer(
        ALLREDUCE, TransferPath(ONCE), place, lambda x, _: staged_once.allreduce(comm, x, "max")
    )
    rows = measure_messages(comm, place, ways, sizes, repetitions, [once], [ALLREDUCE])
    seconds = np.array([row.seconds for row in rows])
    ring.allreduce(comm, seconds, "max")
    return [
        replace(row, seconds=tuple(each)) for row, each in zip(rows, seconds.tolist(), strict=True)
    ]


def _all(comm: Comm, yes: bool) -> bool:
    """Whether all ranks say so."""
    said = np.array([yes], np.int8)
    ring.allreduce(comm, said, "min")
    return bool(said[0])


def tables(run: DeviceRun, sizes: Sequence[int], ranks: int) -> list[str]:
    """Medians in milliseconds: of the stages one by one, of messages, of all-reduces; and the bus
    bandwidth of these, as nccl-tests has it."""
    reductions = {
        way.path if way.path == ONCE else f"in steps, {way.path}": (ALLREDUCE, way)
        for way in run.ways(ALLREDUCE)
    }

    def rate(nbytes: int, seconds: float) -> float:
        return bus_bandwidth("allreduce", ranks, nbytes, seconds) / 1e6

    stages = {
        "copy out": (COPY_OUT + IN_A_ROW, TransferPath("copy")),
        "wire": (BANDWIDTH, TransferPath(HOST)),
        "copy in": (COPY_IN + IN_A_ROW, TransferPath("copy")),
    }
    return [
        _table("a stage, of many in a row, ms", stages, run, sizes),
        _table(
            "a message, ms", {way.name: (LATENCY, way) for way in run.ways(LATENCY)}, run, sizes
        ),
        _table("an all-reduce, ms", reductions, run, sizes),
        _table("its bus bandwidth, MB/s", reductions, run, sizes, rate),
    ]


def _table(
    title: str, lines: Mapping[str, tuple[str, TransferPath]], run: DeviceRun,
    sizes: Sequence[int], cell: Callable[[int, float], float] = lambda _, seconds: 1e3 * seconds,
) -> str:  # fmt: skip
    head = "".join(f"{size // KIB:>9} K" for size in sizes)
    found = [f"{title:<28}{head}"]
    for name, (test, way) in lines.items():
        times = run.times(test, way)
        cells = [f"{cell(size, np.median(times[size])):11.3f}" if size in times else f"{'':11}"
                 for size in sizes]  # fmt: skip
        found.append(f"  {name:<26}{''.join(cells)}")
    return "\n".join(found)


LAB = Lab(
    "4_cuda_aware",
    paths,
    strict=False,  # its window of messages arrives in one buffer, as in the OSU tests
    full={"repetitions": 7, "largest": 0, "link_start": 1e-3, "link_bandwidth": 25e6},
    short={"repetitions": 2, "largest": 256 * KIB, "link_start": 1e-3, "link_bandwidth": 25e6},
    predictions=(
        Question("ratio", "The largest message: how many times as long as directly will it take "
                 "if both hosts copy it as a whole?"),
        Question("chunk", "In chunks of how many KiB will it arrive soonest?"),
        Question("allreduce", "An all-reduce of the largest vector, no path being direct: copied "
                 "out and in 'once', or in all 'steps' of the ring?", str),
    ),
    answers=(
        Question("device", "On what did the arrays lie, 'GPU' or 'stand-in'?", str),
        Question("copy_rate", "How many MB/s does a copy out of the device reach, of the largest "
                 "size, many in a row?"),
        Question("wire_rate", "How many MB/s does the wire carry, of the largest size?"),
        Question("slowest", "Which stage keeps a message of the largest size longest: 'copy out', "
                 "'wire' or 'copy in'?", str),
        Question("ratio_model", "By the formula with these rates: staged over direct, for the "
                 "largest message?"),
        Question("ratio_measured", "And measured? (Where no path is direct: staged over host.)"),
        Question("chunk_model", "By the formula: the best chunk for it, in KiB?"),
        Question("chunk_measured", "And measured: the best of the chunks tried, in KiB?"),
        Question("chunks_from", "From messages of how many KiB on did some chunk beat staging? "
                 "0 if none did."),
        Question("allreduce_measured", "The largest all-reduce, no path being direct: 'once', "
                 "'steps', or 'equal'?", str),
    ),
)  # fmt: skip

if __name__ == "__main__":
    main(LAB)
