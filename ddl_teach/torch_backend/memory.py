"""What a rank's tensors hold: `with torch_backend.count_memory(model):` around a training.

Each storage counts from the operation that makes it until torch lets it go; fake tensors count the
bytes that true ones would have. Kinds go by when a storage was made:

    weights            it belongs to a module that `count_memory` was given
    activations        an operation of the forward pass made it
    gradients          one of the backward pass did
    gathered layers    torch gave it memory once more, as FSDP2 does before it gathers a layer
    others             one that autograd does not record did: an optimizer's states above all
    buckets            DDP's: a collective is given it in the backward pass, and it was made before
                       that, or before `count_memory`

Messages under way hold nothing more. Our algorithms have scratch for them in NumPy's memory, where
a GPU's library has buffers of a fixed size, which no tensor is either. What is kept on the host by
an offload of ours is not the device's; its buckets there are (`DeviceMemory(comm=...)`).
What to look at: with `simulate(..., memory=80 * 2**30)` a network that does not fit says so.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ddl_runtime.core.memory import Held
from ddl_runtime.core.running import running_comm
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
        self._storages: dict[int, tuple[weakref.ref[Any], Held, str]] = {}
        for module in modules if comm.counts_memory else ():
            for tensor in (*module.parameters(), *module.buffers()):
                self.hold(internals.own_part(tensor).untyped_storage(), "weights")

    def __enter__(self) -> TensorMemory:
        internals.tell_of_resizes(self._comm, self._hold_again)
        self._outside = self._comm.attributes.get(TensorMemory)
        self._comm.attributes[TensorMemory] = self
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        internals.tell_of_resizes(self._comm, None)
        self._comm.attributes[TensorMemory] = self._outside

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if internals.cut_over_ranks(types):
            return NotImplemented  # it comes again with this rank's own part
        out = func(*args, **kwargs)
        made = not func.is_view or func is torch.ops.aten.lift_fresh.default  # torch.tensor(1.0)
        if self._comm.counts_memory and made and not internals.only_shapes():
            given = (*args, *kwargs.values()) if not func.is_view else ()
            before = {id(storage) for storage in _storages(given)}
            kind = "activations" if torch.is_grad_enabled() else "others"
            kind = "gradients" if internals.in_backward_pass() else kind
            for storage in _storages((out,)):
                if id(storage) not in before:
                    self.hold(storage, kind)
        return out

    def hold(self, storage: Any, what: str, instead_of: str = "") -> None:
        """Until torch lets it go. What is held already stays so, if not `instead_of`."""
        key = id(storage)
        if key not in self._storages:
            end = weakref.ref(storage, lambda _: self._storages.pop(key)[1].release())
            self._storages[key] = end, self._comm.hold(storage.nbytes(), what), what
        elif self._storages[key][2] == instead_of:
            self._hold_again(storage, what)

    def _hold_again(self, storage: Any, what: str = "gathered layers") -> None:
        """As something else, or because it has been given memory, or has given it back."""
        if id(storage) in self._storages:
            end, held, _ = self._storages.pop(id(storage))
            held.release()
            self._storages[id(storage)] = end, self._comm.hold(storage.nbytes(), what), what


def note_message(tensors: Iterable[Any]) -> None:
    """This rank's collective has been given these tensors."""
    comm = running_comm()
    counting: TensorMemory | None = None if comm is None else comm.attributes.get(TensorMemory)
    if counting is not None and internals.in_backward_pass():
        for storage in _storages(tensors):
            counting.hold(storage, "buckets", instead_of="activations")


def _storages(values: Iterable[Any]) -> list[Any]:
    return [x.untyped_storage() for x in tensors_in(values) if x.layout is torch.strided]
