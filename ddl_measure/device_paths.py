"""Which path for which size: from times, measured or computed.

Walk through the sizes. The path that reigned so far goes on to reign unless another one is
certainly faster. That means with the whole 95% interval of the ratio of turns
(`measure.interval`); so noise makes no table flicker, and of equals the simplest stays. `route_of`
reads the three stages off a run: many in a row show how long a message or a copy keeps the next
one back. One alone shows how much longer it is under way.
What to look at: set `comm.device_table` to the result, and measure again.
"""

from collections.abc import Mapping

import numpy as np

from ddl_measure.device_messages import ALONE, BANDWIDTH, COPY_IN, COPY_OUT, IN_A_ROW, LATENCY
from ddl_measure.device_run import HOST, DeviceRun, TransferPath
from ddl_measure.interval import ratio_of_turns
from ddl_runtime.devices.choice import PATHS, Reach, Table
from ddl_teach.collectives.on_devices import NCCL, ONCE, STEPS
from ddl_teach.theory.robust_line import FittedLine, fit_line
from ddl_teach.theory.staging import Route, TransferStage

Times = Mapping[int, np.ndarray]  # seconds of the repetitions, by size

FASTER = 1 - 1e-9  # more than rounding: one chunk as large as the message is staging
SIMPLEST = (*PATHS, STEPS, ONCE, NCCL)
ASSUMED = Route(
    TransferStage(10e-6, 1 / 12e9),
    TransferStage(1e-6, 1 / 12.5e9, delay=1.5e-6),
    TransferStage(10e-6, 1 / 12e9),
)
"""Assumed, not measured: copies start in 10 us on a link of 12 GB/s, the wire moves 100 Gbit/s."""


def table_of(measured: Mapping[str, Mapping[TransferPath, Times]]) -> Table:
    """For each operation the fastest path from each size on; paths must have taken turns."""
    return {operation: _reigns(ways) for operation, ways in measured.items()}


def _reigns(ways: Mapping[TransferPath, Times]) -> tuple[Reach, ...]:
    simplest = sorted(ways, key=lambda way: (SIMPLEST.index(way.path), -way.chunk))
    reaches: list[Reach] = []
    king = simplest[0]
    for nbytes in sorted({size for times in ways.values() for size in times}):
        there = [way for way in simplest if nbytes in ways[way]]
        king = king if king in there else there[0]
        for rival in sorted(there, key=lambda way: np.median(ways[way][nbytes])):
            if ratio_of_turns(ways[rival][nbytes], ways[king][nbytes])[2] < FASTER:
                king = rival
                break
        if not reaches or (king.path, king.chunk) != (reaches[-1].path, reaches[-1].chunk):
            reaches.append(Reach(nbytes if reaches else 0, king.path, king.chunk))
    return tuple(reaches)


def route_of(run: DeviceRun) -> Route:
    """The three stages of a message, each fitted to its own measurements in `run`."""
    wire = run.times(LATENCY, TransferPath(HOST)), run.times(BANDWIDTH, TransferPath(HOST))
    out, into = (
        (run.times(copy, ALONE), run.times(copy + IN_A_ROW, ALONE)) for copy in (COPY_OUT, COPY_IN)
    )
    return Route(_stage(*out), _stage(*wire), _stage(*into))


def _stage(alone: Times, in_a_row: Times) -> TransferStage:
    single, many = (_line(times) for times in (alone, in_a_row))
    return TransferStage(many.start, many.per_byte, max(0.0, single.start - many.start))


def _line(times: Times) -> FittedLine:
    sizes = [nbytes for nbytes, seconds in times.items() for _ in seconds]
    return fit_line(sizes, np.concatenate([*times.values()]), resamples=100)
