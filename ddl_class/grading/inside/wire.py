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
from contextlib import suppress
from dataclasses import fields
from itertools import chain
from typing import Any

import numpy as np

from ddl_runtime.core.arrays import Phantom, as_bytes, describe
from ddl_runtime.core.element_types import TYPE_NAMES, is_tensor
from ddl_teach.theory.machine import Cluster, Link

LARGEST_FRAME = 64 * 2**20
PACKET = 2**16  # bytes: so much is sent and received at once, and frames go together up to here
MOST_ITEMS = 200_000  # values in one frame: each costs far more memory than its bytes
DEEPEST = 16
LONGEST_INT = 64  # bytes
MOST_AXES = 8
MANY = {dict: b"m", list: b"l", tuple: b"t", set: b"e", frozenset: b"e"}
# What a message costs, nodes of ranks, arrays without data: plain data, by names.
PLAIN: Any = {kind: [each.name for each in fields(kind)] for kind in (Link, Cluster)}
PLAIN[Phantom] = ["nbytes", "itemsize"]
NUMPY_KNOWS = frozenset(TYPE_NAMES) - {"phantom", "bfloat16", "complex32"}
DTYPES = [np.dtype(name) if name in NUMPY_KNOWS else None for name in TYPE_NAMES]
COUNT, FLOAT, COMPLEX = map(struct.Struct, ("<I", "<d", "<dd"))
SHAPES = [struct.Struct(f"<{axes}Q") for axes in range(MOST_AXES + 1)]
NUMBER, TEXT, LIST, SCALAR, TENSOR, ASKED, BROUGHT = b"islnxvr"
NOTHING = {b"N"[0]: None, b"T"[0]: True, b"F"[0]: False}
MESSAGES = ("send", "isend", "recv", "irecv", "sendrecv")
ASKS, BRINGS = struct.Struct("<cBIqqqQBQB"), struct.Struct("<cqq")
TICK = struct.pack("ll", 0, 100_000)  # 0.1 s: how often who waits looks at the clock


class Malformed(ValueError):
    """Bytes that are no value."""


class Unplain(TypeError):
    """A value that cannot travel."""


class Late(TimeoutError):
    """The time was up before the other side had spoken, or listened."""


class Written(list[Any]):
    """A value that is written already, in parts."""


def asking(
    verb: str, number: int, where: str, x: Any, to: int, y: Any, source: int, tag: int
) -> Written:
    """A request to send `x`, to receive into `y`, or both. Of `y` only size and type are sent."""
    sent = describe(x) if x is not None else (0, 0)
    room = describe(y) if y is not None else (0, 0)
    numbers = MESSAGES.index(verb), number, to, source, tag, *sent, *room
    data = as_bytes(x).data if sent[1] else b""
    return Written((ASKS.pack(b"v", *numbers), data, where.encode("utf-8", "replace")))


def bringing(source: int, y: Any, place: int = 0) -> Written:
    """The answer to it: what has come into `y`, and the place of its request among others."""
    data = b"" if y is None or y.__class__ is Phantom else as_bytes(y).data
    return Written((BRINGS.pack(b"r", place, source), data))


def encode(value: Any) -> bytes:
    """A plain value as bytes."""
    return b"".join(_written(value))


def _written(value: Any) -> list[Any]:
    if value.__class__ is Written:
        return value  # type: ignore[no-any-return]
    written: list[Any] = []
    _write(value, written.append, DEEPEST)
    return written


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
        count = int(value).bit_length() // 8 + 1
        if count > LONGEST_INT:
            raise Unplain("a whole number with so large a value cannot travel")
        put(b"i%c" % count + int(value).to_bytes(count, "little", signed=True))
    elif isinstance(value, str):
        raw = value.encode("utf-8", "replace")
        put(b"s" + COUNT.pack(len(raw)) + raw)
    elif isinstance(value, (tuple, list, dict, set, frozenset)):
        letter = MANY.get(value.__class__) or next(
            letter for kind, letter in MANY.items() if isinstance(value, kind)
        )
        put(letter + COUNT.pack(len(value)))
        depth = 0 if letter == b"e" else depth - 1
        for item in chain.from_iterable(value.items()) if isinstance(value, dict) else value:
            _write(item, put, depth)
    elif isinstance(value, np.ndarray):
        put(b"a")
        _write_array(np.ascontiguousarray(value).reshape(value.shape), put)
    elif isinstance(value, float):
        put(b"d" + FLOAT.pack(value))
    elif isinstance(value, complex):
        put(b"c" + COMPLEX.pack(value.real, value.imag))
    elif isinstance(value, (bytes, bytearray)):
        put(b"b" + COUNT.pack(len(value)) + bytes(value))
    elif names := PLAIN.get(value.__class__):
        put(b"k" + bytes(([*PLAIN].index(value.__class__),)))
        _write(tuple(getattr(value, name) for name in names), put, depth - 1)
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
    put(bytes((code, len(x.shape))) + SHAPES[len(x.shape)].pack(*x.shape))
    put(as_bytes(x))  # not copied before all is joined


