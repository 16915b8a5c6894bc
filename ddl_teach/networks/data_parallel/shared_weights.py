"""Weights that all ranks of a node see: each rank updates those of the outputs that it owns.

All lay their factors open (`sufficient_factors`). Rank r multiplies them for its N/P outputs only,
updates these weights, and keeps their momentum; all read the new weights where they are.
Cost of a layer: K (M + N) numbers copied, and the operations of K rows, as without averages. No
gradient is sent or added, and an update takes 1/P; two fences a step serve all layers. Hoefler et
al., "MPI + MPI", 2013; Rajbhandari et al., "ZeRO", 2020, whose stage 1 has such an update.
What to look at: a step can take less time than one without averages. The ledger holds no bytes.
"""

from collections.abc import Sequence
from itertools import accumulate

from torch import Tensor, nn

from ddl_runtime.core.arrays import as_elements
from ddl_runtime.core.window import SharedMemory
from ddl_teach.comm import Comm
from ddl_teach.networks.data_parallel.shared_buckets import LINE
from ddl_teach.networks.data_parallel.sufficient_factors import (
    Factors,
    Rest,
    factored,
    keep_factors,
    others,
    rooms,
)
from ddl_teach.networks.shares import own_slice


class SharedWeights(nn.Module):
    """A network whose `parameters` are those that this rank updates, each number by itself. Ranks
    meet in `backward`, and in the first call or look at `module` after it."""

    def __init__(self, comm: Comm, network: nn.Module, rows: int, rest: Rest) -> None:
        super().__init__()
        layers = factored(network, rows, comm.size)
        tensors: list[Tensor] = []
        for layer in layers:
            tensors += [
                layer.weight.detach(),
                layer.bias.detach(),
                *rooms(layer, comm.size * rows),
            ]
        self._memory, shared = one_copy(comm, tensors)
        self._factors, own = [], []
        for layer, *views in zip(layers, *(shared[kind::4] for kind in range(4)), strict=True):
            layer.weight.data, layer.bias.data, x, dy = views
            self._factors.append(Factors(layer, x, dy))
            outputs = own_slice(len(dy.T), comm)
            own += [nn.Parameter(whole.detach()[outputs]) for whole in (layer.weight, layer.bias)]
        rest_of_it = others(network, self._factors)
        self._rest = rest(rest_of_it)
        self._comm, self._network = comm, (network,)  # in a tuple: its parameters are not listed
        self._own = nn.ParameterList([*own, *rest_of_it])
        self._updating = False

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.module(x)
        return scores

    @property
    def module(self) -> nn.Module:
        """The whole network, when all ranks have made their updates."""
        if self._updating:
            self._memory.fence()
            self._updating = False
        return self._network[0]

    def backward(self, error: Tensor) -> None:
        """The backward pass; on return the `.grad` of each of `parameters` is the average."""
        keep_factors(self._factors, self._rest, error)
        for each in self._factors:
            each.put(self._comm)
        self._memory.fence()
        for each, weight, bias in zip(
            self._factors, self._own[::2], self._own[1::2], strict=False
        ):
            outputs = own_slice(len(each.layer.bias), self._comm)
            weight.grad, bias.grad = each.average(outputs, self._comm.size)
        self._updating = True


def one_copy(comm: Comm, tensors: Sequence[Tensor]) -> tuple[SharedMemory, list[Tensor]]:
    """Memory that holds the tensors of rank 0, for all ranks."""
    ends = [0, *accumulate(-(-tensor.nbytes // LINE) * LINE for tensor in tensors)]
    memory = comm.shared_memory(ends[-1])
    seen = []
    for start, tensor in zip(ends, tensors, strict=False):
        view = as_elements(memory.parts[0][start : start + tensor.nbytes], tensor)
        seen.append(view.view(tensor.shape))
        if comm.rank == 0:
            seen[-1].copy_(tensor)
    memory.fence()
    return memory, seen
