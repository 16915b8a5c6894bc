"""What a run of device messages says: its tables, where lines cross, and its pictures."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from benchmarks.data_parallel import FLOOR
from benchmarks.gpu.default_paths import computed, default_table, two_beat_one
from benchmarks.gpu.device_numbers import roof_of
from benchmarks.gpu.language_model import ALONE, STEP, simulated_step
from benchmarks.pictures import plot_decisions
from ddl_class.plots.staging import plot_chunk_sizes, plot_paths
from ddl_measure.device_messages import ALLREDUCE, BANDWIDTH, BOTH_WAYS, LATENCY
from ddl_measure.device_paths import route_of, table_of
from ddl_measure.device_run import HOST, DeviceRun, TransferPath
from ddl_measure.interval import interval, ratio_of_turns
from ddl_runtime.devices.choice import PATHS, Table
from ddl_runtime.pictures.words import rate_text, size_text, time_text
from ddl_teach.collectives.on_devices import NCCL, ONCE, STEPS
from ddl_teach.planning.presets import ACCELERATORS
from ddl_teach.theory import staging

MEANS = {
    LATENCY: "one message, to and fro",
    BANDWIDTH: "one message of a window of 16",
    BOTH_WAYS: "one message each way, of a window of 16",
    ALLREDUCE: "all-reduce by a ring, the slowest rank",
}
ONE_BUCKET = "one bucket"
STAGED = TransferPath("staged")


def table(run: DeviceRun, test: str) -> str:
    """A line for each size and way, and the ratio to the staged one's turns."""
    lines = [
        f"{test}: {MEANS[test]}; {run.label}",
        f"{'bytes':>10}  {'way':<22}{'median':>12}{'95% interval':>26}{'GB/s':>9}{'/ staged':>10}",
    ]
    ways = run.ways(test)
    for nbytes in sorted({size for way in ways for size in run.times(test, way)}):
        base = run.times(test, STAGED).get(nbytes)
        for way in ways:
            seconds = run.times(test, way).get(nbytes)
            if seconds is None:
                continue
            median, low, high = interval(seconds)
            ratio = "" if base is None else f"{ratio_of_turns(seconds, base)[0]:>10.2f}"
            lines.append(
                f"{nbytes:>10}  {way.name:<22}{median * 1e6:>9.1f} us{low * 1e6:>11.1f} to "
                f"{high * 1e6:>8.1f} us{nbytes / median / 1e9:>9.2f}{ratio}"
            )
    return "\n".join(lines)


def device_ways(run: DeviceRun, test: str, direct: bool = True) -> list[TransferPath]:
    """Those among which the communicator can choose, with a library that reads devices or not."""
    paths = PATHS if direct else PATHS[1:]
    return [way for way in run.ways(test) if way.path in paths]


def decisions(run: DeviceRun, direct: bool = True) -> Table:
    """The table that this run's own times make: paths of messages, and how all-reduces copy.

    For all-reduces in steps the quickest path of their messages speaks. `direct` or not: as if
    the library could not read the device's memory.
    """
    messages = device_ways(run, LATENCY, direct)
    measured = {"message": {way: run.times(LATENCY, way) for way in messages}}
    once, steps = run.times(ALLREDUCE, TransferPath(ONCE)), {}
    for way in device_ways(run, ALLREDUCE, direct):
        for nbytes, seconds in run.times(ALLREDUCE, way).items():
            steps[nbytes] = min(steps.get(nbytes, seconds), seconds, key=np.median)
    if once and steps:
        measured["allreduce"] = {TransferPath(STEPS): steps, TransferPath(ONCE): once}
        if theirs := run.times(ALLREDUCE, TransferPath("NCCL")):
            measured["allreduce"][TransferPath(NCCL)] = theirs
    return table_of(measured)


