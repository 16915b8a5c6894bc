"""Arrays of the stand-in device: everything about them can be asked, but for their numbers.

They behave as CuPy's do: `a + b` and `a *= 2` queue kernels and return at once, a slice shares
memory, `x.to_host()` waits for the device and brings a copy. Shapes and types are known at once,
so a program runs ahead of its device, and only a question about a number makes it wait.
What to look at: `a += 1; a[0]` needs no copy; `if a[0] > 0:` does, and the program stands still.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol

import numpy as np


class Home(Protocol):
    """What an array asks of its device."""

    def empty(self, shape: int | tuple[int, ...], dtype: Any = ...) -> StandIn:
        """Room for an array."""

    def launch(self, kernel: Callable[[], None]) -> object:
        """Queue a kernel on the current stream."""

    def read(self, x: Any) -> np.ndarray:
        """A copy on the host, once the current stream has come so far."""

    def describe(self, x: Any) -> tuple[int, str]:
        """Bytes and element type, or a TypeError if the elements do not lie in one piece."""


def not_for_the_host(what: str, instead: str) -> TypeError:
    """The error of host code that touches the memory of a device."""
    return TypeError(
        f"{what}: this array lives on the stand-in device, and host code cannot read its memory. "
        f"Who copies the bytes? {instead}; or leave it where it is: arithmetic runs on the "
        "device, and send, recv and every collective take the array as it is"
    )


class StandIn(np.lib.mixins.NDArrayOperatorsMixin):
    """An array whose numbers only its device can read."""

    __slots__ = ("_hidden", "comm_device")

    def __init__(self, device: Home, hidden: np.ndarray) -> None:
        self.comm_device = device
        self._hidden = hidden

    def memory_of(self, device: Home) -> np.ndarray:
        """The numbers, for the device's own kernels and copies."""
        if device is not self.comm_device:
            raise ValueError("this array lives on another device: copy it by way of the host")
        return self._hidden

    # What is known of an array without its numbers.

    @property
    def shape(self) -> tuple[int, ...]:
        return self._hidden.shape

    @property
    def dtype(self) -> np.dtype:
        return self._hidden.dtype

    @property
    def ndim(self) -> int:
        return self._hidden.ndim

    @property
    def size(self) -> int:
        return self._hidden.size

    @property
    def itemsize(self) -> int:
        return self._hidden.itemsize

    @property
    def nbytes(self) -> int:
        return self._hidden.nbytes

    def __len__(self) -> int:
        return len(self._hidden)

    def __repr__(self) -> str:
        return f"StandIn(shape={self.shape}, dtype={self.dtype}, numbers: on the device)"

    # Views share the memory; kernels are queued.

    def __getitem__(self, part: Any) -> StandIn:
        parts = part if isinstance(part, tuple) else (part,)
        if any(isinstance(each, (list, np.ndarray, StandIn)) for each in parts):
            raise TypeError("on the stand-in device there are slices, and no arrays of indices")
        whole = parts if Ellipsis in parts else (*parts, ...)  # so that one element is a view
        return StandIn(self.comm_device, self._hidden[whole])

    def __setitem__(self, part: Any, value: Any) -> None:
        device, there = self.comm_device, self[part]._hidden
        here = self._numbers(value)
        device.launch(lambda: np.copyto(there, here))

    def reshape(self, *shape: Any) -> StandIn:
        """The same memory in another shape."""
        self.comm_device.describe(self)  # what does not lie in one piece would be copied
        return StandIn(self.comm_device, self._hidden.reshape(*shape))

    def new_empty(self, shape: Any, dtype: Any = None) -> StandIn:
        """Room for an array of this element type beside it."""
        return self.comm_device.empty(shape, dtype or self.dtype)

    def copy(self) -> StandIn:
        """Another array with the same numbers."""
        out = self.new_empty(self.shape)
        out[...] = self
        return out

    def astype(self, dtype: Any) -> StandIn:
        """The same numbers in another element type."""
        out = self.new_empty(self.shape, dtype)
        here, there = self._hidden, out._hidden
        self.comm_device.launch(lambda: np.copyto(there, here, casting="unsafe"))
        return out

    def sum(self, axis: int | None = None) -> StandIn:
        """Added up on the device."""
        return np.add.reduce(self, axis=axis)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        call, device = getattr(ufunc, method), self.comm_device
        outs = options.pop("out", ())
        numbers = [self._numbers(x) for x in inputs]
        if not outs:
            ones = [np.ones_like(x) if isinstance(x, np.ndarray) else x for x in numbers]
            results = call(*ones, **options)
            alike = results if isinstance(results, tuple) else (results,)
            outs = tuple(device.empty(np.shape(y), np.asarray(y).dtype) for y in alike)
        hidden = tuple(self._numbers(out) for out in outs)
        device.launch(lambda: call(*numbers, out=hidden, **options))
        return outs if len(outs) > 1 else outs[0]

    def _numbers(self, x: Any) -> Any:
        """What a kernel takes for `x`: memory of this device, or a number."""
        if isinstance(x, np.ndarray) and x.ndim:
            raise not_for_the_host(
                "together with a host array",
                "Copy the host array to the device first, by device.array(x)",
            )
        return x.memory_of(self.comm_device) if isinstance(x, StandIn) else x

    # Ways to the host: one that waits for the device, and none that does not.

    def to_host(self) -> np.ndarray:
        """Wait until the device has come so far; then a copy in host memory."""
        return self.comm_device.read(self)

    def item(self) -> Any:
        """One number, for which the host waits."""
        return self.to_host().item()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise not_for_the_host("as a NumPy array", "Ask for a copy, x.to_host()")

    def __array_function__(self, function: Any, *_: Any, **__: Any) -> NoReturn:
        raise not_for_the_host(f"numpy.{function.__name__}", "Ask for a copy, x.to_host()")

    def __iter__(self) -> NoReturn:
        raise not_for_the_host("one number after another", "Ask for all at once, x.to_host()")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise not_for_the_host("to another process by pickle", "Return a copy, x.to_host()")
