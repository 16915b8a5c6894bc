"""How long a simulated rank computes: `with torch_backend.computing(...):` around a training.

    Roofline(flops, bandwidth)    an operation takes as long as its floating-point operations or
                                  its bytes, whichever is longer, on a described device
    "measured"                    as long as it has just taken on this machine's processor

Without it computing takes no virtual time at all: then a run's time is that of messages alone.
Real ranks compute in real time, and nothing is added.

What to look at: on the timeline, messages under the work.
"""

from __future__ import annotations

import time
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from ddl_teach.comm import Comm
from ddl_teach.theory.machine import Roofline
from ddl_teach.torch_backend import internals, streams
from ddl_teach.torch_backend.sizes import tensors_in

DispatchMode: Any = TorchDispatchMode


class Computing(DispatchMode):  # type: ignore[misc]
    """Moves the rank's clock with each operation; `flops` and `seconds` are the sums so far."""

    def __init__(self, comm: Comm, how: Roofline | str) -> None:
        super().__init__()
        if not isinstance(how, Roofline) and how != "measured":
            raise ValueError(f"computing takes a Roofline or 'measured', not {how!r}")
        self._comm = comm
        self._how = how
        self.flops = 0.0
        self.seconds = 0.0

    def __enter__(self) -> Computing:
        streams.guard(True)
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        streams.guard(False)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if internals.cut_over_ranks(types):
            return NotImplemented  # it comes again with this rank's own part
        if internals.only_shapes() or func.is_view:
            return func(*args, **kwargs)
        inputs = [*tensors_in((*args, *kwargs.values()))]
        if not internals.without_data():
            streams.before_reading(inputs)
        begun = time.perf_counter()
        out = func(*args, **kwargs)
        measured = time.perf_counter() - begun
        count = flop_registry.get(func.overloadpacket)
        flops = 0.0 if count is None else float(count(*args, **kwargs, out_val=out))
        if isinstance(self._how, Roofline):
            nbytes = sum(x.numel() * x.element_size() for x in (*inputs, *tensors_in((out,))))
            seconds = self._how.seconds(flops, nbytes)
        else:
            seconds = measured
        self.flops += flops
        self.seconds += seconds
        if self._comm.virtual_time:
            self._comm.work(seconds=seconds)
        return out
