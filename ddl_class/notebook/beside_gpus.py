"""Your own messages beside those that were recorded on GPUs.

Here a message begins and ends in host memory; there it begins and ends on a GPU, by each path that
was open. The two say nothing about each other's speed; the shapes can be compared: how long they
stay flat, where they bend, which paths cross. What to look at: the labels, which say on what.
`python -m benchmarks.on_a_gpu` records such runs, with machine, date, versions, GPU and driver.
There may be none: then the course says so, and shows no numbers from elsewhere.
"""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from ddl_class.exercises.stages import RunningRanks
from ddl_class.plots.frame import need
from ddl_class.plots.staging import plot_recorded
from ddl_measure.device_messages import IN_HOST_MEMORY, LATENCY, measure_messages
from ddl_measure.device_run import GPU, HOST, NO_DEVICE, DeviceRun, TransferPath, load
from ddl_measure.interval import interval, ratio_of_turns
from ddl_runtime.interchange.torch_trace import read_torch_traces
from ddl_runtime.pictures.words import size_text
from ddl_runtime.records.run import Run

RECORDED = Path(__file__).resolve().parent / "recorded" / "gpu"
TRACES = RECORDED.parent / "traces"
SIZES = tuple(4**power for power in (3, 5, 7, 8, 9, 10, 11))


def recorded_runs(folder: Path | str = RECORDED) -> list[DeviceRun]:
    """All runs that were recorded on GPUs, the latest first."""
    runs = {path: load(path) for path in sorted(Path(folder).glob("*.json"))}
    for path, run in runs.items():
        words = f"{path} was measured on {run.label}, and runs of GPUs belong here"
        need(run.device == GPU, f"{words}: keep it elsewhere")
    return sorted(runs.values(), key=lambda run: run.about["date"], reverse=True)


def plain_table(run: DeviceRun, test: str) -> str:
    """A line a way and size; ratios to torch's own where it took part."""
    ways = run.ways(test)
    base = next((way for way in ways if way.path.startswith("torch")), ways[0])
    against = f"/ {base.path}"
    wide = len(against) + 2
    lines = [
        f"{test}; {run.label}",
        f"  {'way':<30}{'bytes':>10}{'median':>12}{'95% interval':>27}{against:>{wide}}",
    ]
    for way in ways:
        for nbytes, seconds in run.times(test, way).items():
            median, low, high = (1e3 * number for number in interval(seconds))
            ratio = ratio_of_turns(seconds, run.times(test, base)[nbytes])[0]
            lines.append(
                f"  {way.name:<30}{size_text(nbytes):>10}{median:>9.3f} ms{low:>12.3f} to"
                f" {high:>8.3f} ms{ratio:>{wide}.2f}"
            )
    return "\n".join(lines)


def recorded_table(about: str, folder: Path | str = RECORDED) -> str:
    """What was recorded on GPUs of tests whose name begins so, as a text to print beside one's
    own numbers."""
    tables = [
        plain_table(run, test)
        for run in recorded_runs(folder)
        for test in dict.fromkeys(row.test for row in run.rows)
        if test.startswith(about)
    ]
    none = (
        f"No run on a GPU is recorded yet for {about}. If you have a GPU, record one:\n"
        "    .venv/bin/python -m benchmarks.on_a_gpu"
    )
    return "\n\n".join(tables) or none


def recorded_traces(folder: Path = TRACES) -> dict[str, Run]:
    """By their labels, those of GPUs first: the library's overlapped step on two ranks, as torch's
    profiler recorded it (`python -m benchmarks.gpu.overlapped_trace`)."""
    kept = []
    for path in folder.glob("*/about.json"):
        about = json.loads(path.read_text(encoding="utf-8"))
        where = about.get("GPU", "a processor, without a GPU")
        label = f"recorded on {about['ranks']} ranks of {where}, {about['date']}"
        kept.append(("GPU" in about, label, sorted(path.parent.glob("trace-*.json.gz"))))
    return {label: read_torch_traces(paths) for _, label, paths in sorted(kept, reverse=True)}


def measure_here(
    engines: RunningRanks, sizes: Sequence[int] = SIZES, repetitions: int = 6
) -> DeviceRun:
    """Messages between the first two engines, in the memory of their hosts."""
    how = {"place": IN_HOST_MEMORY, "ways": [TransferPath(HOST)], "sizes": list(sizes)}
    patient = partial(engines.run, timeout=120, strict=False)
    run = patient(measure_messages, 2, repetitions=repetitions, **how)
    return DeviceRun(NO_DEVICE, {}, tuple(run.results[0]))


def plot_beside_recorded(run: DeviceRun, folder: Path = RECORDED) -> Figure:
    """What was measured here and, on the same scale, every run on a GPU that is kept there."""
    recorded = {each.label: each.measured(LATENCY) for each in recorded_runs(folder)}
    return plot_recorded(run.measured(LATENCY), recorded, label=run.label)
