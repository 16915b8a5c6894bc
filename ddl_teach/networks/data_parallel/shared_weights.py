"""Weights that all ranks of a node see: each rank updates those of the outputs that it owns.

All lay their factors open (`sufficient_factors`). Rank r multiplies them for its N/P outputs only,
updates these weights, and keeps their momentum; all read the new weights where they are.
Cost of a layer: K (M + N) numbers copied, and the operations of K rows, as without averages. No
gradient is sent or added, and an update takes 1/P; two fences a step serve all layers. Hoefler et
al., "MPI + MPI", 2013; Rajbhandari et al., "ZeRO", 2020, whose stage 1 has such an update.
What to look at: a step can take less time than one without averages. The ledger holds no bytes.
"""

from itertools import accumulate
from typing import Self

from torch import Tensor, nn

from ddl_runtime.core.arrays import as_elements
from ddl_teach.comm import Comm
from ddl_teach.networks.data_parallel.sufficient_factors import SufficientFactors
from ddl_teach.networks.shares import own_slice

LINE = 64  # bytes: what different ranks write shares no cache line


class SharedWeights(nn.Module):
    """A network whose `parameters` are those that this rank updates, each number by itself. Ranks
    meet in `backward`, and in the first call, or look at `module`, after it. Keep the weights by
    `module.state_dict()`."""

    def __init__(self, comm: Comm, network: nn.Module, rows: int) -> None:
        super().__init__()
        self._comm, self._network = comm, (network,)  # in a tuple its parameters are not listed
        self._factors = SufficientFactors(comm, network, rows)
        layers = self._factors.layers
        tensors = [t for layer in layers for t in (layer.weight, layer.bias, layer.x, layer.dy)]
        ends = [0, *accumulate(-(-tensor.nbytes // LINE) * LINE for tensor in tensors)]
        self._memory = comm.shared_memory(ends[-1])
        for start, tensor in zip(ends, tensors, strict=False):
            raw = self._memory.parts[0][start : start + tensor.nbytes]
            shared = as_elements(raw, tensor.detach()).view(tensor.shape)
            if comm.rank == 0:
                shared.copy_(tensor.detach())
            tensor.data = shared
        self._memory.fence()
        self._owned = []
        for layer in layers:
            outputs = own_slice(len(layer.bias), comm)
            own = [nn.Parameter(whole.detach()[outputs]) for whole in (layer.weight, layer.bias)]
            self._owned.append((layer, outputs, own))
        own = [parameter for *_, owned in self._owned for parameter in owned]
        self._updated = nn.ParameterList(own + self._factors.others)
        self._others_update = False

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.module(x)
        return scores

    def train(self, mode: bool = True) -> Self:
        self._network[0].train(mode)
        return super().train(mode)

    @property
    def module(self) -> nn.Module:
        """The whole network, once all ranks have updated their weights."""
        if self._others_update:
            self._memory.fence()
            self._others_update = False
        return self._network[0]

    def backward(self, error: Tensor) -> None:
        """The backward pass; on return each `.grad` of `parameters` is the average."""
        self._factors.lay_open(error)
        self._memory.fence()
        for layer, outputs, own in self._owned:
            layer.average(outputs, self._comm.size, own)
        self._others_update = True
