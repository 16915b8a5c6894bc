"""The all-reduce with one copy each way: the sum, and exactly the copies that it promises."""

import numpy as np
import pytest

from ddl_runtime.devices.stand_in import StandInDevice
from ddl_teach import simulate
from ddl_teach.collectives import ring, staged_once


def program(comm, sizes):
    device = StandInDevice("late")
    found = []
    for size in sizes:
        values = np.arange(size, dtype=np.float32) + comm.rank
        x = device.array(values)
        x += 1  # a kernel that the copy must not overtake
        before = device.traffic.bytes_to_host, device.traffic.bytes_to_device
        staged_once.allreduce(comm, x)
        device.synchronise()
        after = device.traffic.bytes_to_host, device.traffic.bytes_to_device
        twin = values + 1
        ring.allreduce(comm, twin)
        found.append(
            (np.array_equal(x.to_host(), twin), after[0] - before[0], after[1] - before[1])
        )
        host = values + 1
        staged_once.allreduce(comm, host)
        found[-1] += (np.array_equal(host, twin),)
    return found


SIZES = (0, 1, 7, 1000)


def judge(results):
    for found in results:
        for size, (same, out, into, same_on_the_host) in zip(SIZES, found, strict=True):
            assert same
            assert same_on_the_host
            # The array itself was copied in before, once more than the result is.
            assert out == 4 * size
            assert into in (4 * size, 8 * size)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_simulated(ranks):
    judge(simulate(program, ranks, sizes=SIZES).results)


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_on_real_ranks(real, ranks):
    judge(real(program, ranks, sizes=SIZES).results)
