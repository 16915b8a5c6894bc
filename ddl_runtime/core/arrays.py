"""What can be sent: NumPy arrays, torch tensors, arrays on devices, and phantoms.

A message is a run of bytes with an element type. `describe` reads both off an array without
copying, `as_bytes` shows the same memory as plain bytes, and `combine` is the arithmetic of every
reduction. Torch is used where the caller's data is a tensor and never imported otherwise.

`Phantom(nbytes)` stands for an array of that size where only its size matters: a program that
moves 100 MB on 65,536 simulated ranks then needs no memory for the data.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ddl_teach.comm.devices import device_of
from ddl_teach.comm.devices.staging import Staging, fetched, stored

Array = Any  # a NumPy array, a torch tensor, an array on a device or a Phantom
Operation = str | Callable[[Array, Array], Array]

# The position of a name is its code on the wire: append, never reorder.
TYPE_NAMES = (
    "phantom bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 "
    "float64 longdouble complex64 complex128 clongdouble complex32"
).split()
_CODE_OF_NAME = {name: code for code, name in enumerate(TYPE_NAMES)}
_NUMPY_CODES = {
    np.dtype(name): code
    for name, code in _CODE_OF_NAME.items()
    if name not in ("phantom", "bfloat16", "complex32")
}
_TORCH_CODES: dict[Any, int] = {}


class Phantom:
    """An array of `nbytes` bytes without the bytes; slices and chunks like a flat array."""

    __slots__ = ("itemsize", "nbytes")

    def __init__(self, nbytes: int, itemsize: int = 1) -> None:
        if nbytes < 0 or itemsize < 1 or nbytes % itemsize:
            raise ValueError(
                f"Phantom(nbytes={nbytes}, itemsize={itemsize}): nbytes must be zero or more "
                "and a multiple of itemsize"
            )
        self.nbytes = int(nbytes)
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
        return Phantom(len(range(*part.indices(self.size))) * self.itemsize, self.itemsize)

    def __repr__(self) -> str:
        return f"Phantom(nbytes={self.nbytes})"


def describe(x: Array) -> tuple[int, int]:
    """`(nbytes, code of the element type)` of `x`, or a TypeError that says what to send."""
    kind = x.__class__
    if kind is Phantom:
        return x.nbytes, 0
    if kind is np.ndarray:
        code = _NUMPY_CODES.get(x.dtype)
        if code is not None and x.flags.c_contiguous:
            return x.nbytes, code
    elif _is_tensor(x):
        code = (_TORCH_CODES or _learn_torch_codes()).get(x.dtype)
        if code is not None and x.device.type == "cpu" and lies_plainly(x):
            return x.numel() * x.element_size(), code
    if isinstance(x, Staging):
        return x.nbytes, x.code
    device = device_of(x)
    if device is not None:
        nbytes, name = device.describe(x)
        return nbytes, _CODE_OF_NAME[name]
    raise refusal(x)


def _is_tensor(x: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def lies_plainly(x: Any) -> bool:
    """Whether a tensor's elements stand in memory one after another, as they are."""
    return (
        x.layout is sys.modules["torch"].strided
        and not (x.is_nested or x.is_conj() or x.is_neg())
        and x.is_contiguous()
    )


def _learn_torch_codes() -> dict[Any, int]:
    torch = sys.modules["torch"]
    for name, code in _CODE_OF_NAME.items():
        if hasattr(torch, name):
            _TORCH_CODES[getattr(torch, name)] = code
    return _TORCH_CODES


def refusal(x: object) -> TypeError:
    """Why `x` cannot travel, and what to do about it."""
    if _is_tensor(x):
        if x.device.type not in ("cpu", "cuda"):
            return TypeError(f"this tensor lives on {x.device}: send x.cpu() instead")
        if x.dtype not in (_TORCH_CODES or _learn_torch_codes()):
            return TypeError(f"torch's element type {x.dtype} cannot travel: convert it first")
        if x.is_nested or x.layout is not sys.modules["torch"].strided:
            return TypeError("this tensor is sparse or nested: send its dense parts one by one")
        if x.is_conj() or x.is_neg():
            return TypeError(
                "this tensor's elements are only marked as conjugated or negated: send "
                "x.resolve_conj().resolve_neg()"
            )
        return TypeError(
            f"this tensor of shape {tuple(x.shape)} is not contiguous in memory (a transpose "
            "or a strided view?): send x.contiguous(), or receive into a contiguous tensor"
        )
    if isinstance(x, np.ndarray):
        if type(x) is not np.ndarray:
            return TypeError(f"a {type(x).__name__} is not a plain array: send numpy.asarray(x)")
        if not x.dtype.isnative:
            return TypeError(f"{x.dtype} has foreign byte order: send x.astype({x.dtype.name!r})")
        if x.dtype not in _NUMPY_CODES:
            return TypeError(f"element type {x.dtype} cannot travel: use a number type")
        return TypeError(
            f"this array of shape {x.shape} is not C-contiguous in memory (a transpose or a "
            "strided view?): send numpy.ascontiguousarray(x), or receive into a contiguous array"
        )
    return TypeError(
        f"a {type(x).__name__} cannot travel: wrap it as a NumPy array or a torch tensor, for "
        "instance numpy.array([x])"
    )


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
    return x.detach().as_strided((x.numel(),), (1,)).view(torch.uint8).numpy()


def as_elements(raw: np.ndarray, like: Array) -> Array:
    """Flat bytes seen as elements of the type of `like`, wherever that is; shares the memory."""
    if like.__class__ is Phantom:
        return Phantom(len(raw), like.itemsize)
    if like.__class__ is np.ndarray or not _is_tensor(like):
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
        if there is here is None:
            as_bytes(target)[:] = as_bytes(source)
        elif there is here:
            there.copy(target, source)
        else:
            raw = as_bytes(source) if here is None else fetched(here, source)
            if there is None:
                as_bytes(target)[:] = raw
            else:
                stored(there, target, raw)


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
        return list(_phantom_parts(x.size, x.itemsize, parts))
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


_NUMPY_OPERATIONS = {
    "sum": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "product": np.multiply,
}
_TORCH_OPERATIONS = {"sum": "add", "max": "maximum", "min": "minimum", "product": "mul"}


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
        copy_into(out, _same_type(op(a, b), out))


def combine_tensors(op: str, a: Any, b: Any, out: Any) -> None:
    """The same of torch tensors, wherever they live."""
    torch = sys.modules["torch"]
    with torch.no_grad():
        getattr(torch, _TORCH_OPERATIONS[op])(a, b, out=out.detach())


def _same_type(result: Array, like: Array) -> Array:
    if getattr(result, "shape", None) != like.shape or result.dtype != like.dtype:
        raise ValueError(
            f"the operation turned arrays of shape {tuple(like.shape)} and type {like.dtype} into "
            f"{getattr(result, 'shape', type(result).__name__)}, "
            f"{getattr(result, 'dtype', 'no type')}: it must keep both"
        )
    return result if result.__class__ is not np.ndarray else np.ascontiguousarray(result)
