"""For whoever has a GPU: everything of the course that one can measure, by one command.

    python -m benchmarks.on_a_gpu [--ranks 2] [--parts messages numbers operators ...]

    messages       latency, bandwidth, both ways, all-reduce: host and device memory, all paths and
                   chunk sizes; native MPI, gloo and NCCL beside them; the stages; the decisions
    numbers        roof of the device, launches, attention and FP8 beside torch's
    operators      the four convolutions on the device beside torch's, layer by layer
    data_parallel  the ladder on the device beside torch's DDP: what overlap wins there
    pipeline       GPipe and 1F1B with stages on the device, and in host memory, beside torch's
    language_model the GPT of 124 million weights: replicas, ZeRO and split by heads, beside
                   torch's DDP and FSDP2; its step predicted from the messages, and simulated
    four_ranks     the same on four ranks
    trace          one overlapped step, as torch's profiler sees it: unit 08 looks for its gap

It should take less than eight minutes, and two ranks; on one GPU they share it. All is recorded,
every repetition of it, with machine, date, versions, GPU, driver and command: the raw numbers in
ddl_class/notebook/recorded/gpu, where unit 07 finds them, tables and pictures in
benchmarks/results/gpu. Please send both. What cannot run is told with its reason, and the rest is
recorded all the same. Without a GPU it says so and measures nothing; --stand-in runs all the same
code on the stand-in device, records nothing, and is an exercise only; --small is for a test of it.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import device_messages
from benchmarks.gpu import first_line, overlapped_trace, report
from benchmarks.gpu.kept_tables import keep_tables
from benchmarks.gpu.provenance import about
from benchmarks.pipelines import meet
from ddl_class.notebook.beside_gpus import plain_table
from ddl_class.notebook.device_places import device_here
from ddl_measure.device_messages import ALONE, LATENCY
from ddl_measure.device_run import GPU, STAND_IN, DeviceRun, DeviceTiming, save
from ddl_measure.machine import heading, keep
from ddl_teach import Comm, Ranks
from ddl_teach.comm import DiagnosedError

RAW = Path(__file__).parents[1] / "ddl_class" / "notebook" / "recorded" / "gpu"
TABLES = Path(__file__).parent / "results" / "gpu"
MOST_STEPS = 7  # of a large network, by each way
PATIENCE = 300  # seconds for a part: one that hangs must not take the others' time
SMALL = ["--repetitions", "2", "--largest", "65536", "--chunks", "16384"]
NO_GPU = """\
There is no GPU here that torch can use, so there is nothing to record: nothing was measured.
'ddl-teach doctor' says what is missing. The messages that need no GPU are measured by
'python -m benchmarks.device_messages'; '--stand-in' runs this very code without a GPU, on a
stand-in device, as an exercise."""


def messages(comm: Comm, **given: Any) -> tuple[list[DeviceTiming], dict[str, str]]:
    """As `device_messages` measures them."""
    return device_messages.on_a_rank(comm, **given)


def operators(
    comm: Comm, device: str, repetitions: int, **_: Any
) -> tuple[list[DeviceTiming], dict]:
    """Rank 0 alone."""
    from benchmarks.gpu.operators import convolutions

    return convolutions(comm, device, repetitions)


def data_parallel(
    comm: Comm, device: str, repetitions: int, folder: str, **_: Any
) -> tuple[list[DeviceTiming], dict]:
    """The ladder."""
    from benchmarks.gpu import training

    meet(comm, folder)
    return training.data_parallel(comm, device, repetitions), {}


def language_model(
    comm: Comm, device: str, repetitions: int, folder: str, **_: Any
) -> tuple[list[DeviceTiming], dict]:
    """The GPT."""
    from benchmarks.gpu import language_model as gpt

    meet(comm, folder)
    return gpt.language_model(comm, device, min(repetitions, MOST_STEPS)), {}


def four_ranks(
    comm: Comm, device: str, repetitions: int, folder: str, **_: Any
) -> tuple[list[DeviceTiming], dict]:
    """The GPT once more."""
    from benchmarks.gpu import language_model as gpt

    meet(comm, folder)
    return gpt.language_model(comm, device, min(repetitions, MOST_STEPS), alone=False), {}


def numbers(
    comm: Comm, device: str, repetitions: int, **_: Any
) -> tuple[list[DeviceTiming], dict[str, str]]:
    """Rank 0 alone."""
    from benchmarks.gpu import device_numbers

    return device_numbers.numbers(comm, device, repetitions)


def pipeline(
    comm: Comm, device: str, repetitions: int, folder: str, **_: Any
) -> tuple[list[DeviceTiming], dict]:
    """Two schedules."""
    from benchmarks.gpu import training

    meet(comm, folder)
    return training.pipeline(comm, device, min(repetitions, MOST_STEPS)), {}


def trace(comm: Comm, device: str, folder: str, **_: Any) -> tuple[list[DeviceTiming], dict]:
    """A file a rank, in that folder."""
    overlapped_trace.record(comm, device, folder)
    return [], {}


PARTS = {
    part.__name__: part
    for part in (
        messages, numbers, operators, data_parallel, pipeline, language_model, four_ranks, trace,
    )
}  # fmt: skip
ON_RANKS = {four_ranks.__name__: 4}  # the others take those that were asked for


def measure(
    parts: Sequence[str], device: str, ranks: int, given: dict[str, Any], command: str
) -> DeviceRun:
    """All parts, one after another; one that fails tells why and stops no other."""
    rows: list[DeviceTiming] = []
    notes: dict[str, str] = {}
    took: list[str] = []
    with ExitStack() as stack, tempfile.TemporaryDirectory() as whole:
        pools: dict[int, Ranks] = {}
        for part in parts:
            if ON_RANKS.get(part) == ranks:
                continue  # the part that it repeats has measured that
            print(f"{part} ...", flush=True)
            count = ON_RANKS.get(part, ranks)
            if count not in pools:
                pools[count] = stack.enter_context(Ranks(count))
            folder = tempfile.mkdtemp(dir=whole)  # ranks that have not met may meet there
            asked, begun = {"device": device, "folder": folder, **given}, time.perf_counter()
            try:
                run = pools[count].run(PARTS[part], **asked, trace=False, timeout=PATIENCE)
                if part == trace.__name__:
                    overlapped_trace.keep(Path(folder), about(device, ranks, command), device)
            except (DiagnosedError, ValueError, OSError) as error:
                notes[part] = f"not measured: {first_line(error)}"
                print(error, file=sys.stderr)
            else:
                rows += device_messages.slowest([own for own, _ in run.results])
                notes |= run.results[0][1]
            took.append(f"{part} {time.perf_counter() - begun:.0f} s")
    notes["took"] = ", ".join(took)
    return DeviceRun(device, about(device, ranks, command) | notes, tuple(rows))


def text_of(run: DeviceRun) -> list[str]:
    """The parts of a results file."""
    tests = list(dict.fromkeys(row.test for row in run.rows))
    told = device_messages.text_of(run) if LATENCY in tests else [heading(dict(run.about))]
    others = [test for test in tests if test not in report.MEANS and ALONE not in run.ways(test)]
    told += [plain_table(run, test) for test in others]
    told += report.beside_data_sheet(run) + report.predicted_steps(run)
    return told + report.simulated_steps(run)


def name_of(run: DeviceRun) -> str:
    """The machine's, for its files: the GPU and how many there are."""
    words = f"{run.about['GPU']} {run.about.get('GPUs', '0').split()[0]}x {run.about['date']}"
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")


