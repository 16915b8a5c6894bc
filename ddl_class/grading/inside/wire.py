"""The values that the grader and a sandbox send each other, as length and bytes.

A value is a letter for its kind and then its content; a frame is four bytes of length and one
value. The reader checks every length, count and shape. It makes only numbers, texts, lists, arrays
of numbers and machines, and runs no code, as unpickling would; all else is `Malformed`.
"""

import math
import socket
import struct
import sys
import time
from dataclasses import fields
from itertools import chain
from typing import Any

import numpy as np

from ddl_runtime.core.arrays import Phantom, as_bytes, describe
from ddl_runtime.core.element_types import TYPE_NAMES, is_tensor
from ddl_teach.theory.machine import Cluster, Link

LARGEST_FRAME = 64 * 2**20
MOST_ITEMS = 200_000  # values in one frame: each costs far more memory than its bytes
DEEPEST = 16
LONGEST_INT = 64  # bytes
MOST_AXES = 8
MANY = {dict: b"m", list: b"l", tuple: b"t", set: b"e", frozenset: b"e"}
MACHINES = (Link, Cluster)  # what a message costs, and nodes of ranks: plain data of plain data
NUMPY_KNOWS = frozenset(TYPE_NAMES) - {"phantom", "bfloat16", "complex32"}


class Malformed(ValueError):
    """Bytes that are no value."""


class Unplain(TypeError):
    """A value that cannot travel."""


class Late(TimeoutError):
    """The time was up before the other side had spoken, or listened."""


def encode(value: Any) -> bytes:
    """A plain value as bytes."""
    written = bytearray()
    _write(value, written.extend, DEEPEST)
    return bytes(written)


def _write(value: Any, put: Any, depth: int) -> None:
    if depth < 0:
        raise Unplain(f"lists within lists, more than {DEEPEST} deep, cannot travel")
    if value is None:
        put(b"N")
    elif isinstance(value, (bool, np.bool_)):
        put(b"T" if value else b"F")
    elif isinstance(value, np.generic):
        put(b"n")
        _write_array(np.asarray(value), put)
    elif isinstance(value, int):
        raw = int(value).to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        if len(raw) > LONGEST_INT:
            raise Unplain("a whole number with so large a value cannot travel")
        put(b"i" + bytes((len(raw),)) + raw)
    elif isinstance(value, float):
        put(b"d" + struct.pack("<d", value))
    elif isinstance(value, complex):
        put(b"c" + struct.pack("<dd", value.real, value.imag))
    elif isinstance(value, str):
        raw = value.encode("utf-8", "replace")
        put(b"s" + struct.pack("<I", len(raw)) + raw)
    elif isinstance(value, (bytes, bytearray)):
        put(b"b" + struct.pack("<I", len(value)) + bytes(value))
    elif isinstance(value, (dict, list, tuple, set, frozenset)):
        letter = next(letter for kind, letter in MANY.items() if isinstance(value, kind))
        put(letter + struct.pack("<I", len(value)))
        for item in chain.from_iterable(value.items()) if isinstance(value, dict) else value:
            _write(item, put, 0 if letter == b"e" else depth - 1)
    elif value.__class__ is Phantom:
        put(b"p" + struct.pack("<QI", value.nbytes, value.itemsize))
    elif value.__class__ in MACHINES:
        put(b"k" + bytes((MACHINES.index(value.__class__),)))
        _write(tuple(getattr(value, field.name) for field in fields(value)), put, depth - 1)
    elif isinstance(value, np.ndarray):
        put(b"a")
        _write_array(np.ascontiguousarray(value).reshape(value.shape), put)
    elif is_tensor(value):
        put(b"x")
        _write_array(value.detach().contiguous(), put)
    else:
        raise Unplain(f"a {type(value).__name__} cannot travel")


def _write_array(x: Any, put: Any) -> None:
    try:
        code = describe(x)[1]
    except TypeError as error:
        raise Unplain(str(error)) from None
    if len(x.shape) > MOST_AXES:
        raise Unplain(f"an array of more than {MOST_AXES} axes cannot travel")
    put(struct.pack(f"<BB{len(x.shape)}Q", code, len(x.shape), *x.shape))
    put(as_bytes(x).tobytes())


