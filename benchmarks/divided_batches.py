"""Divided batches against whole batches under limits of the workspace, side by side.

    python -m benchmarks.divided_batches [--batch 16] [--limits 8 64] [--only VGG] [--threads 1]

Of each layer every method is measured on pieces of 1, 2, 4, ... examples, and on the whole batch.
Under each limit the dynamic program divides; a library that divides nothing takes the fastest
whole batch that fits. Both then run in turns on the same data, their results are compared, and
the ratio of their medians is shown, with what the measured pieces had let one expect. The last
ratio is to the fastest whole batch without any limit: above one, and less memory was faster.

At the end a whole network, AlexNet of one column: planned, transformed and run forwards. The room
that its convolutions take is counted while it runs, beside the plan's and the limit.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from ddl_measure.experiments.divided_batches import measure, rooms_of
from ddl_measure.experiments.divided_batches import plan as plan_measured
from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_measure.repetitions import side_by_side
from ddl_measure.zoo.alexnet import IMAGE, OneColumn
from ddl_teach.operators.convolution.methods import METHODS
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.divided_batches import divided, planning
from ddl_teach.operators.divided_batches.dynamic import divide
from ddl_teach.operators.divided_batches.front import desirable
from ddl_teach.operators.divided_batches.offers import DivisibleBatch, Division, TooLittle
from ddl_teach.operators.divided_batches.transform import in_divided_batches

RESULTS = Path(__file__).parent / "results" / "divided_batches.txt"
PACKAGES = ("numpy", "torch", "scipy")


def layers(batch: int) -> dict[str, Convolution]:
    """Some layers of the three networks, of each kind that they have."""
    sizes = {
        "AlexNet conv2": (64, 27, 192, 5, 2),
        "AlexNet conv3": (192, 13, 384, 3, 1),
        "ResNet-50 3x3 64": (64, 56, 64, 3, 1),
        "ResNet-50 3x3 128": (128, 28, 128, 3, 1),
        "ResNet-50 3x3 256": (256, 14, 256, 3, 1),
        "ResNet-50 1x1 64": (64, 56, 256, 1, 0),
        "VGG-16 conv5": (512, 14, 512, 3, 1),
    }
    return {
        name: Convolution(batch, inputs, size, size, outputs, kernel=(kernel, kernel),
                          padding=(padding, padding))
        for name, (inputs, size, outputs, kernel, padding) in sizes.items()
    }  # fmt: skip


def undivided(job: DivisibleBatch) -> DivisibleBatch:
    """The same job for a library that never cuts a batch."""
    return replace(job, offers=tuple(one for one in job.offers if one.size == job.batch))


def race(
    problem: Convolution, runs: Mapping[str, Division], repetitions: int
) -> dict[str, np.ndarray]:
    """Seconds of each division, in turns on the same data; their results agree."""
    x, weight = torch.randn(problem.x_shape), torch.randn(problem.weight_shape)
    ways = {name: divided.Divided(divided.recipe(division)) for name, division in runs.items()}
    results = [way.forward(x, weight, problem) for way in ways.values()]
    for result in results[1:]:
        torch.testing.assert_close(result, results[0], rtol=1e-3, atol=1e-2)
    del results
    return side_by_side(
        {name: lambda way=way: way.forward(x, weight, problem) for name, way in ways.items()},
        repetitions=repetitions,
    )


def report(name: str, problem: Convolution, limits: Sequence[int], repetitions: int) -> str:
    """What one layer gets under each limit, and what it gains."""
    with torch.inference_mode():
        job = measure(problem, name=name, passes=["forward"], methods=tuple(METHODS))["forward"]
        free = divide(undivided(job))
        lines = [
            f"{name}: {problem.in_channels} -> {problem.out_channels} channels, "
            f"{problem.height} x {problem.width}, kernel {problem.kernel[0]}; "
            f"{len(desirable(job))} points on its front; fastest whole batch {free}, "
            f"{free.seconds * 1e3:.1f} ms, {free.workspace / 2**20:.1f} MiB"
        ]
        for limit in limits:
            runs = {"no limit": free}
            for kind, offered in (("whole", undivided(job)), ("pieces", job)):
                try:
                    runs[kind] = divide(offered, limit * 2**20)
                except TooLittle:
                    continue
            lines.append(_line(limit, runs, race(problem, runs, repetitions)))
    return "\n".join(lines)


def _line(limit: int, runs: Mapping[str, Division], times: Mapping[str, np.ndarray]) -> str:
    whole, pieces = (str(runs.get(kind, "nothing fits")) for kind in ("whole", "pieces"))
    shown = f"{limit:>6} MiB  {whole:<20}  {pieces:<34}"
    if "pieces" not in runs:
        return shown
    median, low, high = interval(times["pieces"])
    shown += f"{median * 1e3:>8.1f} ({low * 1e3:.1f} to {high * 1e3:.1f}) ms"

    def gain(other: str) -> tuple[float, float]:
        """Measured in the race, and expected from the measured pieces."""
        if other not in runs:
            return math.nan, math.nan
        return (
            float(np.median(times[other])) / median,
            runs[other].seconds / runs["pieces"].seconds,
        )

    (fits, expected), (free, _) = gain("whole"), gain("no limit")
    return f"{shown}{fits:>8.2f}{expected:>10.2f}{free:>10.2f}"


def whole_network(batch: int, limits: Sequence[int], repetitions: int) -> str:
    """AlexNet under each limit: planned and counted rooms, and times in pieces and not."""
    network, x = OneColumn().eval(), torch.randn(batch, *IMAGE)
    lines = ["AlexNet, whole: limit, room planned and taken, seconds, whole batches / pieces"]
    with torch.no_grad():
        jobs = plan_measured(network, x, limit=math.inf, passes=["forward"]).jobs
        for limit in limits:
            runs, rooms = {}, {}
            for kind in ("whole", "pieces"):
                offered = {
                    site: {name: job if kind == "pieces" else undivided(job)
                           for name, job in by_pass.items()}
                    for site, by_pass in jobs.items()
                }  # fmt: skip
                try:
                    plan = planning.decide(offered, limit * 2**20)
                except TooLittle:
                    continue
                cut = in_divided_batches(network, plan.recipes)
                taken = max(room.nbytes for room in rooms_of(lambda cut=cut: cut(x)))
                runs[kind], rooms[kind] = partial(cut, x), (plan.workspace, taken)
            if "pieces" not in runs:
                lines.append(f"{limit:>6} MiB  nothing fits")
                continue
            times = side_by_side(runs, repetitions=repetitions)
            median, low, high = interval(times["pieces"])
            gain = np.median(times["whole"]) / median if "whole" in times else math.nan
            planned, taken = (nbytes / 2**20 for nbytes in rooms["pieces"])
            lines.append(
                f"{limit:>6} MiB  {planned:8.2f} {taken:8.2f} MiB"
                f"{median * 1e3:>8.1f} ({low * 1e3:.1f} to {high * 1e3:.1f}) ms{gain:>8.2f}"
            )
    return "\n".join(lines)


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--limits", type=int, nargs="+", default=[8, 64, 512], help="MiB")
    parser.add_argument("--only", default="", help="layers whose name begins so")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repetitions", type=int, default=7)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(0)
    parts = [
        heading(describe(PACKAGES)),
        f"Batch {chosen.batch}, {chosen.threads} thread(s), forward pass. Ratios: whole batch\n"
        "that fits / pieces, measured; the same, expected; fastest whole batch without a limit /\n"
        "pieces, measured.",
    ]
    for name, problem in layers(chosen.batch).items():
        if name.startswith(chosen.only):
            parts.append(report(name, problem, chosen.limits, chosen.repetitions))
            print(parts[-1], flush=True)
    parts.append(whole_network(chosen.batch, chosen.limits, chosen.repetitions))
    print(parts[-1], flush=True)
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
