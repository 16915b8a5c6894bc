"""Sufficient factors: a linear layer's gradient travels as the two matrices that it is made of.

Of K rows x of inputs and K rows dy of the gradients of its outputs, a weight's gradient is dy^T x.
The factors are K (M + N) numbers, their product M N. So ranks gather the factors of all, and each
multiplies these P K rows; the sum of the rows dy is the bias's gradient.
Cost of a layer: by the ring each rank sends (P-1) K (M + N) numbers, not 2 (P-1)/P M N, and takes
P times the operations. Fewer numbers travel below 2 M N / (P (M + N)) rows; all other layers keep
their all-reduce. Xie et al., "Lighter-communication distributed machine learning via sufficient
factor broadcasting", 2016; Zhang et al., "Poseidon", 2017, which chooses layer by layer.
What to look at: factors grow with the batch, and a gradient does not.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from ddl_teach.collectives.ring import allgather
from ddl_teach.comm import Comm
from ddl_teach.networks.both_ways import both
from ddl_teach.networks.data_parallel.train_replicas import Backward
from ddl_teach.theory.data_parallel import factors_are_fewer

Rest = Callable[[list[nn.Parameter]], Backward]
"""Makes the backward pass that averages these parameters, which have no factors."""


class FactoredLinear(nn.Module):
    """A linear layer with its parameters. Its backward pass keeps the factors of the weight's
    gradient, a pair for each time that it was used, and does not multiply them."""

    def __init__(self, own: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = own.weight, own.bias
        self.kept: list[tuple[Tensor, Tensor]] = []

    def forward(self, x: Tensor) -> Tensor:
        weight, bias = self.weight.detach(), self.bias.detach()

        def backwards(dy: Tensor) -> Tensor | None:
            self.kept.append((x.detach().flatten(0, -2), dy.flatten(0, -2)))
            return dy @ weight if x.requires_grad else None

        differentiable = x if x.requires_grad else x.detach().requires_grad_()
        return both(lambda x: linear(x, weight, bias), backwards, differentiable)


@dataclass(frozen=True, eq=False)
class Factors:
    """A layer, and room for the factors of all ranks, the same number of rows for each."""

    layer: FactoredLinear
    x: Tensor
    dy: Tensor

    def put(self, comm: Comm) -> None:
        """Move what this rank's layer has kept to its rows; rows of zeros add nothing."""
        for index, room in enumerate((self.x, self.dy)):
            own = room.tensor_split(comm.size)[comm.rank]
            kept = [pair[index] for pair in self.layer.kept]
            free = len(own) - sum(map(len, kept))
            if free < 0:
                raise ValueError(
                    f"factors: {len(own) - free} rows on rank {comm.rank}, which has "
                    f"room for {len(own)}: ask for more `rows`"
                )
            torch.cat([*kept, own.new_zeros(free, own.shape[1])], out=own)
        self.layer.kept.clear()

    def average(self, outputs: slice, ranks: int) -> tuple[Tensor, Tensor]:
        """The average gradients of these outputs' weights and biases."""
        dy = self.dy[:, outputs] / ranks  # fewer numbers to divide than the product has
        return dy.T @ self.x, dy.sum(0)


class SufficientFactors:
    """Averages a network's gradients during the backward passes that it is asked to make; all
    other passes only keep factors. A rank's part has at most `rows` rows in all layers."""

    def __init__(self, comm: Comm, network: nn.Module, rows: int, rest: Rest) -> None:
        self._comm = comm
        self._factors = [
            Factors(layer, *rooms(layer, comm.size * rows))
            for layer in factored(network, rows, comm.size)
        ]
        self._rest = rest(others(network, self._factors))

    def backward(self, error: Tensor) -> None:
        """The backward pass; on return every `.grad` is the average over the ranks."""
        keep_factors(self._factors, self._rest, error)
        for each in self._factors:
            each.put(self._comm)
            allgather(self._comm, each.x)
            allgather(self._comm, each.dy)
            layer = each.layer
            layer.weight.grad, layer.bias.grad = each.average(slice(None), self._comm.size)


def factored(network: nn.Module, rows: int, ranks: int) -> list[FactoredLinear]:
    """Replace the linear layers whose factors are fewer numbers, in place; all names stay. What
    is used under two names stays as it is."""
    every = network.named_modules(remove_duplicate=False)
    uses = Counter(p for _, module in every for p in module.parameters(recurse=False))
    made = []
    for name, child in list(network.named_modules()):
        if name and type(child) is nn.Linear and child.bias is not None:
            alone = all(p.requires_grad and uses[p] == 1 for p in child.parameters())
            if alone and factors_are_fewer(rows, *child.weight.shape, ranks):
                made.append(FactoredLinear(child))
                network.set_submodule(name, made[-1])
    return made


def rooms(layer: FactoredLinear, rows: int) -> list[Tensor]:
    """Room for this many rows of both factors."""
    return [layer.weight.new_empty(rows, size) for size in reversed(layer.weight.shape)]


def others(network: nn.Module, factors: Iterable[Factors]) -> list[nn.Parameter]:
    """The parameters without factors."""
    with_factors = {p for each in factors for p in each.layer.parameters()}
    return [p for p in network.parameters() if p not in with_factors]


def keep_factors(factors: Iterable[Factors], rest: Backward, error: Tensor) -> None:
    """A backward pass; after an error in it nothing is kept."""
    try:
        rest(error)
    except BaseException:
        for each in factors:
            each.layer.kept.clear()
        raise