def decode(raw: bytes | bytearray | memoryview) -> Any:
    """The value that these bytes are; `Malformed` if they are not exactly one."""
    reader = _Reader(raw)
    try:
        letter = raw[0]
        if letter == ASKED:
            return reader.asked()
        if letter == BROUGHT:
            return ("done", (*BRINGS.unpack_from(raw)[1:], raw[BRINGS.size :]))
        value = reader.value(DEEPEST)
    except (struct.error, IndexError):
        raise Malformed("it ends in the middle of a value") from None
    if reader.position != len(raw):
        raise Malformed(f"{len(raw) - reader.position} bytes too many")
    return value


class _Reader:
    def __init__(self, raw: bytes | bytearray | memoryview) -> None:
        self._raw = memoryview(raw)
        self.position = 0
        self._items = MOST_ITEMS

    def _take(self, count: int) -> memoryview:
        begin = self.position
        self.position = end = begin + count
        if end > len(self._raw):
            raise Malformed(f"{count} bytes are announced, {len(self._raw) - begin} come")
        return self._raw[begin:end]

    def _unpack(self, form: struct.Struct) -> tuple:
        begin = self.position
        self.position = begin + form.size
        return form.unpack_from(self._raw, begin)

    def asked(self) -> tuple[Any, ...]:
        _, verb, number, to, source, tag, nbytes, code, *room = self._unpack(ASKS)
        x = self._filled(elements(code, nbytes), code)
        where = str(self._raw[self.position :], "utf-8", "replace")
        return MESSAGES[verb], number, where, x, to, *room, source, tag

    def value(self, depth: int) -> Any:
        self._items -= 1
        if depth < 0 or self._items < 0:
            raise Malformed("too many values, or too deep")
        letter = self._raw[self.position]
        self.position += 1
        if letter == NUMBER:
            count = self._raw[self.position]
            self.position += 1
            if not 1 <= count <= LONGEST_INT:
                raise Malformed(f"a whole number of {count} bytes")
            return int.from_bytes(self._take(count), "little", signed=True)
        if letter in b"sb":
            raw = bytes(self._take(*self._unpack(COUNT)))
            return raw.decode("utf-8", "replace") if letter == TEXT else raw
        if letter in b"lt":
            items = [self.value(depth - 1) for _ in range(self._count(1))]
            return items if letter == LIST else tuple(items)
        if letter in b"anx":
            return self._array(letter)
        if letter in NOTHING:
            return NOTHING[letter]
        if letter in b"d":
            return self._unpack(FLOAT)[0]
        if letter in b"c":
            return complex(*self._unpack(COMPLEX))
        if letter in b"m":
            return {self._key(): self.value(depth - 1) for _ in range(self._count(2))}
        if letter in b"e":
            return {self._key() for _ in range(self._count(1))}
        if letter in b"k":
            return self._machine(depth)
        raise Malformed(f"no kind of value is called {letter!r}")

    def _machine(self, depth: int) -> Link | Cluster | Phantom:
        (number,) = self._take(1)
        parts = self.value(depth - 1)
        if number >= len(PLAIN) or not isinstance(parts, tuple):
            raise Malformed(f"a machine of kind {number}")
        kind = [*PLAIN][number]
        if any(not isinstance(part, (int, float, Link)) for part in parts):
            raise Malformed(f"a {kind.__name__} that is not made of numbers")
        if kind is Phantom and any(type(part) is not int or part >> 63 for part in parts):
            raise Malformed(f"a Phantom of {parts}")
        try:
            return kind(*parts)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise Malformed(str(error)) from None

    def _count(self, each: int) -> int:
        (count,) = self._unpack(COUNT)
        if count * each > min(self._items, len(self._raw) - self.position):
            raise Malformed(f"a list of {count} values is announced")
        return count

    def _key(self) -> Any:
        key = self.value(0)
        if not isinstance(key, (str, int, float, bytes, type(None))):
            raise Malformed("a key is a text or a number")
        return key

    def _array(self, letter: int) -> Any:
        code, axes = self._take(2)
        if not 1 <= code < len(TYPE_NAMES) or axes > MOST_AXES or (letter == SCALAR and axes):
            raise Malformed(f"an array of type {code} with {axes} axes")
        shape = self._unpack(SHAPES[axes])
        size = math.prod(shape)
        # A dimension of 0 makes the size 0 whatever the others claim to be.
        if size > LARGEST_FRAME or max(shape, default=0) > LARGEST_FRAME:
            raise Malformed(f"an array of shape {shape}")
        x = self._filled(blank(code, size, letter == TENSOR).reshape(shape), code)
        return x if letter != SCALAR else x[()]

    def _filled(self, x: Any, code: int) -> Any:
        if code:
            raw = as_bytes(x)
            raw.data[:] = self._take(len(raw))
            if TYPE_NAMES[code] == "bool" and np.any(raw > 1):
                raise Malformed("a truth value that is neither true nor false")
        return x


