"""A backward pass without a network: work for the layers, phantoms for their gradients.

On thousands of simulated ranks it shows what a training would take. On real ranks, with real
arrays, it shows what messages cost while the ranks sleep, as they do while an accelerator
computes. `theory.data_parallel.step_time` says what to expect.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ddl_runtime.core.arrays import Array
from ddl_teach.collectives import background
from ddl_teach.comm import Comm, Phantom
from ddl_teach.networks.data_parallel.averaging import AllReduce
from ddl_teach.theory.data_parallel import bucket_groups


def backward_pass(
    comm: Comm,
    limit: float,
    seconds: Sequence[float],
    nbytes: Sequence[int],
    *,
    make: Callable[[int], Array] = Phantom,
    algorithm: str | AllReduce = "ring",
) -> None:
    """Layers that take `seconds` and have `nbytes`, in the order in which they are ready. Buckets
    of at most `limit` bytes leave when they are full; `make(n)` is an array of n bytes."""
    requests = []
    for group in bucket_groups(nbytes, limit):
        comm.work(seconds=float(sum(seconds[index] for index in group)))
        flat = make(int(sum(nbytes[index] for index in group)))
        requests.append(background.allreduce(comm, flat, algorithm=algorithm))
    for request in requests:
        request.wait()


def asleep(comm: Comm, x: np.ndarray, seconds: Sequence[float], nbytes: Sequence[int]) -> None:
    """As `backward_pass`, but with real arrays, in buckets as large as `x`: for measurements."""
    backward_pass(comm, x.nbytes, seconds, nbytes, make=lambda size: np.ones(size, np.uint8))
