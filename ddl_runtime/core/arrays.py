"""What can be sent: NumPy arrays, torch tensors, arrays on devices, and phantoms.

A message is a run of bytes with an element type. `describe` reads both off an array without
copying, `as_bytes` shows the same memory as bytes, `combine` is the arithmetic of every reduction.
`Phantom(nbytes)` stands for an array of which only the size matters: a program that moves 100 MB
on 65,536 simulated ranks then needs no memory for the data.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, cast

import numpy as np

from ddl_runtime.core.each_rank import EachRank, RankCount, RankParts, length_of
from ddl_runtime.core.element_types import (
    CODE_OF_NAME,
    NUMPY_CODES,
    TYPE_NAMES,
    combine_tensors,
    is_tensor,
    lies_plainly,
    refusal,
    torch_codes,
)
from ddl_runtime.devices import device_of
from ddl_runtime.devices.device import Device
from ddl_runtime.devices.staging import Staging, fetched, stored

Array = Any  # a NumPy array, a torch tensor, an array on a device or a Phantom
Operation = str | Callable[[Array, Array], Array]


class Phantom:
    """An array of `nbytes` bytes without the bytes; slices and chunks like a flat array."""

    __slots__ = ("itemsize", "nbytes")

    def __init__(self, nbytes: Any, itemsize: int = 1) -> None:
        if nbytes < 0 or itemsize < 1 or nbytes % itemsize:
            raise ValueError(
                f"Phantom(nbytes={nbytes}, itemsize={itemsize}): give zero bytes or more, "
                "and a multiple of `itemsize`"
            )
        self.nbytes = cast(int, nbytes) if nbytes.__class__ is EachRank else int(nbytes)
        self.itemsize = int(itemsize)

    @property
    def size(self) -> int:
        return self.nbytes // self.itemsize

    @property
    def dtype(self) -> str:
        return f"phantom of {self.itemsize} bytes"

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, part: slice) -> Phantom:
        if not isinstance(part, slice):
            raise TypeError("a Phantom has no elements to read: only slices of it exist")
        if part.start.__class__ is EachRank or part.stop.__class__ is EachRank:
            return Phantom(length_of(part, self.size) * self.itemsize, self.itemsize)
        return Phantom(len(range(*part.indices(self.size))) * self.itemsize, self.itemsize)

    def __repr__(self) -> str:
        return f"Phantom(nbytes={self.nbytes})"


def describe(x: Array) -> tuple[int, int]:
    """`(nbytes, code of the element type)` of `x`, or a TypeError that says what to send."""
    kind = x.__class__
    if kind is Phantom:
        return x.nbytes, 0
    if kind is np.ndarray:
        code = NUMPY_CODES.get(x.dtype)
        if code is not None and x.flags.c_contiguous:
            return x.nbytes, code
    elif is_tensor(x):
        code = torch_codes().get(x.dtype)
        if code is not None and x.device.type == "cpu" and lies_plainly(x):
            return x.numel() * x.element_size(), code
    if isinstance(x, Staging):
        return x.nbytes, x.code
    device = device_of(x)
    if device is not None:
        nbytes, name = device.describe(x)
        return nbytes, CODE_OF_NAME[name]
    raise refusal(x)


def type_name(x: Array) -> str:
    """The name of the element type of `x`."""
    return TYPE_NAMES[describe(x)[1]]


def check_writable(x: Array) -> None:
    """Refuse to receive into an array that must not change."""
    if x.__class__ is np.ndarray and not x.flags.writeable:
        raise ValueError("cannot receive into a read-only array: receive into a copy of it")


def as_bytes(x: Array) -> np.ndarray:
    """The memory of a contiguous array or tensor as flat bytes; shares it, copies nothing."""
    if x.__class__ is np.ndarray:
        return x.reshape(-1).view(np.uint8)
    device = device_of(x)
    if device is not None:
        raise TypeError(
            f"host code cannot read an array on {device.name}: send it as it is, or bring a copy "
            "to the host first"
        )
    torch = sys.modules["torch"]
    # A contiguous tensor of one element may have any stride; `view` insists on 1.
    raw: np.ndarray = x.detach().as_strided((x.numel(),), (1,)).view(torch.uint8).numpy()
    return raw


def as_elements(raw: np.ndarray, like: Array) -> Array:
    """Flat bytes seen as elements of the type of `like`, wherever that is; shares the memory."""
    if like.__class__ is Phantom:
        return Phantom(len(raw), like.itemsize)
    if like.__class__ is np.ndarray or not is_tensor(like):
        return raw.view(like.dtype)
    torch = sys.modules["torch"]
    # Of no bytes at all torch cannot say that they follow one another.
    return torch.from_numpy(raw).view(like.dtype) if len(raw) else torch.empty(0, dtype=like.dtype)


def copy_into(target: Array, source: Array) -> None:
    """Copy `source` over `target`; both of the same type and size, phantoms included."""
    if target.__class__ is np.ndarray is source.__class__ and target.shape == source.shape:
        np.copyto(target, source)
    elif target.__class__ is not Phantom:
        there, here = device_of(target), device_of(source)
        if there is not None and there is here:
            there.copy(target, source)
            return
        raw = as_bytes(source) if here is None else fetched(here, source)
        if there is None:
            as_bytes(target)[:] = raw
        else:
            stored(there, target, raw)


def on_host(x: Array) -> AbstractContextManager[Array]:
    """Gives `x` itself, or for an array on a device a flat copy on the host that is copied back at
    the end. It is for work that only the host can do, such as on memory that the ranks of a node
    share. For n bytes on a device it costs two copies more than the work itself, and nothing
    overlaps."""
    device = device_of(x)
    return nullcontext(x) if device is None else _fetched_and_stored(x, device)


@contextmanager
def _fetched_and_stored(x: Array, device: Device) -> Iterator[Array]:
    host = as_elements(device.pinned(describe(x)[0]), x)
    copy_into(host, x)
    yield host
    copy_into(x, host)


def flat(x: Array) -> Array:
    """`x` as one row of elements that shares its memory."""
    describe(x)
    device = device_of(x)
    if device is not None:
        return device.flat(x)
    return x if x.__class__ is Phantom else x.reshape(-1)


def empty_like(x: Array) -> Array:
    """Room for another `x`, which must be something that can travel."""
    describe(x)
    if x.__class__ is Phantom:
        return Phantom(x.nbytes, x.itemsize)
    if x.__class__ is np.ndarray:
        return np.empty_like(x)
    device = device_of(x)
    if device is not None:
        return device.empty_like(x)
    return x.detach().new_empty(x.shape)


def split_evenly(x: Array, parts: int) -> list[Array]:
    """`parts` neighbouring views of the flat `x`, whose sizes differ by one element at most."""
    if x.__class__ is Phantom:
        phantoms = _phantom_parts(x.size, x.itemsize, parts)
        return RankParts(phantoms) if parts.__class__ is RankCount else list(phantoms)
    row = flat(x)
    size = len(row)
    return [row[size * i // parts : size * (i + 1) // parts] for i in range(parts)]


@functools.lru_cache(maxsize=64)
def _phantom_parts(size: int, itemsize: int, parts: int) -> tuple[Phantom, ...]:
    # Phantoms never change, so thousands of simulated ranks can share the same ones.
    small = Phantom(size // parts * itemsize, itemsize)
    large = Phantom(small.nbytes + itemsize, itemsize)
    bounds = [size * i // parts for i in range(parts + 1)]
    return tuple(small if b - a == small.size else large for a, b in itertools.pairwise(bounds))


_NUMPY_OPERATIONS = {"sum": np.add, "max": np.maximum, "min": np.minimum, "product": np.multiply}


def combine(op: Operation, a: Array, b: Array, out: Array) -> None:
    """`out = a op b`, element by element; `out` may be `a` or `b` itself."""
    if a.__class__ is Phantom:
        return
    if isinstance(op, str):
        if op not in _NUMPY_OPERATIONS:
            known = ", ".join(_NUMPY_OPERATIONS)
            raise ValueError(f"no operation is called {op!r}: use {known}, or a function of two")
        if a.__class__ is np.ndarray:
            _NUMPY_OPERATIONS[op](a, b, out=out)
        elif (device := device_of(out)) is not None:
            device.combine(op, a, b, out)
        else:
            combine_tensors(op, a, b, out)
    else:
        result = op(a, b)
        if getattr(result, "shape", None) != out.shape or result.dtype != out.dtype:
            raise ValueError(
                f"the operation turned arrays of shape {tuple(out.shape)} and type {out.dtype} "
                f"into {getattr(result, 'shape', type(result).__name__)}, "
                f"{getattr(result, 'dtype', 'no type')}: it must keep both"
            )
        plain = result.__class__ is np.ndarray
        copy_into(out, np.ascontiguousarray(result) if plain else result)
