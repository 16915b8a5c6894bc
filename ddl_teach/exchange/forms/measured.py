"""Seconds of an average over all ranks, in a form, on links of several bandwidths.

All bandwidths take their turn in each round, so that whatever disturbs the machine disturbs all of
them. On real ranks packing and unpacking are real, and the links are slowed by injected delay
(`measure.slow_links`): say so beside the figures. A bandwidth of `inf` is no delay at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ddl_teach.collectives import ring
from ddl_teach.comm import Comm
from ddl_teach.exchange.forms.averaging import averager
from ddl_teach.exchange.forms.form import Form
from ddl_teach.measure.slow_links import SlowLinks


def averages(
    comm: Comm, form: Form, size: int, bandwidths: Sequence[float], turns: int = 5
) -> np.ndarray:
    """This rank's seconds for vectors of `size` float32 numbers: turn, bandwidth."""
    ways = [
        averager(SlowLinks(comm, rate) if rate < math.inf else comm, form, size, ring.allreduce)
        for rate in bandwidths
    ]
    times = np.empty((turns, len(ways)))
    for turn, place in np.ndindex(*times.shape):
        x = np.random.default_rng(comm.rank).standard_normal(size, np.float32)
        comm.barrier()
        begun = comm.now()
        ways[place](x)
        times[turn, place] = comm.now() - begun
    return times