def decode(raw: bytes | bytearray) -> Any:
    """The value that these bytes are; `Malformed` if they are not exactly one."""
    reader = _Reader(raw)
    value = reader.value(DEEPEST)
    if reader.position != len(raw):
        raise Malformed(f"{len(raw) - reader.position} bytes too many")
    return value


class _Reader:
    def __init__(self, raw: bytes | bytearray) -> None:
        self._raw = memoryview(raw)
        self.position = 0
        self._items = MOST_ITEMS

    def _take(self, count: int) -> memoryview:
        end = self.position + count
        if end > len(self._raw):
            raise Malformed(f"{count} bytes are announced, {len(self._raw) - self.position} come")
        taken = self._raw[self.position : end]
        self.position = end
        return taken

    def _unpack(self, form: str) -> tuple:
        return struct.unpack("<" + form, self._take(struct.calcsize("<" + form)))

    def value(self, depth: int) -> Any:
        self._items -= 1
        if depth < 0 or self._items < 0:
            raise Malformed("too many values, or too deep")
        letter = bytes(self._take(1))
        if letter in b"NTF":
            return {b"N": None, b"T": True, b"F": False}[letter]
        if letter == b"i":
            (count,) = self._unpack("B")
            if not 1 <= count <= LONGEST_INT:
                raise Malformed(f"a whole number of {count} bytes")
            return int.from_bytes(self._take(count), "little", signed=True)
        if letter == b"d":
            return self._unpack("d")[0]
        if letter == b"c":
            return complex(*self._unpack("dd"))
        if letter in b"sb":
            raw = bytes(self._take(self._unpack("I")[0]))
            return raw.decode("utf-8", "replace") if letter == b"s" else raw
        if letter in b"lt":
            items = [self.value(depth - 1) for _ in range(self._count(1))]
            return items if letter == b"l" else tuple(items)
        if letter == b"m":
            return {self._key(): self.value(depth - 1) for _ in range(self._count(2))}
        if letter == b"e":
            return {self._key() for _ in range(self._count(1))}
        if letter == b"p":
            nbytes, itemsize = self._unpack("QI")
            if itemsize < 1 or nbytes % itemsize:
                raise Malformed(f"a Phantom of {nbytes} bytes in elements of {itemsize}")
            return Phantom(nbytes, itemsize)
        if letter == b"k":
            return self._machine(depth)
        if letter in b"anx":
            return self._array(letter)
        raise Malformed(f"no kind of value is called {letter!r}")

    def _machine(self, depth: int) -> Link | Cluster:
        (number,) = self._unpack("B")
        parts = self.value(depth - 1)
        if number >= len(MACHINES) or not isinstance(parts, tuple):
            raise Malformed(f"a machine of kind {number}")
        if any(not isinstance(part, (int, float, Link)) for part in parts):
            raise Malformed("a machine that is not made of numbers")
        try:
            return MACHINES[number](*parts)
        except (TypeError, ValueError) as error:
            raise Malformed(str(error)) from None

    def _count(self, each: int) -> int:
        (count,) = self._unpack("I")
        if count * each > min(self._items, len(self._raw) - self.position):
            raise Malformed(f"a list of {count} values is announced")
        return count

    def _key(self) -> Any:
        key = self.value(0)
        if not isinstance(key, (str, int, float, bytes, type(None))):
            raise Malformed("a key is a text or a number")
        return key

    def _array(self, letter: bytes) -> Any:
        code, axes = self._unpack("BB")
        if not 1 <= code < len(TYPE_NAMES) or axes > MOST_AXES or (letter == b"n" and axes):
            raise Malformed(f"an array of type {code} with {axes} axes")
        shape = self._unpack(f"{axes}Q")
        size = math.prod(shape)
        # A dimension of 0 makes the size 0 whatever the others claim to be.
        if size > LARGEST_FRAME or max(shape, default=0) > LARGEST_FRAME:
            raise Malformed(f"an array of shape {shape}")
        flat = blank(code, size, tensor=letter == b"x")
        as_bytes(flat)[:] = np.frombuffer(self._take(len(as_bytes(flat))), np.uint8)
        if TYPE_NAMES[code] == "bool" and np.any(as_bytes(flat) > 1):
            raise Malformed("a truth value that is neither true nor false")
        return flat.reshape(shape) if letter != b"n" else flat[0]


