"""The puzzle of unit 03: jobs on two streams that share a workspace, and how a plan is carried
out."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.divided_batches import predicted
from ddl_teach.operators.divided_batches.front import desirable
from ddl_teach.operators.graphs.schedule import OperationSchedule
from ddl_teach.theory.convolution_time import Rates

ROOM = 16 * 2**20
RATES = Rates(product=2e12, transform=2e12, bandwidth=500e9)
BATCH, LAUNCH = 32, 20e-6
LAYERS = (  # channels in, pixels a side, channels out, kernel
    (64, 56, 192, 3), (192, 28, 128, 3), (32, 28, 96, 5), (96, 28, 128, 3), (48, 14, 64, 7),
    (160, 14, 320, 3), (112, 14, 224, 3), (32, 56, 64, 5), (128, 28, 192, 3), (24, 28, 64, 7),
)  # fmt: skip

Plan = Sequence[Sequence[tuple[int, int]]]  # for each stream its jobs, each with a point


@cache
def fronts() -> tuple[list[list[int]], list[list[float]]]:
    """The workspaces and the seconds of the points of each job's front."""
    workspaces, seconds = [], []
    for channels, size, out, kernel in LAYERS:
        layer = Convolution(
            BATCH, channels, size, size, out, (kernel, kernel), padding=(kernel // 2, kernel // 2)
        )
        job = predicted.predict(layer, RATES, launch=LAUNCH)["forward"]
        front = desirable(job)
        workspaces.append([division.workspace for division in front])
        seconds.append([division.seconds for division in front])
    return workspaces, seconds


def carried_out(plan: Plan) -> OperationSchedule:
    """When each job begins and ends, by its number; each alone must fit into the workspace."""
    workspaces, seconds = fronts()
    left, now, free = [list(jobs) for jobs in plan], 0.0, ROOM
    running: dict[int, tuple[float, int]] = {}  # of a stream: when its job ends, its workspace
    begun: dict[int, tuple[float, float, int]] = {}
    while any(left) or running:
        for stream, jobs in enumerate(left):
            if stream not in running and jobs and workspaces[jobs[0][0]][jobs[0][1]] <= free:
                job, point = jobs.pop(0)
                running[stream] = now + seconds[job][point], workspaces[job][point]
                begun[job] = now, seconds[job][point], stream
                free -= workspaces[job][point]
        if not running:
            raise ValueError("no job can begin: a point needs more than the whole workspace")
        now = min(end for end, _ in running.values())
        for stream in [stream for stream, (end, _) in running.items() if end <= now]:
            free += running.pop(stream)[1]
    start, lasts, streams = zip(*(begun[job] for job in sorted(begun)), strict=True)
    return OperationSchedule(np.array(start), np.array(lasts), np.array(streams), len(left))
