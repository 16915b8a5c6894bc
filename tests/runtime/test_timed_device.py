"""The stand-in with a clock: copying by hand takes the time that the formulas of staging say."""

import numpy as np
import pytest

from ddl_class.exercises.exercise import NO_BUFFERS
from ddl_runtime.devices.timed import BANDWIDTH, START, TimedDevice
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import simulate
from ddl_teach.theory import staging

KERNEL = 1e-3
NETWORK = Uniform(latency=5e-6, bandwidth=5e9)
COPY = staging.TransferStage(start=10e-6, per_byte=1e-10)
ROUTE = staging.Route(COPY, staging.TransferStage(0.0, 2e-10, delay=5e-6), COPY)
VALUES = (np.arange(100_003) % 100).astype(np.uint8)


def by_hand(comm, chunk, waits=True):
    """From rank 0's device to rank 1's in chunks; without `waits` nobody waits for a copy."""
    device = TimedDevice(comm, start=COPY.start, bandwidth=1 / COPY.per_byte)
    x, host = device.array(VALUES), device.pinned(len(VALUES))
    copies, parts = device.new_stream(), range(0, len(VALUES), chunk)
    sends = []
    if comm.rank == 0:
        device.work(x, seconds=KERNEL)
        x *= 2
        device.wait(copies, device.record(device.current_stream(x)))
        marks = []
        for first in parts:
            device.to_host(x, first, host[first : first + chunk], copies)
            marks.append(device.record(copies))
        for first, mark in zip(parts, marks, strict=True):
            if waits:
                device.finish(mark)
            sends.append(comm.isend(host[first : first + chunk], 1))
    else:
        for first in parts:
            comm.recv(host[first : first + chunk], 0)
            device.to_device(host[first : first + chunk], x, first, copies)
        if waits:
            device.finish(device.record(copies))
    for request in sends:
        request.wait()
    return device.peek(x), host


@pytest.mark.parametrize("chunk", [len(VALUES), 50_000, 10_000, 999])
def test_it_takes_as_long_as_the_formula_says(chunk):
    run = simulate(by_hand, 2, network=NETWORK, machine=NO_BUFFERS, chunk=chunk)
    assert np.isclose(run.time, KERNEL + staging.pipelined(len(VALUES), chunk, ROUTE), rtol=1e-9)
    arrived, _ = run.results[1]
    assert (arrived == 2 * VALUES).all()


def mixed_up(comm, way):
    gpu = TimedDevice(comm)
    x, host, copies = gpu.array(VALUES), gpu.pinned(len(VALUES)), gpu.new_stream()
    mark = gpu.record(copies)
    calls = {
        "wait": lambda: gpu.wait(mark, copies),
        "no event": lambda: gpu.wait(copies, None),
        "finish": lambda: gpu.finish(copies),
        "out": lambda: gpu.to_host(host, 0, x, copies),
        "in": lambda: gpu.to_device(x, host, 0, copies),
    }
    calls[way]()


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("wait", r"gpu.wait\(stream, event\) needs an event, .* got StandInStream"),
        ("no event", "needs an event, which gpu.record"),
        ("finish", "needs an event, which gpu.record.* got StandInStream"),
        ("out", "copy out needs an array on the device, and got ndarray"),
        ("in", "copy in needs an array on the device, and got ndarray"),
    ],
)
def test_arguments_in_a_wrong_order_are_named(way, words):
    with pytest.raises(DiagnosedError, match=words):
        simulate(mixed_up, 1, way=way)


def test_who_waits_for_nothing_has_nothing():
    run = simulate(by_hand, 2, network=NETWORK, chunk=10_000, waits=False)
    (begun, _), (kept, arrived) = run.results
    assert (begun == VALUES).all()  # the kernel has not run
    assert (kept == VALUES).all()  # nor have the copies into the device
    assert (arrived == 255).all()  # what pinned memory held before


def test_a_copy_asked_for_takes_its_time_too():
    def program(comm):
        return TimedDevice(comm).array(VALUES).to_host()

    run = simulate(program, 1)
    assert (run.results[0] == VALUES).all()
    assert np.isclose(run.time, START + len(VALUES) / BANDWIDTH)


def test_the_timeline_shows_what_overlaps():
    run = simulate(by_hand, 2, network=NETWORK, chunk=50_002)
    spans = [
        (span.kind, span.start, span.end) for rank in (0, 1) for span in run.timeline.of(rank)
    ]
    [kernel] = [span for span in spans if span[0] == "kernel"]
    outs, ins, sends = (
        sorted(span for span in spans if span[0] == kind)
        for kind in ("copy out", "copy in", "send")
    )
    assert kernel[1:] == (0.0, KERNEL)
    assert np.isclose(outs[0][1], KERNEL)
    assert np.isclose(outs[1][1], outs[0][2])  # one engine
    assert outs[1][1] < sends[0][2]  # the second copy under the first message
    assert len(ins) == len(sends) == 2


def launched(comm):
    device = TimedDevice(comm, start=0.05, by_clock=True)
    x, host = device.array(VALUES), device.pinned(len(VALUES))
    asked = comm.now()
    device.to_host(x, 0, host, device.current_stream(x))
    mark = device.record(device.current_stream(x))
    while not mark.done():
        pass
    return by_hand(comm, chunk=30_000)[0], host, comm.now() - asked


def test_on_real_ranks_the_bytes_are_the_same_and_events_keep_the_time(real):
    for rank, (arrived, host, took) in enumerate(real(launched, 2).results):
        assert (arrived == 2 * VALUES).all() or rank == 0
        assert (host == VALUES).all()
        assert took >= 0.05