def predicted_steps(run: DeviceRun) -> list[str]:
    """Steps with one bucket as the formula has them, beside what was measured: the step without
    messages, and a ring of staged messages by the stages of this run."""
    if LATENCY not in {row.test for row in run.rows}:
        return []
    route = route_of(run)
    lines = [f"steps with one bucket, predicted from messages and measured; {run.label}"]
    for test in dict.fromkeys(row.test for row in run.rows):
        alone, measured = (run.times(test, TransferPath(way)) for way in (FLOOR, ONE_BUCKET))
        named = re.search(r"(\d+) ranks", test)
        ranks = int(named[1] if named else run.about["ranks"])
        for nbytes, seconds in measured.items() if alone else ():
            sent = staging.allreduce_in_steps(
                ranks, nbytes, lambda part: staging.staged(part, route)
            )
            predicted, median = np.median(alone[nbytes]) + sent, np.median(seconds)
            lines.append(
                f"  {test:<32}{time_text(predicted):>12}{time_text(median):>12}"
                f"{median / predicted:>8.2f} of it"
            )
    return ["\n".join(lines)]


def simulated_steps(run: DeviceRun) -> list[str]:
    """Steps of the GPT of a simulated rank whose device has the roof of this run, beside those of
    one rank alone; in 16 bits also with the roof of the data sheet."""
    roofs, sheet, lines = roof_of(run.rows), data_sheet(run), []
    for test in dict.fromkeys(row.test for row in run.rows if row.test.startswith(STEP)):
        for kind, way in ALONE.items():
            on = {"measured roof": roofs.get(kind)}
            if sheet and kind in roofs and kind == "bfloat16":
                on[f"data sheet, {sheet}"] = ACCELERATORS[sheet].device(roofs[kind].launch)
            for seconds in run.times(test, TransferPath(way)).values():
                median = np.median(seconds)
                for name, roof in on.items():
                    simulated = simulated_step(run.device, roof, kind) if roof else np.nan
                    lines.append(
                        f"  {f'{test}, {kind}':<42}{name:<24}{time_text(simulated):>12}"
                        f"{time_text(median):>12}{median / simulated:>8.2f} of it"
                    )
    heading = f"steps of one rank alone, simulated on a roof and measured; {run.label}"
    return ["\n".join([heading, *lines])] if lines and roofs else []


def data_sheet(run: DeviceRun) -> str:
    """Which of the accelerators that are described the run's GPU is; "" for any other."""
    words = re.split(r"[^A-Za-z0-9]+", run.about.get("GPU", ""))
    return next((name for name in ACCELERATORS if name in words), "")


def beside_data_sheet(run: DeviceRun) -> list[str]:
    """What was measured of the roof, and what the data sheet says."""
    sheet, roof = data_sheet(run), roof_of(run.rows).get("bfloat16")
    if not sheet or roof is None:
        return []
    said = ACCELERATORS[sheet]
    return [
        f"the roof, measured and by the data sheet of {sheet}; {run.label}\n"
        f"  products in bfloat16{roof.flops / 1e12:>8.0f} of {said.peak / 1e12:.0f} TFLOP/s"
        f"{roof.flops / said.peak:>8.0%}\n"
        f"  copies in its memory{roof.bandwidth / 1e9:>8.0f} of {said.memory_rate / 1e9:.0f} GB/s"
        f"{roof.bandwidth / said.memory_rate:>8.0%}"
    ]


def largest_message(run: DeviceRun) -> int:
    """In bytes, of those that all paths were tried with."""
    return max(run.times(LATENCY, STAGED))


