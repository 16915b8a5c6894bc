"""What torch waits for: a collective or a message that ends in virtual time.

DDP asks for a future while a backward pass runs. It waits for it at the end of the pass, inside
C++, where no other simulated rank could go on. So the future is completed just before, by a
callback at the end of the pass. Until then the collective runs beside the pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch.futures import Future

from ddl_runtime.core.element_types import at_end_of_backward
from ddl_teach.comm import Request
from ddl_teach.torch_backend import internals, streams
from ddl_teach.torch_backend.algorithms import row_is_size
from ddl_teach.torch_backend.sizes import tensors_in

TorchWork: Any = dist.Work


class CollectiveWork(TorchWork):  # type: ignore[misc]
    """A collective or message under way; `request` is None where it has ended already."""

    def __init__(self, request: Request | None, tensors: Sequence[Any]) -> None:
        super().__init__()
        self.request = request  # None when it has been waited for
        self._tensors = tensors
        self._future: Any = None
        self._source = -1
        self.storages = streams.storages(t for t in tensors_in(tensors) if not row_is_size(t))

    def finish(self) -> None:
        """Wait for it."""
        request, self.request = self.request, None
        if request is not None:
            self._source = request.wait()
            if self._future is not None:
                self._future.set_result(self._tensors)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for it; how long that may take, the ranks' own timeout says."""
        stream = streams.side_stream()
        if stream is None:
            self.finish()
        else:
            stream.wait_for([self])
        return True

    def is_completed(self) -> bool:
        """True, after a wait: a program that asks in a loop would ask for ever."""
        self.finish()
        return True

    synchronize, is_success = finish, is_completed  # the same by others of torch's names

    def exception(self) -> None:
        """None: what fails ends the program."""

    def result(self) -> Sequence[Any]:
        """The tensors that it has written into."""
        return self._tensors

    def source_rank(self) -> int:
        """The rank that a message came from."""
        return self._source

    _source_rank = source_rank

    def get_future(self) -> Any:
        """A future that is complete when this is."""
        if self._future is None:
            self._future = Future()
            if self.request is None:
                self._future.set_result(self._tensors)
            elif internals.in_backward_pass():
                at_end_of_backward(self.finish)
            else:
                self.finish()
        return self._future
