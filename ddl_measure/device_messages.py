"""Messages between devices, measured as the OSU micro-benchmarks do, from Python.

    latency     a ball to and fro: half of the time between is one message
    bandwidth   a window of messages begun at once, and an answer when all are in
    both ways   the same from both sides at once: does the link carry as much each way?
    all-reduce  a ring over all ranks; the slowest rank counts

Each in host memory and in device memory; paths and chunk sizes take turns, so that a disturbance
of the machine hits all alike, and what arrives is compared with what was sent. Copies between host
and device are measured by themselves, alone and many in a row: what one costs less in a row than
alone is a delay in which the next may follow (`theory.staging.TransferStage`).
Ohio State University's micro-benchmarks (osu_latency, osu_bw, osu_bibw, osu_allreduce).
What to look at: the same program runs where there is no device, over host memory alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ddl_measure.device_run import HOST, DeviceTiming, TransferPath
from ddl_measure.ping_pong import play
from ddl_measure.repetitions import side_by_side
from ddl_runtime.core.arrays import Array
from ddl_runtime.core.parts import Request
from ddl_runtime.devices import device_of
from ddl_runtime.devices.choice import Reach
from ddl_runtime.devices.device import Device
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm

LATENCY, BANDWIDTH, BOTH_WAYS, ALLREDUCE = "latency", "bandwidth", "both ways", "all-reduce"
EVERY_TEST = (LATENCY, BANDWIDTH, BOTH_WAYS, ALLREDUCE)
ONE_ARRAY = (LATENCY, ALLREDUCE)  # what comes in replaces what went out
COPY_OUT, COPY_IN = "copy out", "copy in"
IN_A_ROW = ", in a row"
WINDOW = 16  # messages, or copies, under way at once
TURNS = 8  # of a short ball, so that the clock sees more than its own steps
SHORT = 64 << 10  # bytes
ALONE = TransferPath("copy")


@dataclass(frozen=True)
class ArrayHome:
    """The kind of memory that holds arrays: how to make and read them, and how to wait for
    kernels."""

    make: Callable[[np.ndarray], Array]
    read: Callable[[Array], np.ndarray]
    settle: Callable[[], Any] = lambda: None

    def settled(self, run: Callable[..., Any]) -> Callable[..., None]:
        """`run` and a wait for the kernels that it has begun, since they belong to its time."""

        def whole(*arrays: Array) -> None:
            run(*arrays)
            self.settle()

        return whole


IN_HOST_MEMORY = ArrayHome(np.copy, np.asarray)


@dataclass(frozen=True)
class Peer:
    """Another library's way to do one test: a function of two arrays in such a place."""

    test: str
    way: TransferPath
    place: ArrayHome
    play: Callable[[Array, Array], Any]


