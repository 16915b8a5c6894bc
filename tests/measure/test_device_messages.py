"""The message benchmark: a row for every way, simulated the model's times, no lost bytes."""

import numpy as np
import pytest

from ddl_measure.device_messages import (
    ALLREDUCE,
    ALONE,
    BANDWIDTH,
    BOTH_WAYS,
    COPY_IN,
    COPY_OUT,
    IN_A_ROW,
    IN_HOST_MEMORY,
    LATENCY,
    WINDOW,
    ArrayHome,
    Peer,
    measure_copies,
    measure_messages,
)
from ddl_measure.device_run import HOST, TransferPath
from ddl_runtime.devices.stand_in import StandInDevice
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import simulate

SIZES = (400, 20_000)
CHUNK = 8192
WAYS = [
    TransferPath(HOST),
    TransferPath("direct"),
    TransferPath("staged"),
    TransferPath("pipelined", CHUNK),
]


def on_a_stand_in():
    device = StandInDevice("early")
    device.direct = True
    return ArrayHome(device.array, lambda x: x.to_host(), device.synchronise)


def all_ways(comm):
    before = comm.ledger.by_kind()
    rows = measure_messages(comm, on_a_stand_in(), WAYS, SIZES, repetitions=2)
    kinds = comm.ledger.by_kind() - before
    rows += measure_copies(on_a_stand_in(), SIZES, repetitions=2)
    return rows, set(kinds)


@pytest.mark.parametrize("ranks", [2, 3])
def test_every_way_of_every_test_leaves_its_row_and_takes_its_path(real, ranks):
    for rank, (rows, kinds) in enumerate(real(all_ways, ranks).results):
        found = {(row.test, row.way, row.nbytes) for row in rows if row.way != ALONE}
        tests = LATENCY, BANDWIDTH, BOTH_WAYS, ALLREDUCE
        expected = {
            (test, way, size)
            for test in tests for way in WAYS for size in SIZES if way.chunk < size
        }  # fmt: skip
        assert found == expected
        alone = {row.test for row in rows if row.way == ALONE}
        assert alone == {COPY_OUT, COPY_IN, COPY_OUT + IN_A_ROW, COPY_IN + IN_A_ROW}
        assert all(len(row.seconds) == 2 for row in rows)
        assert min(min(row.seconds) for row in rows) >= 0
        if rank < 2:
            assert {"host", "device direct", "device staged", "device pipelined"} <= kinds


def on_the_host(comm):
    return measure_messages(comm, IN_HOST_MEMORY, [TransferPath(HOST)], [4000], repetitions=1)


def test_simulated_a_test_takes_what_the_model_says():
    latency, bandwidth = 3e-6, 1e9
    network = Uniform(latency=latency, bandwidth=bandwidth)
    [rows, _] = simulate(on_the_host, 2, network=network).results
    taken = {row.test: row.seconds[0] for row in rows}
    message = 4000 / bandwidth
    word = latency + 1 / bandwidth
    assert taken[LATENCY] == pytest.approx(latency + message)
    assert taken[BANDWIDTH] == pytest.approx(message + (latency + word) / WINDOW)
    # One rank may leave the barrier a latency before the other.
    for test, least in (
        (BOTH_WAYS, message + latency / WINDOW),
        (ALLREDUCE, 2 * latency + message),
    ):
        assert least * (1 - 1e-9) <= taken[test] <= (least + latency) * (1 + 1e-9)


def loses_bytes(comm):
    idle = Peer(LATENCY, TransferPath("gloo"), IN_HOST_MEMORY, lambda x, y: None)
    measure_messages(comm, IN_HOST_MEMORY, [], [64], repetitions=1, peers=[idle])


def test_a_way_that_moves_nothing_is_found_out():
    with pytest.raises(DiagnosedError, match=r"latency, gloo: rank 1 holds \[2. 2. 2.\]"):
        simulate(loses_bytes, 2)


def test_kernels_that_are_still_queued_belong_to_the_time():
    done = []
    place = ArrayHome(np.copy, np.asarray, lambda: done.append("settled"))
    place.settled(lambda x: done.append(x))("kernel")
    assert done == ["kernel", "settled"]
