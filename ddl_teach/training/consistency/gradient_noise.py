"""How noisy gradients are, from what ranks have in hand anyway.

A rank's gradient g over b samples has |g|^2 = |G|^2 + tr(S)/b on average, the mean over P ranks
|G|^2 + tr(S)/(P b): two equations for the noise tr(S) of one sample and the true |G|^2, for one
number more in an all-reduce. Average both over many steps before you divide: the noise scale
tr(S)/|G|^2 says up to which batch more samples make better steps (`theory.large_batches`), and it
grows while the loss falls. McCandlish, Kaplan, Amodei et al., "An empirical model of large-batch
training", 2018, appendix A.
"""

import numpy as np

from ddl_teach.collectives import ring
from ddl_teach.comm import Comm
from ddl_teach.theory import large_batches


def noise_and_signal(comm: Comm, gradient: np.ndarray, samples: int) -> tuple[float, float]:
    """tr(S) and |G|^2, estimated from this step of two ranks or more; `gradient` stays."""
    mean, length = gradient.copy(), np.array([gradient @ gradient])
    for x in (mean, length):
        ring.allreduce(comm, x)
        x /= comm.size
    small, large = float(length[0]), float(mean @ mean)
    return large_batches.noise_and_signal(small, samples, large, comm.size * samples)
