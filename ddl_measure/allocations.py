"""How much memory a piece of work took at most: every allocation counted.

torch's profiler notes each time its allocator hands out memory and takes it back. The running sum
of these, at its highest, is what the work needed beyond what stood before, temporaries inside of
operators included. What to look at: an operator's peak minus the size of its result is its
*workspace*. Not seen is memory that a library takes without asking torch, such as the plans of an
FFT. Nor is what NumPy allocates, which Python's own tracer sees instead.
"""

import os
import tracemalloc
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.profiler import profile


def peak_allocation(work: Callable[[], Any]) -> int:
    """The bytes that `work` held at most, beyond what was allocated before it; its result counts.

    Memory of this machine's processor, not of a GPU. What other threads allocate meanwhile may
    count or not: let `work` be alone.
    """
    # Below this level the profiler prints its start and end, each time, wherever it is used.
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")
    torch.empty(1)  # the allocator's own first steps are no part of the work
    with profile(profile_memory=True, use_kineto=True) as profiler:
        result = work()
    events = [
        (event.start_ns(), event.nbytes())
        for event in profiler.kineto_results.events()
        if event.name() == "[memory]" and event.device_type() == torch.profiler.DeviceType.CPU
    ]
    del result
    # The sort is stable: events of one nanosecond stay in the order in which they came.
    held = most = 0
    for _, nbytes in sorted(events, key=lambda event: event[0]):
        held += nbytes
        most = max(most, held)
    return most


def peak_numpy_allocation(work: Callable[[], Any]) -> int:
    """The bytes of NumPy's arrays and Python's own objects that `work` held at most. Some hundreds
    of them do not belong to the work. It makes Python several times slower, so time the work
    apart."""
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        result = work()
        _, most = tracemalloc.get_traced_memory()
    finally:
        if not tracing:
            tracemalloc.stop()
    del result
    return most - before
