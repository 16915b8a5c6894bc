"""Buckets: gradients end to end in a flat array, so that many travel as one.

Cost of B buckets that hold n bytes together: B all-reduces instead of one for each of K
parameters, and one pass over the gradients to copy them in. This pass divides by the ranks on the
way. Filled from the last parameter on, because that is the order in which a backward pass finishes
gradients. Li et al., "PyTorch distributed", 2020. What to look at: after averaging, a parameter's
`.grad` is a view into its bucket. Nothing is copied back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import torch
from torch import nn

from ddl_teach.collectives.ring import allreduce as ring_allreduce
from ddl_teach.comm import Comm
from ddl_teach.networks.data_parallel.averaging import AllReduce, trainable
from ddl_teach.networks.missing import MISSING, missing
from ddl_teach.theory.data_parallel import bucket_groups


@dataclass(frozen=True, eq=False)
class Bucket:
    """Parameters, room for their gradients end to end, and each gradient's place in it."""

    parameters: tuple[nn.Parameter, ...]
    flat: torch.Tensor
    places: tuple[torch.Tensor, ...]
    absent: set[int] = field(default_factory=set)  # gradients that this rank did not have

    def put(self, index: int, ranks: int) -> None:
        """Move a parameter's gradient to its place, divided by `ranks`."""
        parameter, place = self.parameters[index], self.places[index]
        if parameter.grad is None:
            place.fill_(MISSING)
            self.absent.add(index)
        else:
            torch.div(parameter.grad, ranks, out=place)
            place.view(-1)[:1].add_(0.0)  # so that it is not taken for a missing one
        parameter.grad = place

    def forget_missing(self) -> None:
        """After the sum: parameters that no rank had a gradient of have none again. Of those that
        this rank had nothing is asked: a question is a copy to the host."""
        for index in self.absent:
            if missing(self.places[index].view(-1)[:1]).any():
                self.parameters[index].grad = None
        self.absent.clear()


def fill(parameters: Iterable[nn.Parameter], nbytes: float) -> list[Bucket]:
    """Buckets of at most `nbytes`, last parameters first, one type of number in each. A parameter
    larger than that has a bucket of its own."""
    return [bucket(group, room(group)) for group in grouped(parameters, nbytes)]


def grouped(parameters: Iterable[nn.Parameter], nbytes: float) -> list[list[nn.Parameter]]:
    """Which parameters share a bucket."""
    groups = []
    for _, alike in groupby(
        reversed(trainable(parameters)), key=lambda parameter: parameter.dtype
    ):
        row = list(alike)
        sizes = [parameter.nbytes for parameter in row]
        groups += [[row[index] for index in group] for group in bucket_groups(sizes, nbytes)]
    return groups


def room(parameters: Sequence[nn.Parameter]) -> torch.Tensor:
    """A flat tensor as long as all of them together."""
    return parameters[0].new_empty(sum(parameter.numel() for parameter in parameters))


def views(flat: torch.Tensor, parameters: Sequence[nn.Parameter]) -> tuple[torch.Tensor, ...]:
    """The flat tensor cut into pieces of the parameters' shapes."""
    pieces = flat.split([parameter.numel() for parameter in parameters])
    return tuple(p.view(q.shape) for p, q in zip(pieces, parameters, strict=True))


def bucket(parameters: Sequence[nn.Parameter], flat: torch.Tensor) -> Bucket:
    """A bucket whose gradients lie in `flat`."""
    return Bucket(tuple(parameters), flat.detach(), views(flat.detach(), parameters))


def average_buckets(
    comm: Comm, buckets: Iterable[Bucket], allreduce: AllReduce = ring_allreduce
) -> None:
    """Every `.grad` becomes the average over the ranks, a bucket at a time."""
    for each in buckets:
        for index in range(len(each.parameters)):
            each.put(index, comm.size)
        allreduce(comm, each.flat)
        each.forget_missing()
