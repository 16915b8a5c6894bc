"""CUDA: NVIDIA's GPUs, by way of torch, which every learner of this course has.

Arrays of other libraries (CuPy, Numba, whatever speaks DLPack or has `__cuda_array_interface__`)
are seen as torch tensors of the same memory. Their kernels run on streams of their own, so torch's
stream first waits for what they have queued there. A copy out is cudaMemcpyAsync to pinned memory,
on a stream beside the kernels; an event is cudaEventRecord behind them, `done` cudaEventQuery.

torch gives memory that was freed to the next that asks, also while a copy on another stream still
reads it; a transfer therefore holds its array until its last event is done.
"""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ddl_runtime.core.element_types import TYPE_NAMES, combine_tensors, lies_plainly, refusal
from ddl_runtime.devices.awareness import awareness
from ddl_runtime.devices.choice import Table, kept_table
from ddl_runtime.devices.device import Array, Device


@dataclass(frozen=True)
class CudaEvent:
    """A mark in a stream of CUDA."""

    event: torch.cuda.Event

    def done(self) -> bool:
        return self.event.query()


class CudaDevice(Device):
    """One GPU."""

    def __init__(self, index: int) -> None:
        self.name = f"cuda:{index}"
        self._index = index

    @functools.cached_property
    def direct(self) -> bool:
        return awareness().direct

    @property
    def table(self) -> Table | None:
        return kept_table(self.direct)

    def describe(self, x: Array) -> tuple[int, str]:
        tensor = as_tensor(x)
        name = str(tensor.dtype).removeprefix("torch.")
        if name not in TYPE_NAMES or not lies_plainly(tensor):
            raise refusal(tensor)
        return tensor.numel() * tensor.element_size(), name

    def flat(self, x: Array) -> torch.Tensor:
        return as_tensor(x).detach().reshape(-1)

    def empty_like(self, x: Array) -> torch.Tensor:
        tensor = as_tensor(x)
        return tensor.detach().new_empty(tensor.shape)

    def combine(self, op: str, a: Array, b: Array, out: Array) -> None:
        combine_tensors(op, *(as_tensor(x) for x in (a, b, out)))

    def copy(self, target: Array, source: Array) -> None:
        self.flat(target).copy_(self.flat(source), non_blocking=True)

    def address(self, x: Array) -> int:
        return as_tensor(x).data_ptr()

    def current_stream(self, x: Array) -> torch.cuda.Stream:
        return torch.cuda.current_stream(self._index)

    def new_stream(self) -> torch.cuda.Stream:
        return torch.cuda.Stream(self._index)

    def record(self, stream: torch.cuda.Stream) -> CudaEvent:
        return CudaEvent(stream.record_event())

    def wait(self, stream: torch.cuda.Stream, event: CudaEvent) -> None:
        stream.wait_event(event.event)

    def pinned(self, nbytes: int) -> np.ndarray:
        return torch.empty(nbytes, dtype=torch.uint8, pin_memory=True).numpy()

    def to_host(self, x: Array, first: int, host: np.ndarray, stream: torch.cuda.Stream) -> None:
        with torch.cuda.stream(stream):
            torch.from_numpy(host).copy_(self._bytes(x, first, len(host)), non_blocking=True)

    def to_device(self, host: np.ndarray, x: Array, first: int, stream: torch.cuda.Stream) -> None:
        with torch.cuda.stream(stream):
            self._bytes(x, first, len(host)).copy_(torch.from_numpy(host), non_blocking=True)

    def _bytes(self, x: Array, first: int, nbytes: int) -> torch.Tensor:
        return self.flat(x).view(torch.uint8)[first : first + nbytes]


def cuda_device(x: Any) -> CudaDevice:
    """The GPU that `x` lives on."""
    return _device(as_tensor(x).device.index)


_device = functools.cache(CudaDevice)  # the same object each time: pinned memory is kept by it


def as_tensor(x: Any) -> torch.Tensor:
    """The memory of `x` as a tensor, once torch's stream has waited for what writes it."""
    if isinstance(x, torch.Tensor):
        return x
    if hasattr(x, "__dlpack__"):
        return torch.from_dlpack(x)  # which asks the other library to order the streams
    interface = x.__cuda_array_interface__
    tensor = torch.as_tensor(x, device="cuda")
    if tensor.numel() and tensor.data_ptr() != interface["data"][0]:
        raise TypeError(
            f"this {type(x).__name__} is not in the memory of torch's current GPU, "
            f"{tensor.device}: choose its GPU first, with torch.cuda.set_device"
        )
    if interface.get("stream") is not None:
        other = torch.cuda.ExternalStream(interface["stream"], tensor.device)
        torch.cuda.current_stream(tensor.device).wait_event(other.record_event())
    return tensor