def measure_messages(
    comm: Comm,
    place: ArrayHome,
    ways: Sequence[TransferPath],
    sizes: Sequence[int],
    repetitions: int = 15,
    peers: Sequence[Peer] = (),
    tests: Sequence[str] = EVERY_TEST,
) -> list[DeviceTiming]:
    """These `tests` on this rank: seconds of a message, or of an all-reduce, by its own clock.

    Ranks beyond the first two take part in the all-reduces only. The path HOST is measured in host
    memory, all others in that of the `place`; `peers` take turns with them.
    """
    rows = []
    for nbytes in sizes:
        playable = _tests(comm, nbytes)
        for test in tests:
            play_it, count = playable[test]
            field = [Peer(test, way, *_ours(comm, way, place, play_it)) for way in ways]
            # One chunk that holds all would be staged.
            field = [candidate for candidate in field if candidate.way.chunk < nbytes]
            field += [peer for peer in peers if peer.test == test]
            contestants, results = {}, {}
            for candidate in field:
                x = candidate.place.make(np.full(nbytes // 4, 1 + comm.rank, np.float32))
                y = candidate.place.make(np.zeros(nbytes // 4, np.float32))
                contestants[candidate.way] = partial(candidate.place.settled(candidate.play), x, y)
                results[candidate.way] = partial(
                    candidate.place.read, x if test in ONE_ARRAY else y
                )
            seconds = side_by_side(
                contestants, repetitions=repetitions, before=comm.barrier, clock=comm.now
            )
            # What came must be what the other rank sent.
            sent = {LATENCY: 1, ALLREDUCE: comm.size, BOTH_WAYS: 2 - comm.rank}
            expected = sent.get(test, comm.rank)
            for way, result in results.items():
                received = result()
                if comm.rank < 2 and not (received == expected).all():
                    raise AssertionError(
                        f"{test}, {way.name}: rank {comm.rank} holds {received[:3]}... where "
                        f"{expected} came: the path lost or mixed up bytes"
                    )
                taken = tuple(float(took) / count for took in seconds[way])
                rows.append(DeviceTiming(test, way, nbytes, taken))
    return rows


def measure_copies(
    place: ArrayHome, sizes: Sequence[int], repetitions: int = 15
) -> list[DeviceTiming]:
    """Copies between host and device, alone and in a row, with no message at all."""
    rows = []
    for nbytes in sizes:
        x = place.make(np.zeros(nbytes // 4, np.float32))
        device = device_of(x)
        host, stream = device.pinned(nbytes), device.new_stream()
        queue = {
            COPY_OUT: partial(device.to_host, x, 0, host, stream),
            COPY_IN: partial(device.to_device, host, x, 0, stream),
        }
        tests = {
            name + more: (partial(_copies, copy, count, device, stream), count)
            for name, copy in queue.items()
            for more, count in (("", 1), (IN_A_ROW, WINDOW))
        }
        contestants = {test: copies for test, (copies, _) in tests.items()}
        for test, seconds in side_by_side(contestants, repetitions=repetitions).items():
            taken = tuple(float(took) / tests[test][1] for took in seconds)
            rows.append(DeviceTiming(test, ALONE, nbytes, taken))
    return rows


def _copies(copy: Callable[[], None], count: int, device: Device, stream: Any) -> None:
    for _ in range(count):
        copy()
    copied = device.record(stream)
    while not copied.done():
        pass  # too short to sleep through


def _tests(comm: Comm, nbytes: int) -> dict[str, tuple[Callable[[Array, Array], Any], int]]:
    """What is played with two arrays, and how many messages one call of it is worth."""
    turns = TURNS if nbytes <= SHORT else 1
    return {
        LATENCY: (lambda x, y: play(comm, x, turns), 2 * turns),
        BANDWIDTH: (lambda x, y: _window(comm, x, y), WINDOW),
        BOTH_WAYS: (lambda x, y: _both_ways(comm, x, y), WINDOW),
        ALLREDUCE: (lambda x, y: ring.allreduce(comm, x, "max"), 1),
    }


def _window(comm: Comm, x: Array, y: Array) -> None:
    """Many messages one way, then a word back."""
    word = np.zeros(1, np.uint8)
    if comm.rank == 0:
        _wait_for([comm.isend(x, 1) for _ in range(WINDOW)])
        comm.recv(word, 1)
    elif comm.rank == 1:
        _wait_for([comm.irecv(y, 0) for _ in range(WINDOW)])
        comm.send(word, 0)


def _both_ways(comm: Comm, x: Array, y: Array) -> None:
    if comm.rank < 2:
        incoming = [comm.irecv(y, 1 - comm.rank) for _ in range(WINDOW)]
        _wait_for([*incoming, *(comm.isend(x, 1 - comm.rank) for _ in range(WINDOW))])


def _wait_for(requests: Sequence[Request]) -> None:
    for request in requests:
        request.wait()


def _ours(
    comm: Comm, way: TransferPath, place: ArrayHome, test: Callable[[Array, Array], Any]
) -> tuple[ArrayHome, Callable[[Array, Array], Any]]:
    """Where our own arrays lie, and the test with messages that take this way."""
    if way.path == HOST:
        return IN_HOST_MEMORY, test

    def by_this_way(x: Array, y: Array) -> None:
        comm.device_table = {"message": (Reach(0, way.path, way.chunk),)}
        test(x, y)

    return place, by_this_way