def blank(code: int, size: int, tensor: bool = False) -> Any:
    """Room for `size` elements of the type that has this code."""
    name = TYPE_NAMES[code]
    if name == "phantom":
        return Phantom(size)
    if not tensor and name in NUMPY_KNOWS:
        return np.empty(size, name)
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, name):
        raise Malformed(f"elements of type {name}, which the grader does not know")
    return torch.empty(size, dtype=getattr(torch, name))


def elements(code: int, nbytes: int) -> Any:
    """Room for `nbytes` bytes of elements of the type that has this code."""
    if not 0 <= code < len(TYPE_NAMES) or nbytes < 0:
        raise Malformed(f"{nbytes} bytes of type {code}")
    if code == 0:
        return Phantom(nbytes)
    element = blank(code, 1)
    if nbytes > LARGEST_FRAME or nbytes % element.nbytes:
        raise Malformed(f"{nbytes} bytes of {TYPE_NAMES[code]}")
    return blank(code, nbytes // element.nbytes)


def travelled(value: Any) -> Any:
    """The value that the grader would receive if an answer returned this one."""
    try:
        return decode(_frame(value))
    except Unplain as error:
        raise TypeError(f"the grader cannot read what the function returned: {error}") from None


def _frame(value: Any) -> bytes:
    raw = encode(value)
    if len(raw) > LARGEST_FRAME:
        raise Unplain(f"{len(raw):,} bytes cannot travel at once, {LARGEST_FRAME:,} can")
    return raw


class FrameSocket(socket.socket):
    """A socket for frames, made of `link`, which is detached and of no more use. Either all of its
    calls have a deadline or none: a time limit that was set stays for the calls after it."""

    def __init__(self, link: socket.socket) -> None:
        super().__init__(fileno=link.detach())
        self.early = bytearray()  # what came together with the last frame


def send_frame(link: FrameSocket, value: Any, deadline: float = math.inf) -> None:
    """Send one value; `deadline` is a time of `time.monotonic`."""
    raw = _frame(value)
    rest = memoryview(struct.pack("<I", len(raw)) + raw)
    while rest:
        _limit(link, deadline)
        try:
            rest = rest[link.send(rest) :]
        except TimeoutError:
            raise Late("the other side did not receive in time") from None


def receive_frame(link: FrameSocket, deadline: float = math.inf) -> Any:
    """Receive one value, or `EOFError` where the other side has gone."""
    (count,) = struct.unpack("<I", _receive(link, 4, deadline))
    if count > LARGEST_FRAME:
        raise Malformed(f"{count:,} bytes are announced, {LARGEST_FRAME:,} are allowed")
    return decode(_receive(link, count, deadline))


def _receive(link: FrameSocket, count: int, deadline: float) -> bytearray:
    while (missing := count - len(link.early)) > 0:
        _limit(link, deadline)
        try:
            # Memory is spent on what has come, not on what was announced.
            piece = link.recv(min(max(missing, 2**16), 2**20))
        except TimeoutError:
            raise Late("the other side sent nothing in time") from None
        if not piece:
            raise EOFError("the other side has closed the connection")
        link.early += piece
    # Only what came after it is copied, which is short: the frame may be long.
    got, link.early = link.early, link.early[count:]
    del got[count:]
    return got


def _limit(link: FrameSocket, deadline: float) -> None:
    if deadline < math.inf:
        left = deadline - time.monotonic()
        if left <= 0:
            raise Late("the time was up")
        link.settimeout(left)
