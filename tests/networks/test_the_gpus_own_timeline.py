"""On a real GPU: one model's losses are the processor's, and copies run under kernels.

What runs at the same time is read from the device's own timeline: events in its streams, and the
spans of torch's profiler. Each test also shows the case in which nothing overlaps. The same code
runs on the stand-in device or on the processor, as far as they go.
"""

from functools import partial

import numpy as np
import pytest
import torch
from places import TENSORS, on_gpu
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from ddl_measure.experiments import one_model
from ddl_runtime.devices import device_of
from ddl_teach import simulate
from ddl_teach.networks.data_parallel.buckets import average_buckets, fill
from ddl_teach.networks.data_parallel.overlapped import Overlapped
from ddl_teach.networks.models import data
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.mlp import mlp

pytest.importorskip("ddl_runtime.devices.stand_in_torch", exc_type=ImportError)
CLOSE = {torch.float64: 1e-9, torch.float32: 1e-4}  # of a loss, after three steps of Adam


def losses(comm, way, dtype, where):
    """This rank's parts of the losses of three steps there."""
    comm.device = where
    model = gpt(width=16, heads=2, blocks=2, length=16).to(dtype)
    return one_model.WAYS[way](comm, model, data.batches(data.characters(16), 8, 3))


@pytest.mark.parametrize("where", TENSORS)
@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@pytest.mark.parametrize("way", ["data", "stage 3", "tensor", "ring", "1F1B"])
def test_one_models_losses_are_the_processors(way, dtype, where):
    on = partial(simulate, losses, 2, threads=True, way=way, dtype=dtype)
    there, here = (np.sum(on(where=place).results, axis=0) for place in (where, "cpu"))
    assert np.ptp(here) > 100 * CLOSE[dtype]  # the model does learn: another step is another loss
    assert np.allclose(there, here, rtol=0, atol=CLOSE[dtype])


def shared(first, second):
    """The time that both spans (begin, end) have in common; negative for a gap between them."""
    return min(first[1], second[1]) - max(first[0], second[0])


def under(spans, name):
    """The time during which spans of this name and any others run together."""
    some, others = ([s[1:] for s in spans if (name in s[0]) == own] for own in (True, False))
    return sum(max(0, shared(a, b)) for a in some for b in others)


def test_spans_share_what_they_share():
    assert (shared((0, 5), (3, 9)), shared((0, 1), (4, 5))) == (2, -3)
    spans = [("kernel", 0, 5), ("Memcpy DtoH", 4, 6), ("kernel", 7, 8), ("Memcpy DtoH", 9, 10)]
    assert under(spans, "DtoH") == 1
    assert under(spans[2:], "DtoH") == 0


def traced(step, activity, kind):
    """Name, begin and end in microseconds of all that ran during a step on such a device."""
    with profile(activities=[activity]) as seen:
        step()
    spans = [event for event in seen.events() if event.device_type == kind]
    return [(span.name, span.time_range.start, span.time_range.end) for span in spans]


def test_the_profilers_spans_have_names_and_times():
    x = torch.ones(300, 300)
    spans = traced(lambda: x @ x, ProfilerActivity.CPU, DeviceType.CPU)
    (product,) = (span for span in spans if span[0] == "aten::mm")
    assert product[1] < product[2]
    assert under(spans, "aten::mm") > 0  # inside of aten::matmul, which called it


def kernel_and_copy(same):
    """Spans of a long kernel and of a copy out, in milliseconds on the GPU's clock."""
    x = torch.ones(1 << 26, dtype=torch.uint8, device="cuda")
    gpu = device_of(x)
    compute, host = gpu.current_stream(x), gpu.pinned(len(x))
    copying = compute if same else gpu.new_stream()
    zero, *marks = (torch.cuda.Event(enable_timing=True) for _ in range(5))
    zero.record(compute)
    copying.wait_event(zero)
    marks[0].record(compute)
    torch.cuda._sleep(100_000_000)  # cycles: twenty times as long as the copy
    marks[1].record(compute)
    marks[2].record(copying)
    gpu.to_host(x, 0, host, copying)
    marks[3].record(copying)
    torch.cuda.synchronize()
    times = [zero.elapsed_time(mark) for mark in marks]
    return times[:2], times[2:]


@pytest.mark.parametrize("where", [pytest.param("cuda", marks=on_gpu)])
def test_a_copy_runs_under_a_kernel_of_another_stream_only(where):
    assert shared(*kernel_and_copy(same=True)) <= 0
    kernel, copy = kernel_and_copy(same=False)
    assert shared(kernel, copy) > 0.5 * (copy[1] - copy[0])


def copies_under_the_pass(comm, where):
    """How long copies out run under kernels: of an overlapped step, and of one that averages
    behind the pass; with the spans of the processor where there is no GPU."""
    comm.device, comm.device_path = where, "staged"
    cuda, width = where == "cuda", 2048 if where == "cuda" else 16
    kind = "CUDA" if cuda else "CPU"
    about = getattr(ProfilerActivity, kind), getattr(DeviceType, kind)
    model = mlp((width,) * 16).to(comm.device)
    x, y = torch.ones(width, width, device=where), torch.zeros(width, dtype=int, device=where)
    buckets = fill(model.parameters(), 4 * width**2)

    def behind(error):
        error.backward()
        average_buckets(comm, buckets)

    results = []
    for backward in (behind, Overlapped(comm, buckets).backward):
        step = partial(lambda way: way(mean_loss(model(x), y)), backward)
        step()  # makes streams and pinned memory
        results.append(traced(step, *about))
    return [(len(spans), under(spans, "DtoH")) for spans in results]


@pytest.mark.parametrize("where", ["standin", pytest.param("cuda", marks=on_gpu)])
def test_buckets_leave_under_the_backward_pass(real, where):
    for behind, overlapped in real(copies_under_the_pass, 2, where=where).results:
        assert min(behind[0], overlapped[0]) > 0
        if where == "cuda":
            assert overlapped[1] > 2 * behind[1]
