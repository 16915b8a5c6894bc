"""The mean of the workers through servers, by itself: an average without any training."""

import numpy as np

from ddl_teach.comm import Comm
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.consistency.handles import Dedicated, Service
from ddl_teach.training.distribution.server import Sharded


def mean_of_workers(comm: Comm, x: np.ndarray, servers: int = 1) -> None:
    """`x` becomes the mean over the workers, in place, through that many servers."""
    handle = Sharded(servers).open(comm, x, Dense(), Service())
    if isinstance(handle, Dedicated):
        handle.serve()
    else:
        handle.average(x)
        handle.leave()
