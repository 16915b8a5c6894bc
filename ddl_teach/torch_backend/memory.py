"""What a rank's tensors hold: `with torch_backend.count_memory(model):` around a training.

Each storage counts from the operation that makes it until torch lets it go; fake tensors count the
bytes that true ones would have. Kinds go by when a storage was made:

    weights            it belongs to a module that `count_memory` was given
    activations        an operation of the forward pass made it
    gradients          one of the backward pass did
    gathered layers    torch gave it memory once more, as FSDP2 does before it gathers a layer
    others             one that autograd does not record did: an optimizer's states above all

What to look at: with `simulate(..., memory=80 * 2**30)` a network that does not fit says so.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from functools import partial
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ddl_runtime.core.memory import Held
from ddl_teach.comm import Comm
from ddl_teach.torch_backend import internals
from ddl_teach.torch_backend.sizes import tensors_in

DispatchMode: Any = TorchDispatchMode


class TensorMemory(DispatchMode):  # type: ignore[misc]
    """Lets the rank hold what its tensors hold; see the module."""

    def __init__(self, comm: Comm, modules: Iterable[torch.nn.Module]) -> None:
        super().__init__()
        self._comm = comm
        # By the identity of a storage: what notices its end, and what the rank holds for it.
        self._storages: dict[int, tuple[weakref.ref[Any], Held]] = {}
        for module in modules if comm.counts_memory else ():
            for tensor in (*module.parameters(), *module.buffers()):
                self._hold(internals.own_part(tensor).untyped_storage(), "weights")

    def __enter__(self) -> TensorMemory:
        internals.tell_of_resizes(self._comm, self._resized)
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        internals.tell_of_resizes(self._comm, None)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:  # fmt: skip
        kwargs = kwargs or {}
        if internals.cut_over_ranks(types):
            return NotImplemented  # it comes again with this rank's own part
        out = func(*args, **kwargs)
        if self._comm.counts_memory and not func.is_view and not internals.only_shapes():
            before = {id(storage) for storage in _storages((*args, *kwargs.values()))}
            for storage in _storages((out,)):
                if id(storage) not in before:
                    self._hold(storage, _kind())
        return out

    def _hold(self, storage: Any, what: str) -> None:
        key = id(storage)
        if key not in self._storages:
            end = weakref.ref(storage, partial(self._ended, key))
            self._storages[key] = end, self._comm.hold(storage.nbytes(), what)

    def _ended(self, key: int, _: object) -> None:
        self._storages.pop(key)[1].release()

    def _resized(self, storage: Any) -> None:
        """A storage has been given memory, or has given it back."""
        if id(storage) in self._storages:
            end, held = self._storages.pop(id(storage))
            held.release()
            again = self._comm.hold(storage.nbytes(), "gathered layers")
            self._storages[id(storage)] = end, again


def _kind() -> str:
    if internals.in_backward_pass():
        return "gradients"
    return "activations" if torch.is_grad_enabled() else "others"


def _storages(values: Iterable[Any]) -> list[Any]:
    return [x.untyped_storage() for x in tensors_in(values) if x.layout is torch.strided]
