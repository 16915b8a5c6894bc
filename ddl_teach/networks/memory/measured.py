"""The ledger of memory: bytes that are really there, counted on the storages of tensors.

Views of one storage count once, a storage that was given back as nothing. Activations are what a
forward pass saves for the backward pass: it goes through a hook, and counts until it is dropped.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

from ddl_runtime.core.memory import Held
from ddl_teach.comm import Comm
from ddl_teach.networks.memory.keeping import Keeper
from ddl_teach.theory.memory import HeldBytes


def storage_bytes(tensors: Iterable[Tensor]) -> int:
    """The bytes of all storages behind these tensors, each once."""
    storages = (tensor.untyped_storage() for tensor in tensors)
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def identity(x: Tensor) -> int:
    """A key that no other storage of a tensor has. It stays the same if the storage is given back
    and made anew in another place, as stage 3 does with gathered weights."""
    return id(x.untyped_storage())  # torch keeps it for as long as the storage lives


def ledger(tensors: Mapping[str, Iterable[Tensor]], activations: int = 0) -> HeldBytes:
    """What stands in memory, from the tensors of each kind; see the `tensors()` of each stage."""
    return HeldBytes(
        activations=activations, **{kind: storage_bytes(those) for kind, those in tensors.items()}
    )


def held_by(
    model: nn.Module, keepers: Iterable[Keeper], *, weights: Iterable[Tensor] = (),
    gradients: Iterable[Tensor] = (), states: Iterable[Tensor] = (),
) -> dict[str, list[Tensor]]:  # fmt: skip
    """What a rank holds of a model and of its states, and what it holds beside them."""
    whole = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    kept = [state for keeper in keepers for state in keeper.states()]
    return {
        "weights": [*model.parameters(), *weights],
        "gradients": [*whole, *gradients],
        "states": [*kept, *states],
    }


def hold(comm: Comm, tensors: Mapping[str, Iterable[Tensor]]) -> None:
    """Let this rank hold what stands in memory to the end, from the tensors of each kind."""
    if comm.counts_memory:
        for kind, those in tensors.items():
            comm.hold(storage_bytes(those), kind)


class Activations(torch.autograd.graph.saved_tensors_hooks):
    """`with Activations(model.parameters()) as saved:` counts what autograd saves meanwhile: now
    `saved.held`, at most `saved.most`. Storages of the tensors that are given do not count. One
    inside another: both count, where torch itself would ask the inner hook alone. The rank of a
    `comm` holds them."""

    def __init__(self, apart_from: Iterable[Tensor] = (), comm: Comm | None = None) -> None:
        self._comm, self._holds = comm, dict[int, Held]()
        self._apart = {identity(tensor) for tensor in apart_from}
        self._users: Counter[int] = Counter()  # how often each storage is saved
        super().__init__(self._pack, lambda saved: saved.x)
        self.held = self.most = 0

    def __enter__(self) -> Activations:  # type: ignore[override]  # with Activations() as saved
        super().__enter__()
        self._before = _counting.set((*_counting.get(), self))
        return self

    def __exit__(self, *error: Any) -> None:
        _counting.reset(self._before)
        super().__exit__(*error)

    def holds(self, x: Tensor) -> bool:
        """Whether the storage of this tensor is saved now."""
        return self._users[identity(x)] > 0

    def _pack(self, x: Tensor) -> _Saved:
        saved, nbytes = _Saved(x), x.untyped_storage().nbytes()
        for counter in _counting.get():
            counter.add(saved, identity(x), nbytes)
        return saved

    def add(self, saved: object, storage: int, nbytes: int) -> None:
        """Count a storage for as long as `saved` lives."""
        if storage not in self._apart:
            self._users[storage] += 1
            if self._users[storage] == 1:
                self.held += nbytes
                self.most = max(self.most, self.held)
                if self._comm is not None:
                    self._holds[storage] = self._comm.hold(nbytes, "activations")
            weakref.finalize(saved, self._drop, storage, nbytes)

    def _drop(self, storage: int, nbytes: int) -> None:
        self._users[storage] -= 1
        if not self._users[storage]:
            self.held -= nbytes
            if self._comm is not None:
                self._holds.pop(storage).release()


_counting: ContextVar[tuple[Activations, ...]] = ContextVar(
    "what counts, from outside", default=()
)


class _Saved:
    """A saved tensor; when autograd lets go of it, so does the count."""

    def __init__(self, x: Tensor) -> None:
        self.x = x
