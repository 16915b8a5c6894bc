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
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from ddl_teach.collectives.ring import allgather
from ddl_teach.collectives.ring import allreduce as ring_allreduce
from ddl_teach.comm import Comm
from ddl_teach.networks.both_ways import both
from ddl_teach.networks.data_parallel.averaging import AllReduce
from ddl_teach.networks.data_parallel.buckets import average_buckets, fill


class FactoredLinear(nn.Module):
    """A linear layer with its parameters, and room for `rows` rows of factors. Its backward pass
    keeps those of this rank, a pair for each time that the layer was used."""

    def __init__(self, own: nn.Linear, rows: int) -> None:
        super().__init__()
        self.weight, self.bias = own.weight, own.bias
        self.x, self.dy = (own.weight.new_empty(rows, n) for n in reversed(own.weight.shape))
        self.kept: list[tuple[Tensor, Tensor]] = []

    def forward(self, x: Tensor) -> Tensor:
        weight, bias, seen = self.weight.detach(), self.bias.detach(), x.detach()

        def backwards(dy: Tensor) -> Tensor:
            self.kept.append((seen.reshape(-1, x.shape[-1]), dy.reshape(-1, len(bias))))
            return dy @ weight if x.requires_grad else torch.empty_like(x)  # which is not read

        differentiable = x if x.requires_grad else x.detach().requires_grad_()
        return both(lambda x: linear(x, weight, bias), backwards, differentiable, weight, seen)

    def put(self, comm: Comm) -> None:
        """Move what was kept to this rank's rows; rows of zeros add nothing."""
        for index, room in enumerate((self.x, self.dy)):
            own = room.tensor_split(comm.size)[comm.rank]
            kept = [pair[index] for pair in self.kept]
            free = len(own) - sum(map(len, kept))
            if free < 0:
                raise ValueError(
                    f"{len(own) - free} rows of factors, and {len(own)} fit: set rows"
                )
            torch.cat([*kept, own.new_zeros(free, own.shape[1])], out=own)

    def average(self, outputs: slice, ranks: int, parameters: Iterable[nn.Parameter]) -> None:
        """Add the average gradients of these outputs' weights and biases to those that the
        parameters have."""
        dy = self.dy[:, outputs] / ranks  # fewer numbers to divide than the product has
        for parameter, gradient in zip(parameters, (dy.T @ self.x, dy.sum(0)), strict=True):
            parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient


class SufficientFactors:
    """Averages a network's gradients during the backward passes that it is asked to make; all
    others only keep factors, which `zero_grad` does not take away. The network's linear layers
    with few rows, at most `rows` on a rank, are replaced; the `others` travel in a bucket."""

    def __init__(
        self, comm: Comm, network: nn.Module, rows: int, allreduce: AllReduce = ring_allreduce
    ) -> None:
        self._comm, self.layers = comm, factored(network, rows, comm.size)
        of_layers = {p for layer in self.layers for p in layer.parameters()}
        self.others = [p for p in network.parameters() if p not in of_layers]
        self._buckets, self._allreduce = fill(self.others, float("inf")), allreduce

    def backward(self, error: Tensor) -> None:
        """The backward pass; on return every `.grad` is the average over the ranks."""
        self.lay_open(error)
        for layer in self.layers:
            allgather(self._comm, layer.x)
            allgather(self._comm, layer.dy)
            layer.average(slice(None), self._comm.size, layer.parameters())

    def lay_open(self, error: Tensor) -> None:
        """A backward pass; it averages the others, and moves own factors to their rows."""
        try:
            torch.autograd.backward(error)
            average_buckets(self._comm, self._buckets, self._allreduce)
            for layer in self.layers:
                layer.put(self._comm)
        finally:
            for layer in self.layers:
                layer.kept.clear()


def factored(network: nn.Module, rows: int, ranks: int) -> list[FactoredLinear]:
    """Replace the linear layers whose factors are fewer numbers, in place; all names stay. A layer
    that stands under two names, or whose weight does, is left as it is."""
    every = list(network.named_modules(remove_duplicate=False))
    uses = Counter(p for _, module in every for p in module.parameters(recurse=False))
    made = []
    for name, layer in every:
        if name and type(layer) is nn.Linear and layer.bias is not None:
            outputs, inputs = layer.weight.shape
            fewer = ranks * rows * (inputs + outputs) < 2 * inputs * outputs
            if fewer and all(p.requires_grad and uses[p] == 1 for p in layer.parameters()):
                made.append(FactoredLinear(layer, ranks * rows))
                network.set_submodule(name, made[-1])
    return made
