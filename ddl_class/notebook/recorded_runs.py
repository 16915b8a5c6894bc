"""Runs on GPUs, as `python -m benchmarks.on_a_gpu` recorded them: to read beside one's own.

Each says on which machine, when, with which versions, GPU and driver, and holds every repetition.
What is no run on a GPU is refused here, so that no picture can show it as one. There may be none:
then the list is empty, and the course says so instead of showing numbers of anybody else's.
"""

from __future__ import annotations

from pathlib import Path

from ddl_measure.device_run import GPU, DeviceRun, load

RECORDED = Path(__file__).resolve().parent / "recorded" / "gpu"


def recorded_runs(folder: Path | str = RECORDED) -> list[DeviceRun]:
    """All of them, the latest first."""
    runs = {path: load(path) for path in sorted(Path(folder).glob("*.json"))}
    for path, run in runs.items():
        if run.device != GPU:
            raise ValueError(
                f"{path} was measured on {run.label}, and runs of GPUs belong here: keep it "
                "elsewhere"
            )
    return sorted(runs.values(), key=lambda run: run.about["date"], reverse=True)
