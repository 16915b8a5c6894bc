"""Messages between devices, copied by hand: what the communicator does when it is given `x`.

    staged      copy out | wire | copy in               one after another
    pipelined   the same in chunks, three of them under way at once; `theory.staging` says how long

Beside them what one needs to choose: the size of a chunk, and a path for each size.
`kernel(device, x)` starts the work that computes `x`, and returns the event of its end.
What to look at: which stage waits for which, and that none waits for more (`plots.copies`).
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ddl_measure.device_paths import table_of
from ddl_measure.device_run import TransferPath
from ddl_runtime.devices.stand_in import StandIn
from ddl_runtime.devices.timed import TimedDevice, TimedEvent
from ddl_teach import Comm
from ddl_teach.theory import staging

Kernel = Callable[[TimedDevice, StandIn], TimedEvent]


def staged(comm: Comm, values: np.ndarray, kernel: Kernel) -> np.ndarray:
    """Copy what rank 0's kernel makes of its `values` to rank 1's device, through both hosts;
    returns what is on the device."""
    return pipelined(comm, values, max(1, len(values)), kernel)


def pipelined(comm: Comm, values: np.ndarray, chunk: int, kernel: Kernel) -> np.ndarray:
    """Like `staged`, but in chunks of `chunk` bytes."""
    device = TimedDevice(comm)
    x, host, copies = device.array(values), device.pinned(len(values)), device.new_stream()
    parts = [slice(first, first + chunk) for first in range(0, len(host), chunk)]
    if comm.rank == 0:
        device.wait(copies, kernel(device, x))
        marks = []
        for part in parts:
            device.to_host(x, part.start, host[part], copies)
            marks.append(device.record(copies))
        requests = []
        for part, mark in zip(parts, marks, strict=True):
            device.finish(mark)
            requests.append(comm.isend(host[part], 1))
        for request in requests:
            request.wait()
    elif comm.rank == 1:
        for part in parts:
            comm.recv(host[part], 0)
            device.to_device(host[part], x, part.start, copies)
        device.finish(device.record(copies))
    return device.peek(x)


def best_chunk(nbytes: float, stages: Sequence[tuple[float, float]]) -> float:
    """The chunk's bytes with which a message arrives first; a stage is (start, seconds a byte)."""
    return staging.best_chunk(
        nbytes, staging.Route(*(staging.TransferStage(*each) for each in stages))
    )


def choose(sizes: Sequence[int], seconds: Mapping[str, np.ndarray]) -> list[tuple[int, str]]:
    """Which path from how many bytes on; a row for each repetition, a column for each size."""
    ways = {
        TransferPath(path): dict(zip(sizes, times.T, strict=True))
        for path, times in seconds.items()
    }
    return [(int(reach.begin), reach.path) for reach in table_of({"message": ways})["message"]]
