"""The ladder of data parallelism and torch's DistributedDataParallel, side by side on the engines.

All train the same network on the same samples and take turns, so that a disturbance of the machine
hits all alike. What to look at: ratios within one run; the times themselves are this machine's.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ddl_class.notebook import gloo
from ddl_class.notebook.timing import stopwatch
from ddl_teach import Comm
from ddl_teach.networks.data_parallel.ladder import rungs, step_of

WARM_UP = 2  # turns that do not count


def race(comm: Comm, make: Callable[[], Any], batch: tuple, turns: int = 13) -> dict[str, Any]:
    """Seconds of each turn's step, by way, on this rank; `make()` is a network."""
    ways = {**rungs(comm, make), "torch's DDP": gloo.data_parallel(comm, make())}
    steps = [step_of(*way, batch) for way in ways.values()]
    times = stopwatch(comm, [0], steps, turns + WARM_UP)[WARM_UP:, :, 0]
    return dict(zip(ways, np.transpose(times), strict=True))