def crossings(run: DeviceRun) -> str:
    """What the fitted stages predict, and what was measured."""
    route, size = route_of(run), largest_message(run)
    lines = [f"stages fitted to copies and messages by themselves; {run.label}"]
    for name, stage in zip(("copy out", "wire", "copy in"), route.stages, strict=True):
        rate = rate_text(1 / stage.per_byte) if stage.per_byte else "endless"
        lines.append(
            f"  {name:<10}start {time_text(stage.start):>8}   {rate:>10}   "
            f"delay {time_text(stage.delay):>8}"
        )
    times = {way: run.times(LATENCY, way)[size] for way in device_ways(run, LATENCY)}
    chunked = {way: seconds for way, seconds in times.items() if way.chunk}
    quickest = min(chunked, key=lambda way: np.median(chunked[way]))
    reaches = decisions(run, direct=False)["message"]
    began = [size_text(reach.begin) for reach in reaches if reach.path == "pipelined"][:1]
    best = size_text(staging.best_chunk(size, route))
    lines += [
        f"  best chunk of {size_text(size)}: predicted {best}, of those measured "
        f"{size_text(quickest.chunk)}",
        f"  chunks beat staging: predicted from {size_text(two_beat_one(route))}, "
        f"in the table measured here from {began[0] if began else 'no size that was tried'}",
        f"  {'way':<22}{'predicted':>12}{'measured':>12}{'/ predicted':>13}",
    ]
    for way, seconds in times.items():
        if way.path != "direct":
            [expected] = computed(route, [way], [size])[way][size]
            median = float(np.median(seconds))
            lines.append(
                f"  {way.name:<22}{time_text(expected):>12}{time_text(median):>12}"
                f"{median / expected:>13.2f}"
            )
    return "\n".join(lines)


def tables_of(run: DeviceRun) -> dict[str, Table]:
    """What this run decides, by what the library can do."""
    names = {False: "staging only", True: "direct too"}
    return {names[direct]: table for direct, table in by_awareness(run).items()}


def by_awareness(run: DeviceRun) -> dict[bool, Table]:
    """The same by whether the library reads device memory: as `keep_tables` takes them."""
    able = TransferPath("direct") in run.ways(LATENCY)
    return {direct: decisions(run, direct) for direct in ((False, True) if able else (False,))}


def table_text(run: DeviceRun) -> str:
    """The decision tables, as they can be handed to `comm.device_table`."""
    lines = [f"decision tables measured here; {run.label}"]
    for name, table in tables_of(run).items():
        for operation, reaches in table.items():
            for reach in reaches:
                way = TransferPath(reach.path, reach.chunk).name
                lines.append(
                    f"  {name:<14}{operation:<12}from {size_text(reach.begin):>8}   {way}"
                )
    return "\n".join(lines)


def pictures(run: DeviceRun) -> dict[str, Figure]:
    """By name: paths, bandwidths, chunk sizes predicted and measured, tables of decisions."""
    route, size = route_of(run), largest_message(run)
    drawn = {}
    drawn["latency"] = plot_paths(run.measured(LATENCY), label=run.label)
    drawn["bandwidth"] = plot_paths(run.measured(BANDWIDTH), bandwidth=True, label=run.label)
    chunks = np.geomspace(size / 256, size, 200)
    times = [staging.pipelined(size, chunk, route) for chunk in chunks]
    measured = {
        way.chunk: interval(run.times(LATENCY, way)[size])
        for way in device_ways(run, LATENCY)
        if way.chunk
    }
    others = {
        f"{way.name}, measured": float(np.median(run.times(LATENCY, way)[size]))
        for way in (STAGED, TransferPath("direct"), TransferPath(HOST))
        if size in run.times(LATENCY, way)
    }
    drawn["chunks"] = plot_chunk_sizes(
        (chunks, times), nbytes=size, best=staging.best_chunk(size, route), measured=measured,
        others=others, label=run.label,
    )  # fmt: skip
    tables = {
        f"{operation}, {name}": reaches
        for name, table in tables_of(run).items()
        for operation, reaches in table.items()
    }
    tables["message, default"] = default_table()["message"]
    drawn["decisions"] = plot_decisions(
        {name: [(it.begin, TransferPath(it.path, it.chunk).name) for it in reaches]
         for name, reaches in tables.items()},
        largest=4 * size, label=run.label, title="Decisions measured here, and the default",
    )  # fmt: skip
    return drawn


def draw(figures: Iterable[Figure], path: Path) -> None:
    """All below each other, in one file."""
    images = []
    for figure in figures:
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=100)
        images.append(Image.open(file).convert("RGB"))
    size = max(one.width for one in images), sum(one.height for one in images)
    whole, top = Image.new("RGB", size, "white"), 0
    for one in images:
        whole.paste(one, (0, top))
        top += one.height
    whole.quantize(96).save(path, optimize=True)
