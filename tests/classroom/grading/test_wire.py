"""What cannot be read is refused; what can be read is what was written, and never code."""

import contextlib
import math
import pickle
import socket
import struct
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddl_class.grading.inside import wire
from ddl_teach import Phantom
from ddl_teach.theory.machine import Cluster, Link

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**500), 2**500) | st.floats() | st.text()
    | st.binary() | st.complex_numbers(),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner)
    | st.dictionaries(st.text() | st.integers(), inner, max_size=4)
    | st.sets(st.integers(), max_size=1),
    max_leaves=20,
)  # fmt: skip


@given(plain)
def test_what_is_written_is_read(value):
    # Not compared with ==, to which NaN is a stranger.
    assert repr(wire.decode(wire.encode(value))) == repr(value)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (4, 0, 2)])
def test_arrays_keep_shape_type_and_bits(dtype, shape):
    array = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    back = wire.decode(wire.encode(array))
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert np.array_equal(back, array)


def test_scalars_and_phantoms_and_tensors():
    back = wire.decode(wire.encode([np.float32(1.5), Phantom(12, 4)]))
    assert type(back[0]) is np.float32
    assert back[1].nbytes == 12
    torch = pytest.importorskip("torch")
    tensor = torch.arange(3, dtype=torch.bfloat16)
    assert torch.equal(wire.decode(wire.encode(tensor)), tensor)


def test_a_machine_is_made_of_numbers():
    cluster = Cluster(4, 2, 2, Link(1e-6, 1e-10), Link(5e-6, 1e-9, 0.0, 1e-7), 1.5)
    assert wire.decode(wire.encode([cluster])) == [cluster]


@settings(max_examples=500)
@given(st.binary(max_size=200))
def test_garbage_is_a_value_or_malformed(raw):
    with contextlib.suppress(wire.Malformed):
        wire.decode(raw)


@given(plain, st.data())
def test_a_damaged_value_is_a_value_or_malformed(value, data):
    raw = bytearray(wire.encode(value))
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(wire.Malformed):
        wire.decode(bytes(raw))


HOSTILE = {
    "a list of four thousand million": b"l" + struct.pack("<I", 2**32 - 1),
    "a list of nothing, without end": b"l\1\0\0\0" * 1000 + b"N",
    "a text longer than the frame": b"s" + struct.pack("<I", 100) + b"x",
    "an array of 2**60 elements": b"a\x0d\1" + struct.pack("<Q", 2**60),
    "an array whose size wraps round": b"a\x0d\2" + struct.pack("<QQ", 2**63, 2),
    "an empty array of great length": b"a\x0d\2" + struct.pack("<QQ", 2**62, 0),
    "an array of objects": b"a\x63\1" + struct.pack("<Q", 1) + bytes(8),
    "an array of a hundred axes": b"a\x0d\x64" + bytes(800),
    "a scalar with axes": b"n\x0d\1" + struct.pack("<Q", 1) + bytes(8),
    "a number without bytes": b"i\0",
    "a Phantom of broken elements": b"k\2" + wire.encode((10, 0)),
    "a Phantom without end": b"k\2" + wire.encode((0, math.inf)),
    "a Phantom of half elements": b"k\2" + wire.encode((10.5, 3.5)),
    "a Phantom of 2**500 bytes": b"k\2" + wire.encode((2**500, 1)),
    "a machine of another kind": b"k\x07" + wire.encode((1, 2)),
    "a machine of too few numbers": b"k\0" + wire.encode((1.0,)),
    "a machine of texts": b"k\0" + wire.encode(("1", "2")),
    "a machine that costs less than nothing": b"k\0" + wire.encode((-1.0, 2.0)),
    "a list as a key": b"m\1\0\0\0l\0\0\0\0N",
    "a half truth": b"a\x01\1" + struct.pack("<Q", 1) + b"\7",
    "two values": b"NN",
    "a pickle": pickle.dumps(print),
    "nothing": b"",
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE)
def test_hostile_bytes_are_malformed(raw):
    with pytest.raises(wire.Malformed):
        wire.decode(raw)


def test_values_that_cannot_travel():
    for value in (object(), 10**1000, [[]] * 3 + [print], np.array([None])):
        with pytest.raises(wire.Unplain):
            wire.encode(value)
    nested = []
    for _ in range(100):
        nested = [nested]
    with pytest.raises(wire.Unplain, match="deep"):
        wire.encode(nested)


@pytest.fixture
def ends():
    one, other = (wire.FrameSocket(link, ticks=True) for link in socket.socketpair())
    with one, other:
        yield one, other


def test_a_giant_length_is_refused_before_anything_is_read(ends):
    ends[0].sendall(struct.pack("<I", 2**32 - 1))
    with pytest.raises(wire.Malformed, match="announced"):
        wire.receive_frame(ends[1])


def test_who_says_nothing_or_does_not_listen_is_late(ends):
    for act in (
        lambda until: wire.receive_frame(ends[1], until),
        lambda until: wire.send_frame(ends[0], bytes(10**7), until),
    ):
        begun = time.monotonic()
        with pytest.raises(wire.Late):
            act(begun + 0.1)
        assert time.monotonic() - begun < 5


def test_frames_that_come_together_are_read_one_by_one(ends):
    values = [b"x" * size for size in (3, 0, 80_000)]
    one, two, three = (struct.pack("<I", len(raw)) + raw for raw in map(wire.encode, values))
    ends[0].sendall(one + two + three[:2])
    soon = time.monotonic() + 60
    assert [wire.receive_frame(ends[1], soon) for _ in range(2)] == values[:2]
    with pytest.raises(wire.Late):
        wire.receive_frame(ends[1], time.monotonic() + 0.1)
    ends[0].sendall(three[2:])
    assert wire.receive_frame(ends[1], soon) == values[2]


def test_who_hangs_up_in_the_middle_is_gone(ends):
    ends[0].sendall(struct.pack("<I", 100) + b"s")
    ends[0].close()
    with pytest.raises(EOFError):
        wire.receive_frame(ends[1])