def blank(code: int, size: int, tensor: bool = False) -> Any:
    """Room for `size` elements of the type that has this code."""
    name = TYPE_NAMES[code]
    if name == "phantom":
        return Phantom(size)
    if not tensor and DTYPES[code] is not None:
        return np.empty(size, DTYPES[code])
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
    itemsize = (DTYPES[code] or blank(code, 1)).itemsize
    if nbytes > LARGEST_FRAME or nbytes % itemsize:
        raise Malformed(f"{nbytes} bytes of {TYPE_NAMES[code]}")
    return blank(code, nbytes // itemsize)


def travelled(value: Any) -> Any:
    """The value that the grader would receive if an answer returned this one."""
    try:
        return decode(b"".join(_frame(value)[1:]))
    except Unplain as error:
        raise TypeError(f"the grader cannot read what the function returned: {error}") from None


def _frame(value: Any) -> list[Any]:
    """The parts of a frame, in which arrays are not copied yet."""
    written = _written(value)
    nbytes = sum(map(len, written))
    if nbytes > LARGEST_FRAME:
        raise Unplain(f"{nbytes:,} bytes cannot travel at once, {LARGEST_FRAME:,} can")
    return [COUNT.pack(nbytes), *written]


class FrameSocket(socket.socket):
    """A socket for frames, made of `link`, which is detached and of no more use. With `ticks` its
    calls return after each TICK, so that a deadline is seen."""

    def __init__(self, link: socket.socket, ticks: bool = False) -> None:
        super().__init__(fileno=link.detach())
        self.early = bytearray()  # what came together with the last frame
        self.kept = b""  # frames that go with the next one
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO) if ticks else ():
            self.setsockopt(socket.SOL_SOCKET, option, TICK)


def send_frame(
    link: FrameSocket, value: Any, deadline: float = math.inf, *, with_next: bool = False
) -> None:
    """Send one value; `deadline` is a time of `time.monotonic`. What needs no answer may go
    together with the next value."""
    together = b"".join((link.kept, *_frame(value)))
    keeps = with_next and len(together) < PACKET
    link.kept = together if keeps else b""
    rest = memoryview(b"" if keeps else together)
    while rest:
        if time.monotonic() >= deadline:
            raise Late("the time was up")
        with suppress(BlockingIOError):  # a tick is over
            rest = rest[link.send(rest[:PACKET]) :]


def receive_frame(link: FrameSocket, deadline: float = math.inf) -> Any:
    """Receive one value, or `EOFError` where the other side has gone."""
    end = 0
    while not end or len(link.early) < end:
        if not end and len(link.early) >= 4:
            (count,) = COUNT.unpack_from(link.early)
            if count > LARGEST_FRAME:
                raise Malformed(f"{count:,} bytes are announced, {LARGEST_FRAME:,} are allowed")
            end = 4 + count
            continue
        if time.monotonic() >= deadline:
            raise Late("the time was up")
        with suppress(BlockingIOError):  # a tick is over
            if not (piece := link.recv(PACKET)):
                raise EOFError("the other side has closed the connection")
            link.early += piece
    # Only what came after it is copied, which is short: the frame may be long.
    came, link.early = link.early, link.early[end:]
    return decode(memoryview(came)[4:end])
