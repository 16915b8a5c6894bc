"""The communicator's default (`ddl_runtime.devices.choice.NOT_AWARE`): the table that the formula
gives for assumed stages. What to look at: other stages move its borders, and not its shape."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ddl_measure.device_paths import ASSUMED, Times, table_of
from ddl_measure.device_run import HOST, TransferPath
from ddl_runtime.devices.choice import Table
from ddl_teach.theory import staging
from ddl_teach.theory.staging import Route, TransferStage

SIZES = tuple(1 << power for power in range(10, 27))
CHUNKS = tuple(1 << power for power in range(16, 23))


def default_table(route: Route = ASSUMED) -> Table:
    """The formula's table, for an MPI that reads host memory only and was not measured."""
    ways = [TransferPath("staged"), *(TransferPath("pipelined", chunk) for chunk in CHUNKS)]
    return table_of({"message": computed(route, ways, SIZES)})


def computed(
    route: Route,
    ways: Iterable[TransferPath],
    sizes: Sequence[int],
    straight: TransferStage | None = None,
) -> dict[TransferPath, Times]:
    """Seconds by the formula, for each way and size; `straight` is a wire from device memory."""
    times = {
        "direct": lambda nbytes, _: staging.direct(nbytes, straight),
        "staged": lambda nbytes, _: staging.staged(nbytes, route),
        "pipelined": lambda nbytes, chunk: staging.pipelined(nbytes, chunk, route),
        HOST: lambda nbytes, _: staging.direct(nbytes, route.wire),
    }
    return {
        way: {nbytes: np.array([times[way.path](nbytes, way.chunk)]) for nbytes in sizes}
        for way in ways
    }


def two_beat_one(route: Route) -> float:
    """The size in bytes from which two equal chunks arrive sooner than the whole: max 2 a / (B-b);
    infinite where one stage does all the work.
    """
    beside = [route.as_one.per_byte - stage.per_byte for stage in route.stages]
    return max(
        2 * stage.start / rest if rest > 0 else math.inf
        for stage, rest in zip(route.stages, beside, strict=True)
    )
