"""Overlap: a bucket leaves as soon as it is full, while the backward pass goes on.

A hook runs when a parameter's gradient is complete: it moves the gradient to its bucket, and when
the last one has come the bucket's all-reduce begins, while early layers still compute. The bucket
that is filled last has nothing left to hide behind.
Cost: between max(backward, communication) and their sum; `theory.data_parallel` has it bucket by
bucket. Li et al., "PyTorch distributed: experiences on accelerating data parallel training", 2020.
What to look at: messages under the backward pass. One giant bucket leaves when it is over; a
bucket for each tensor pays a latency for each.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import nn

from ddl_teach.collectives.background import allreduce
from ddl_teach.comm import Comm, Request
from ddl_teach.networks.data_parallel.averaging import AllReduce
from ddl_teach.networks.data_parallel.buckets import Bucket
from ddl_teach.networks.weak_hooks import weakly

BUCKET = 1 << 20  # bytes


Begin = Callable[[Comm, Bucket], Request]
"""Begins the all-reduce of a bucket; what it returns is waited for when the pass is over."""


def in_background(algorithm: str | AllReduce = "ring") -> Begin:
    """Any all-reduce by its name, "native" among them, or one of your own."""

    def begin(comm: Comm, bucket: Bucket) -> Request:
        return allreduce(comm, bucket.flat, algorithm=algorithm)

    return begin


class Overlapped:
    """Averages the gradients in `buckets` during the backward passes that it is asked to make. All
    other passes only add to this rank's gradients: so those of several pieces of a batch travel
    once, with the last piece. `close` takes the hooks away."""

    def __init__(
        self, comm: Comm, buckets: Sequence[Bucket], begin: Begin = in_background()
    ) -> None:
        self._comm, self._buckets, self._begin = comm, buckets, begin
        self._missing: list[set[int]] = []  # of each bucket, while a pass goes on
        self._requests: list[Request] = []
        arrived = weakly(self._arrived)
        self._hooks = [
            parameter.register_post_accumulate_grad_hook(partial(arrived, number, index))
            for number, bucket in enumerate(buckets)
            for index, parameter in enumerate(bucket.parameters)
        ]

    def backward(self, error: torch.Tensor) -> None:
        """The backward pass; on return every `.grad` is the average over the ranks."""
        self.begin()
        try:
            # Hooks that send belong to the thread that calls, also where a GPU has one of its own.
            with torch.autograd.set_multithreading_enabled(False):
                error.backward()
        except BaseException:
            self.give_up()
            raise
        self.finish()

    def begin(self) -> None:
        """Before the first gradient of a pass."""
        self._requests = []
        self._missing = [set(range(len(bucket.parameters))) for bucket in self._buckets]

    def give_up(self) -> None:
        """Later passes are as any; in this one an error was raised."""
        self._missing = []

    def finish(self) -> None:
        """After the last one: send what this pass has not come through, and wait for all."""
        try:
            for number, missing in enumerate(self._missing):
                for index in sorted(missing):
                    self._arrived(number, index)
        finally:
            self.give_up()
        for request in self._requests:
            request.wait()
        for bucket in self._buckets if self._requests else []:
            bucket.forget_missing()

    def _arrived(self, number: int, index: int, _: nn.Parameter | None = None) -> None:
        if not self._missing:
            return
        self._buckets[number].put(index, self._comm.size)
        self._missing[number].remove(index)
        # All ranks begin in the same order, in whatever order their buckets are filled.
        while (next_one := len(self._requests)) < len(self._buckets):
            if self._missing[next_one]:
                break
            self._requests.append(self._begin(self._comm, self._buckets[next_one]))

    def close(self) -> None:
        for hook in self._hooks:
            hook.remove()
