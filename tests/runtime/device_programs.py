"""Rank programs with arrays on devices, and what they need."""

import numpy as np

from ddl_runtime.devices.choice import Reach

# In bytes, as float32: none, one element, just long enough for chunks, not a multiple of them.
LENGTHS = (0, 1, 1001, 2500)
CHUNK = 3333  # bytes; not even a multiple of an element


def device_of_rank(comm, path, schedule="late"):
    from ddl_runtime.devices.stand_in import StandInDevice

    device = StandInDevice(schedule)
    device.direct = True
    comm.device_table = {"message": (Reach(0, path, CHUNK if path == "pipelined" else 0),)}
    return device


def every_verb(comm, path, schedule):
    """Each verb, from device to device and between device and host; returns what went wrong."""
    from ddl_teach.comm import ANY

    device = device_of_rank(comm, path, schedule)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    wrong = []

    def numbers(rank, length, case):
        return np.arange(length, dtype=np.float32) + 100 * rank + case

    def check(case, y, expected):
        got = y if isinstance(y, np.ndarray) else y.to_host()
        if not np.array_equal(got, expected):
            wrong.append((case, len(expected)))

    for length in LENGTHS:
        x, y = device.array(numbers(comm.rank, length, 0)), device.empty(length, np.float32)
        device.hold(20)  # a slow kernel, and behind it one that writes what is sent
        x *= 2
        assert comm.sendrecv(x, right, y, left) == left
        check("sendrecv", y, 2 * numbers(left, length, 0))
        twice, host = y * 2, np.zeros(length, np.float32)
        requests = [comm.irecv(host, ANY, 1), comm.isend(x, right, 1)]
        assert sorted(comm.wait_any(requests) for _ in requests) == [0, 1]
        check("device to host", host, 2 * numbers(left, length, 0))
        host += comm.rank + 1
        receive = comm.irecv(y, left, 2)  # while the kernel of `twice` may not have run
        comm.isend(host, right, 2).wait()
        assert receive.wait() == left
        check("kernel reads", twice, 4 * numbers(left, length, 0))
        before = 2 * numbers((left - 1) % comm.size, length, 0) + left + 1
        check("host to device", y, before)
        device.hold(30)
        x += 1
        sending = [comm.isend(x, right, 3), comm.isend(before, right, 3)]  # in this order
        z = np.zeros(length, np.float32)
        assert (comm.recv(z, ANY, 3), comm.recv(y, left, 3)) == (left, left)
        check("the first", z, 2 * numbers(left, length, 0) + 1)
        further = (left - 1) % comm.size
        check("the second", y, 2 * numbers((further - 1) % comm.size, length, 0) + further + 1)
        for request in sending:
            request.wait()

        def beside(other, x=x, y=y):
            other.sendrecv(x, right, y, left)

        comm.background(beside).wait()
        check("background", y, 2 * numbers(left, length, 0) + 1)
    return wrong
