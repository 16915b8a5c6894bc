"""Torch tensors on the stand-in device: unchanged torch programs, without a GPU.

    x = torch.zeros(3, device="standin")      model.to("standin")      x.cpu()      x.item()

A program for CUDA needs another word for the device, and nothing else: parameters, autograd and
optimizers work. Bits are those of torch on the CPU, which is what runs in the kernels, save where
torch takes another algorithm for each device (scaled_dot_product_attention); random numbers come
from the CPU's generator too, so a seed gives the same ones. As with CUDA, a backward
pass runs its hooks on a thread that belongs to the device.

Importing this file tells torch of the device, once in a process, as every back end's package does.
How a single operation is done is in `stand_in_tensor`.
What to look at: `x.numpy()`, and the error; then `DEVICE.traffic` around a step of training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import backend_registration

from ddl_runtime.devices.stand_in_tensor import NAME, StandInTensor, poisoned, run

aten = torch.ops.aten
FACTORIES = (  # whose results torch would resize, which a shell does not allow
    aten.arange.default, aten.arange.start, aten.arange.start_step, aten.linspace.default,
    aten.eye.default, aten.eye.m, aten.randperm.default, aten.tril_indices.default,
    aten.triu_indices.default,
)  # fmt: skip


# What torch asks for without a tensor of the device at hand.


def _empty(size: Sequence[int], *, dtype: Any = None, **_: Any) -> StandInTensor:
    return StandInTensor(poisoned(torch.empty(size, dtype=dtype, device="meta")))


def _empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, **_: Any
) -> StandInTensor:
    return StandInTensor(poisoned(torch.empty_strided(size, stride, dtype=dtype, device="meta")))


def _copy_from(source: torch.Tensor, target: torch.Tensor, _: bool = False) -> torch.Tensor:
    return run(aten.copy_.default, (target, source), {})


def _factory(operation: Any) -> Callable[..., StandInTensor]:
    def make(*args: Any, **kwargs: Any) -> StandInTensor:
        return StandInTensor(operation(*args, **{**kwargs, "device": "cpu", "pin_memory": None}))

    return make


class _Module(backend_registration._DummyBackendModule):
    """Random numbers are the CPU generator's, also for those who ask the device for its state."""

    def get_rng_state(self, _: Any = None) -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, _: Any = None) -> None:
        torch.set_rng_state(state)


def _register() -> torch.library.Library:
    tell = getattr(backend_registration, "_setup_privateuseone_for_python_backend", None)
    if tell is None:
        raise ImportError(
            f"torch {torch.__version__} takes no device that is written in Python: tensors on the "
            "stand-in need a newer one, 2.13 for instance; its arrays (`stand_in`) need no torch"
        )
    tell(NAME, _Module())
    library = torch.library.Library("aten", "IMPL")
    library.impl("empty.memory_format", _empty, "PrivateUse1")
    library.impl("empty_strided", _empty_strided, "PrivateUse1")
    library.impl("_copy_from", _copy_from, "PrivateUse1")
    for operation in FACTORIES:
        library.impl(operation, _factory(operation), "PrivateUse1")
    return library


LIBRARY = _register()  # what is registered lasts as long as this does
