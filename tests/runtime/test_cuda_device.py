"""CUDA behind the interface of devices.

Without a GPU torch's streams, events and pinned memory cannot be made. Here others stand in for
them that run everything at once, and tensors in host memory for those of a GPU: so what is called
with which bytes is tested, and what CUDA makes of it is not. That, the tests marked gpu do.
"""

import warnings
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from places import NO_GPU, on_gpu

from ddl_runtime.core import arrays
from ddl_runtime.core.element_types import TYPE_NAMES
from ddl_runtime.devices import cuda, device_of
from ddl_runtime.devices.choice import Reach
from ddl_teach import simulate


class Stream:
    """A stream that notes what it is asked."""

    def __init__(self, *about):
        self.about = about
        self.asked = []

    def record_event(self):
        self.asked.append("record")
        return SimpleNamespace(query=lambda: True, stream=self)

    def wait_event(self, event):
        self.asked.append(("wait", event.stream))


@pytest.fixture
def current(monkeypatch):
    """torch's current stream, where all of torch.cuda is made believe."""
    stream = Stream("current")
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device=None: stream)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "ExternalStream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    monkeypatch.setattr(cuda.CudaDevice, "pinned", lambda device, n: np.empty(n, np.uint8))
    return stream


TYPES = [getattr(torch, name) for name in TYPE_NAMES if hasattr(torch, name)]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_bytes_of_every_type_come_and_go(current, dtype):
    gpu = cuda.CudaDevice(0)
    x = torch.arange(32, dtype=torch.uint8).remainder(2).view(dtype)
    assert gpu.describe(x) == (32, str(dtype).removeprefix("torch."))
    assert gpu.address(x) == x.data_ptr()
    host = np.empty(7, np.uint8)
    gpu.to_host(x.reshape(1, -1), 9, host, gpu.new_stream())
    assert host.tolist() == [1, 0, 1, 0, 1, 0, 1]
    gpu.to_device(1 - host, x, 9, gpu.new_stream())
    with warnings.catch_warnings(action="ignore"):  # torch's, of complex numbers of 32 bits
        y = gpu.empty_like(x)
    gpu.copy(y, x)
    assert arrays.as_bytes(y).tolist() == [0, 1] * 4 + [0, 0, 1, 0, 1, 0, 1, 0] + [0, 1] * 8
    assert gpu.flat(y.reshape(1, -1)).shape == x.shape


def test_what_cannot_travel_is_refused():
    gpu = cuda.CudaDevice(0)
    for x, told in (
        (torch.zeros(3, 4).T, "contiguous"),
        (torch.zeros(2, dtype=torch.complex64).conj(), "conjugated"),
        (torch.eye(3).to_sparse(), "sparse"),
        (torch.zeros(2).to(torch.float8_e4m3fn), "element type"),
    ):
        with pytest.raises(TypeError, match=told):
            gpu.describe(x)


def test_events_order_streams_and_are_only_asked(current):
    gpu = cuda.CudaDevice(0)
    event = gpu.record(gpu.current_stream(None))
    other = gpu.new_stream()
    gpu.wait(other, event)
    assert event.done()
    assert (current.asked, other.asked) == (["record"], [("wait", current)])


def test_arrays_of_other_libraries_are_seen_where_they_are(current, monkeypatch):
    memory = torch.arange(4.0)
    seen = {"data": (memory.data_ptr(), False), "stream": 7}
    monkeypatch.setattr(torch, "as_tensor", lambda x, device: memory)
    foreign = SimpleNamespace(__cuda_array_interface__=seen)
    assert cuda.as_tensor(foreign) is memory
    (waited,) = current.asked
    assert waited[1].about == (7, memory.device)  # the stream its library had named
    seen["data"] = (memory.data_ptr() + 1, False)
    with pytest.raises(TypeError, match="set_device"):
        cuda.as_tensor(foreign)


class Pretended(torch.Tensor):
    """In host memory, and yet every message of it takes the ways of a GPU's."""

    comm_device = cuda.CudaDevice(0)


@pytest.mark.parametrize("path", ["staged", "pipelined"])
def test_tensors_travel_through_it(current, path):
    def program(comm):
        comm.device_table = {"message": (Reach(0, path, 1500),)}
        x = (torch.arange(3001.0) + comm.rank).as_subclass(Pretended)
        y = torch.zeros(3001).as_subclass(Pretended)
        assert device_of(x) is Pretended.comm_device
        comm.sendrecv(x, (comm.rank + 1) % 3, y, (comm.rank - 1) % 3)
        comm.combine(x, y, out=y)
        return y[7].item(), [one.kind for one in comm.ledger.messages]

    results = simulate(program, 3).results
    for rank, (found, kinds) in enumerate(results):
        assert found == 14 + rank + (rank - 1) % 3
        assert kinds == [f"device {path}"]


@pytest.mark.parametrize("path", [pytest.param(p, marks=on_gpu) for p in ("staged", "pipelined")])
def test_a_slow_kernel_is_waited_for_on_a_gpu(real, path):
    """What `test_messages_and_kernels_keep_their_order` says, of CUDA itself."""

    def program(comm):
        comm.device_table = {"message": (Reach(0, path, 100_000),)}
        x = torch.full((1_000_000,), 1.0 + comm.rank, device="cuda")
        torch.cuda.synchronize()
        torch.cuda._sleep(1_000_000_000)  # clock cycles: about half a second
        if comm.rank == 0:
            x += 6
            comm.send(x, 1)
            return None
        kept = x * 10
        comm.recv(x, 0)
        return x.min().item(), x.max().item(), kept.min().item()

    assert torch.cuda.is_available(), NO_GPU
    assert real(program, 2).results[1] == (7.0, 7.0, 20.0)
