"""One scale for a tensor that lies on many ranks: an all-reduce of the maximum, four bytes each.

Replicas must round their common weights alike, or they are replicas no longer; shards of one
tensor are put together or added as bytes only if they have one scale. A dozen tensors can share
the all-reduce: the amax of each is one entry of its vector. Cost: log2 P messages of 8 bytes each
and tensor. Micikevicius et al., 2022. What to look at: the maximum is exact in any order.
"""

from collections.abc import Sequence

import numpy as np

from ddl_teach.collectives import recursive_doubling
from ddl_teach.comm import Comm
from ddl_teach.operators.arrays import Array


def agreed_amax(comm: Comm, parts: Sequence[Array]) -> np.ndarray:
    """Of each tensor the largest magnitude on any rank, from this rank's parts of them."""
    amax = np.array([float(abs(part).max()) if len(part) else 0.0 for part in parts])
    recursive_doubling.allreduce(comm, amax, op="max")
    return amax
