"""The stand-in device: only its own kernels touch the memory, and nothing happens at once."""

import pickle

import numpy as np
import pytest

from ddl_runtime.core.arrays import describe
from ddl_runtime.core.element_types import TYPE_NAMES
from ddl_runtime.devices.stand_in import StandInDevice

SCHEDULES = ("late", "early", 0, 1, 2)


def until_done(event, limit=1000):
    """Looks that it takes, or None where even `limit` of them are too few."""
    return next((looks for looks in range(limit) if event.done()), None)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_arithmetic_gives_the_bits_of_the_host(schedule):
    device = StandInDevice(schedule)
    host = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    x = device.array(host)
    y = (2 * x - x / 3) @ device.array(host.T)
    expected = (2 * host - host / 3) @ host.T
    y += 1
    y[1:3] = y[0] * 7
    expected += 1
    expected[1:3] = expected[0] * 7
    assert y.to_host().tobytes() == expected.tobytes()
    assert y.dtype == np.float32
    assert float(y[0, 0]) == expected[0, 0]
    assert (y.sum() > 0) == (expected.sum() > 0)
    assert np.array_equal(x.copy().astype(np.int64).to_host(), host.astype(np.int64))
    assert np.isnan(device.empty(5).to_host()).all(), "what was never written must not look right"


def test_host_code_cannot_touch_the_memory():
    device = StandInDevice()
    x, host = device.array(np.arange(6.0)), np.ones(6)
    touches = {
        "as an array": lambda: np.asarray(x),
        "a function": lambda: np.sum(x),
        "a copy": lambda: np.copyto(host, x),
        "into a slice": lambda: host.__setitem__(slice(None), x),
        "a host array on the left": lambda: host + x,
        "a host array on the right": lambda: x + host,
        "in place": lambda: np.add(x, x, out=host),
        "a host array into a slice": lambda: x.__setitem__(slice(None), host),
        "one after another": lambda: list(x),
        "by pickle": lambda: pickle.dumps(x),
    }
    for name, touch in touches.items():
        with pytest.raises(TypeError, match="Who copies the bytes"):
            raise AssertionError(f"{name} gave {touch()!r}")
    with pytest.raises(TypeError):
        memoryview(x)
    with pytest.raises(ValueError, match="another device"):
        x += StandInDevice().array(host)
    with pytest.raises(TypeError, match="slices"):
        x[[0, 1]]
    with pytest.raises(TypeError, match="not C-contiguous"):
        x.reshape(2, 3)[:, 1].reshape(-1)
    assert host.tolist() == [1] * 6
    assert x.to_host().tolist() == [0, 1, 2, 3, 4, 5]


def test_only_what_crosses_the_link_is_counted():
    device = StandInDevice()
    x = device.array(np.zeros(10))
    x += 1
    x[:3] *= 2
    device.synchronise()
    assert (device.traffic.copies_to_device, device.traffic.bytes_to_device) == (1, 80)
    assert device.traffic.copies_to_host == 0
    assert x[:5].to_host().sum() == 8
    assert x[0].item() == 2
    assert (device.traffic.copies_to_host, device.traffic.bytes_to_host) == (2, 48)


@pytest.mark.parametrize("dtype", [name for name in TYPE_NAMES if hasattr(np, name)])
def test_it_describes_what_numpy_can_hold(dtype):
    device = StandInDevice()
    host = np.ones(3, dtype)
    nbytes, name = device.describe(device.array(host))
    assert (nbytes, TYPE_NAMES.index(name)) == describe(host)
    assert device.array(host).copy().to_host().tobytes() == host.tobytes()


def a_copy(device, waits):
    """Copy on a stream of its own what a kernel writes: with the wait, or without."""
    x, host = device.array(np.zeros(4)), device.pinned(32)
    device.synchronise()
    x += 1
    stream = device.new_stream()
    if waits:
        device.wait(stream, device.record(device.current_stream(x)))
    device.to_host(x, 0, host, stream)
    assert until_done(device.record(stream)) is not None
    return host.view(np.float64).tolist()


@pytest.mark.parametrize("schedule", [*SCHEDULES, *range(10, 40)])
def test_a_copy_that_waits_for_the_kernel_is_right_in_every_order(schedule):
    assert a_copy(StandInDevice(schedule), waits=True) == [1] * 4


def test_a_copy_that_does_not_wait_carries_old_bytes_and_the_late_device_always_shows_it():
    assert a_copy(StandInDevice("late"), waits=False) == [0] * 4
    assert a_copy(StandInDevice("early"), waits=False) == [1] * 4, "the bug that hides"
    outcomes = {tuple(a_copy(StandInDevice(seed), waits=False)) for seed in range(40)}
    assert outcomes == {(0.0,) * 4, (1.0,) * 4}, "dice show it now and then, as GPUs do"


def test_host_memory_that_is_used_again_too_early_is_shown_as_well():
    device = StandInDevice("late")
    host, stream = np.ones(1), device.new_stream()
    x = device.empty(1)
    device.to_device(host.view(np.uint8), x, 0, stream)
    host[0] = 2.0  # while the copy is only queued
    assert until_done(device.record(stream)) is not None
    assert x.item() == 2.0
    eager = StandInDevice("early")
    x, stream, room = eager.array([5.0]), eager.new_stream(), eager.pinned(8)
    x += 1
    eager.to_host(x, 0, room, stream)
    x += 1  # the copy did not wait for this one, and the early device is done with the copy
    assert until_done(eager.record(stream)) is not None
    assert room.view(float)[0] == 6.0


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_held_kernel_holds_what_comes_after_it_and_nothing_else(schedule):
    device = StandInDevice(schedule)
    x = device.array([0.0])
    held = device.hold()
    x += 1
    done = device.record(device.current_stream(x))
    other = device.new_stream()
    with device.stream(other):
        y = device.array([3.0])
        assert y.item() == 3.0, "another stream does not wait"
    assert until_done(done) is None
    with pytest.raises(RuntimeError, match="held back"):
        device.synchronise()
    held.release()
    assert until_done(done) is not None
    assert x.item() == 1.0
    slow = device.hold(looks=7)
    x += 1
    assert until_done(device.record(device.current_stream(x))) >= 7
    assert slow.free
    assert x.item() == 2.0


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_events_order_streams_both_ways(schedule):
    """A ping-pong between two streams: each addition waits for the one before it."""
    device = StandInDevice(schedule)
    x = device.array([1.0])
    streams = [device.new_stream(), device.new_stream()]
    device.wait(streams[0], device.record(device.current_stream(x)))
    for step in range(10):
        here, there = streams[step % 2], streams[1 - step % 2]
        with device.stream(here):
            x *= 2
            x += step
        device.wait(there, device.record(here))
    with device.stream(streams[0]):
        value = 1.0
        for step in range(10):
            value = 2 * value + step
        assert x.item() == value


def test_an_unknown_schedule_is_refused():
    with pytest.raises(ValueError, match="late"):
        StandInDevice("sometimes")
