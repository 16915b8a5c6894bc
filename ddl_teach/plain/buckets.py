"""Buckets: gradients travel together in flat arrays, while the backward pass goes on.

Cost: B all-reduces for B buckets, and not one for each gradient. Backward pass and communication
together take between the longer of the two and their sum. With one bucket for each gradient every
gradient pays the latency; with one bucket for all nothing travels before the pass ends.
Li et al., "PyTorch distributed: experiences on accelerating data parallel training", VLDB 2020.
What to look at: the last bucket leaves when the backward pass is over, so it always takes extra
time.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from ddl_teach import Comm
from ddl_teach.plain.ring_allreduce import allreduce


def average(comm: Comm, gradients: Iterable[np.ndarray], nbytes: int) -> None:
    """Replace each gradient by its average over the ranks, in buckets of `nbytes` or more.

    `gradients` yields each of them when the backward pass has computed it, the last layer's first.
    """
    under_way = []
    for bucket in fill(gradients, nbytes):
        flat = np.concatenate([gradient.ravel() for gradient in bucket]) / comm.size
        under_way.append((bucket, flat, comm.background(allreduce, flat)))
    for bucket, flat, request in under_way:
        request.wait()
        start = 0
        for gradient in bucket:
            gradient[...] = flat[start : start + gradient.size].reshape(gradient.shape)
            start += gradient.size


def fill(gradients: Iterable[np.ndarray], nbytes: int) -> Iterator[list[np.ndarray]]:
    """Yield each bucket as soon as it is full, and what is left when the pass is over."""
    bucket: list[np.ndarray] = []
    for gradient in gradients:
        bucket.append(gradient)
        if sum(member.nbytes for member in bucket) >= nbytes:
            yield bucket
            bucket = []
    if bucket:
        yield bucket
