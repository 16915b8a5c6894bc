"""The memory of a device: whatever is taken from it is counted, and more than it has is refused.

With a GPU `where` is "cuda". Without one the device is described: its tensors are this machine's,
its `capacity` is what you say, and a thread copies, as a GPU's copy engine does.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor

from ddl_teach.comm import Comm

Wait = Callable[[], None]
Copy = Callable[[Tensor, Tensor], Wait]
"""Begin to copy the second tensor into the first; call what comes back to wait for the end."""


class DeviceFull(MemoryError):
    """Raised when more bytes are asked for than the device has left."""


class DeviceMemory:
    """Hands out room and counts it; the rank of a `comm` holds it."""

    def __init__(
        self, capacity: int | None = None, where: str = "cpu", comm: Comm | None = None
    ) -> None:
        self.where, self.capacity, self._comm = torch.device(where), capacity, comm
        self.held = self.most = 0

    @contextmanager
    def room(self, rows: int, length: int, dtype: torch.dtype) -> Iterator[list[Tensor]]:
        """`rows` vectors on the device, for as long as the `with` lasts."""
        nbytes = rows * length * dtype.itemsize
        if self.capacity is not None and self.held + nbytes > self.capacity:
            room = f"{self.held:,} of {self.capacity:,} bytes are in use"
            raise DeviceFull(f"no room for {nbytes:,}: {room}. Use smaller buckets, or shard more")
        self.held += nbytes
        self.most = max(self.most, self.held)
        held = self._comm.hold(nbytes, "buckets of states") if self._comm else nullcontext()
        try:
            with held:
                yield list(torch.empty(rows, length, dtype=dtype, device=self.where))
        finally:
            self.held -= nbytes

    @contextmanager
    def copying(self) -> Iterator[Copy]:
        """A copy engine: it does one copy after the other, in order, beside the computation."""
        stream = torch.cuda.Stream(self.where) if self.where.type == "cuda" else None

        def copy(into: Tensor, source: Tensor, ready: torch.cuda.Event | None) -> None:
            if stream is None:
                into.copy_(source)
                return
            with torch.cuda.stream(stream):
                stream.wait_event(ready)
                into.copy_(source, non_blocking=True)
                stream.synchronize()

        def begin(into: Tensor, source: Tensor) -> Wait:
            # What was computed before this line must be done before it is copied.
            ready = torch.cuda.current_stream(self.where).record_event() if stream else None
            return engine.submit(copy, into, source, ready).result

        with ThreadPoolExecutor(1) as engine:
            yield begin

    def on_host(self, like: Tensor) -> Tensor:
        """A copy of this vector in the host's memory, from where the device can fetch it."""
        host = torch.empty(like.shape, dtype=like.dtype, pin_memory=self.where.type == "cuda")
        return host.copy_(like)
