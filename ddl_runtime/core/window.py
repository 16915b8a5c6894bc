"""Windows: memory of a rank that others read, write and add to, while it does something else.

With send and receive both ends must act. Here only one does: `get` copies out of another rank's
window, `put` into it, `add` adds to it, each element whole; `fetch_and_add` also says what a
number was before. When they return, all is done at the far end too. Its owner does not notice: it
must look whether something has come, or meet the others at a barrier.

Cost of n bytes: a `put` or an `add` takes latency + n / bandwidth there and a latency back, a
`get` a latency there and latency + n / bandwidth back. What a rank reads stands in the owner's
ledger, as kind "get"; what it writes in its own, as "put" and "add". MPI Forum, "MPI: A
message-passing interface standard", chapter on one-sided communications; Hoefler et al., "Remote
memory access programming in MPI-3", TOPC 2015.

On one node a message need not be copied at all: of a shared memory each rank owns a part, and
reads those of the others directly. It shows its progress by counting up a number that all can see.
`fence` is a barrier of such counters: what was written before it is seen by all after it.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ddl_runtime.core.arrays import check_writable
from ddl_runtime.devices import device_of

DTYPES = tuple(np.dtype(name) for name in ("float32", "float64", "int64"))


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """An element type that MPI can add."""
    element_type: np.dtype[Any] = np.dtype(dtype)
    if element_type not in DTYPES:
        names = ", ".join(each.name for each in DTYPES)
        raise TypeError(f"window: dtype={element_type} is not offered: take one of {names}")
    return element_type


class Window(ABC):
    """What each rank shows of its memory: `own`, as many elements as it asked for, zeros at first.
    `sizes[r]` is the number of elements that rank r shows."""

    own: np.ndarray
    sizes: Sequence[int]

    def get(self, out: np.ndarray, source: int, start: int = 0) -> None:
        """Read as many elements as `out` has from rank `source`, from its element `start` on."""
        self._check(out, source, start, "get")
        self._read(out, source, start)

    def put(self, x: np.ndarray, to: int, start: int = 0) -> None:
        """Write `x` over the elements of rank `to` from `start` on."""
        self._check(x, to, start, "put")
        self._write("put", x, to, start)

    def add(self, x: np.ndarray, to: int, start: int = 0) -> None:
        """Add `x` to the elements of rank `to` from `start` on; no sum is ever lost."""
        self._check(x, to, start, "add")
        self._write("add", x, to, start)

    def fetch_and_add(self, amount: float, to: int, place: int = 0) -> float:
        """Add to one element, and return what it was."""
        x = np.array([amount], self.own.dtype)
        self._check(x, to, place, "fetch_and_add")
        return self._fetch(x, to, place)

    @abstractmethod
    def _read(self, out: np.ndarray, source: int, start: int) -> None: ...
    @abstractmethod
    def _write(self, verb: str, x: np.ndarray, to: int, start: int) -> None: ...
    @abstractmethod
    def _fetch(self, x: np.ndarray, to: int, place: int) -> float: ...

    def _check(self, x: np.ndarray, rank: int, start: int, verb: str) -> None:
        if not 0 <= rank < len(self.sizes):
            raise ValueError(
                f"{verb}: rank {rank} does not exist; the ranks are 0 to {len(self.sizes) - 1}"
            )
        device = device_of(x)
        if device is not None:
            raise TypeError(
                f"{verb}: x lives on {device.name}, and a window is memory of the host, which "
                "others read and write by themselves: bring a copy of x to the host, or send it"
            )
        if not isinstance(x, np.ndarray) or x.dtype != self.own.dtype:
            raise TypeError(
                f"{verb}: this window holds {self.own.dtype}, and x is "
                f"{getattr(x, 'dtype', type(x).__name__)}: convert it first"
            )
        if x.ndim != 1 or not x.flags.c_contiguous:
            raise TypeError(f"{verb}: x must be flat and contiguous, not of shape {x.shape}")
        if not (start >= 0 and start + len(x) <= self.sizes[rank]):
            raise ValueError(
                f"{verb}: elements {start} to {start + len(x) - 1} are not in the window of "
                f"rank {rank}: it has {self.sizes[rank]} elements"
            )
        if verb == "get":
            check_writable(x)


def check_room(verb: str, nbytes: Sequence[int], nodes: Sequence[int], rank: int) -> None:
    """Refuse memory that the machine of this rank does not have: `nbytes` and `nodes` are those of
    all ranks. So all ranks of a node refuse together, and none is left waiting for the others."""
    together = sum(n for n, node in zip(nbytes, nodes, strict=True) if node == nodes[rank])
    if together > _memory():
        raise too_large(verb, nbytes[rank], f"with the other ranks here {together:,}")


def too_large(verb: str, nbytes: int, why: str) -> MemoryError:
    """The error for memory that cannot be had."""
    return MemoryError(
        f"{verb}: this rank asks for {nbytes:,} bytes, {why}, and the machine has {_memory():,}. "
        "Ask for less: the size is that of one rank's part, counted in elements for a window and "
        "in bytes for shared_memory"
    )


def _memory() -> int:
    """The bytes of memory that this machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def check_one_node(nodes: Iterable[int]) -> None:
    """Refuse ranks that are on several nodes."""
    if len(set(nodes)) > 1:
        raise ValueError(
            "shared_memory: these ranks are on several nodes, which share no memory; make a "
            "communicator for each node first: comm.split(comm.node)"
        )


class SharedMemory:
    """One part of `nbytes` bytes per rank; `parts[r]` is rank r's, for all to read and write.

    On simulated ranks, which live in one process anyway, the parts are plain arrays and a fence
    costs a barrier's time. A rank that reads after `comm.work` finds what had been written by
    then.
    """

    def __init__(self, parts: list[np.ndarray], fence: Callable[[], None]) -> None:
        self.parts = parts
        self.fence = fence

    def arrays(self, dtype: np.dtype[Any], size: int, offset: int = 0) -> list[np.ndarray]:
        """Each rank's part as an array of `size` elements, from byte `offset` on."""
        end = offset + size * dtype.itemsize
        return [part[offset:end].view(dtype) for part in self.parts]
