"""The trainable parameters of a layer as one vector, of which each parameter is a view.

One vector a layer means one message, and it can be cut into P parts anywhere. A parameter that
several layers share belongs to the first of them; frozen parameters are left alone.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ddl_runtime.core.arrays import split_evenly
from ddl_runtime.core.memory import Held
from ddl_teach.collectives.ring import allgather
from ddl_teach.comm import Comm
from ddl_teach.networks.missing import MISSING
from ddl_teach.networks.weak_hooks import weakly


class FlatLayer:
    """One layer's parameters, neighbours in one vector."""

    def __init__(self, name: str, parameters: list[nn.Parameter]) -> None:
        kinds = {parameter.dtype for parameter in parameters}
        if len(kinds) > 1:
            names = ", ".join(sorted(map(str, kinds)))
            advice = "one vector holds one type; convert the model, as by model.to(torch.float32)"
            raise TypeError(f"the layer {name!r} has parameters of types {names}: {advice}")
        self.name, self.parameters = name, parameters
        self.weights = torch.cat([parameter.detach().reshape(-1) for parameter in parameters])
        self.missing: set[nn.Parameter] = set()  # whose gradients a backward pass still owes
        self._gathered: Held | None = None
        self.shapes = [parameter.shape for parameter in parameters]
        self.put(self.weights)

    def put(self, vector: Tensor) -> None:
        """Let the parameters be views of this vector."""
        parts = vector.split([shape.numel() for shape in self.shapes])
        for parameter, part, shape in zip(self.parameters, parts, self.shapes, strict=True):
            parameter.data = part.view(shape)

    def gather(self, comm: Comm, own: Tensor) -> None:
        """Weights that were forgotten, from the parts that all ranks own."""
        # Memory that has been a message can not be given back later: so another vector travels.
        with comm.hold(self.weights.nbytes, "layers on their way"):
            whole = torch.empty_like(self.weights)
            split_evenly(whole, comm.size)[comm.rank].copy_(own)
            allgather(comm, whole)
            if self._gathered is None:
                self._gathered = comm.hold(whole.nbytes, "gathered layers")
            self.weights.untyped_storage().resize_(whole.untyped_storage().nbytes())
            self.weights.copy_(whole)

    def forget(self) -> None:
        """Give the weights' memory back, although a backward pass still refers to it."""
        self.weights.untyped_storage().resize_(0)
        if self._gathered is not None:
            self._gathered.release()
            self._gathered = None

    def take_gradient(self) -> Tensor:
        """The parameters' gradients as one new vector, zeros where there is none, with a minus
        sign where none has one; the parameters give back the memory of their own."""
        zero = MISSING if all(p.grad is None for p in self.parameters) else 0.0
        parts = [
            torch.full_like(p, MISSING) if p.grad is None else p.grad for p in self.parameters
        ]
        for parameter in self.parameters:
            parameter.grad = None
        self.missing.clear()
        return torch.cat([part.reshape(-1) for part in parts]).add_(zero)

    def when_complete(self, do: Callable[[], None]) -> None:
        """Call `do` in each backward pass once all gradients of this layer are there."""
        self._do = do
        for parameter in self.parameters:
            parameter.register_post_accumulate_grad_hook(weakly(self._arrived))

    def _arrived(self, parameter: nn.Parameter) -> None:
        if not self.missing:  # the first one of this pass
            self.missing.update(self.parameters)
        self.missing.discard(parameter)
        if not self.missing:
            self._do()


def flat_layers(model: nn.Module) -> list[FlatLayer]:
    """Each child of the model, and what the model itself has, as far as it can be trained."""
    flat, seen = [], set[nn.Parameter]()
    layers = [("", list(model.parameters(recurse=False)))]
    layers += [(name, list(child.parameters())) for name, child in model.named_children()]
    for name, parameters in layers:
        own = [p for p in dict.fromkeys(parameters) if p.requires_grad and p not in seen]
        seen.update(own)
        if own:
            flat.append(FlatLayer(name, own))
    return flat