def main() -> None:
    """Measure what there is to measure, print it, record it."""
    parser = device_messages.arguments(__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--stand-in", action="store_true", help="an exercise without a GPU")
    parser.add_argument("--small", action="store_true", help="sizes of a test")
    words = sys.argv[1:]
    chosen = parser.parse_args(words + SMALL * ("--small" in words))
    device = STAND_IN if chosen.stand_in else device_here()
    if device != GPU and not chosen.stand_in:
        print(NO_GPU)
        return
    given = device_messages.sizes_of(chosen, device) | {"repetitions": chosen.repetitions}
    command = f"python -m benchmarks.on_a_gpu {' '.join(sys.argv[1:])}".strip()
    run = measure(chosen.parts, device, chosen.ranks, given, command)
    name = name_of(run)
    if device == GPU:
        save(RAW / f"{name}.json", run)  # first of all: what was measured is not lost
        if LATENCY in {row.test for row in run.rows}:
            keep_tables(report.by_awareness(run))
    parts = text_of(run)
    print("\n\n".join(parts))
    if device != GPU:
        print("\nan exercise on a stand-in device: nothing was recorded")
        return
    keep(TABLES / f"{name}.txt", parts)
    if LATENCY in {row.test for row in run.rows}:
        report.draw(report.pictures(run).values(), TABLES / f"{name}.png")
    print(f"\nrecorded: {RAW / name}.json, {TABLES / name}.txt and .png")


if __name__ == "__main__":
    main()
