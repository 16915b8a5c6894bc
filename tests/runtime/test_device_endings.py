"""Programs with arrays on devices that end badly: told as any other; nothing is left behind."""

import threading

import numpy as np
import pytest
from device_programs import device_of_rank, every_verb

from ddl_runtime.devices.choice import PATHS, Reach
from ddl_teach import simulate


def test_a_copy_that_fails_in_the_middle_is_told_and_leaves_clean_ranks(real):
    def program(comm, sending):
        from ddl_runtime.devices.stand_in import StandInDevice

        class Failing(StandInDevice):
            """Its third copy fails."""

            copies = 0

            def to_host(self, *args):
                self._count()
                super().to_host(*args)

            def to_device(self, *args):
                self._count()
                super().to_device(*args)

            def _count(self):
                self.copies += 1
                if self.copies == 3:
                    raise RuntimeError("a copy failed")

        device = Failing() if comm.rank == 1 - sending else StandInDevice()
        comm.device_table = {"message": (Reach(0, "pipelined", 4096),)}
        x = device.empty(50_000, np.uint8)
        if comm.rank == 0:
            comm.send(x, 1)
        else:
            comm.recv(x, 0)

    for sending in (0, 1):
        with pytest.raises(RuntimeError, match=f"rank {1 - sending} raised RuntimeError: a copy"):
            real(program, 2, sending=sending)
    everybody_works = real(lambda comm: every_verb(comm, "pipelined", "late"), 2)
    assert everybody_works.results == [[], []]


def test_a_rank_that_raises_ends_the_others_transfers(real):
    def program(comm, path):
        device = device_of_rank(comm, path)
        if comm.rank == 1:
            raise KeyError("on purpose")
        sending = comm.isend(device.empty(9000), 1)
        comm.recv(device.empty(9000), 1)
        sending.wait()

    for path in PATHS:
        with pytest.raises(RuntimeError, match="rank 1 raised KeyError"):
            real(program, 2, path=path)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.sampled(3)
def test_misfits_name_both_sizes_and_types(real, path):
    """Between device and host as between two hosts; the sizes of the last two cases differ by so
    much that their MPI tags are alike, and only the head of the chunks tells them apart."""

    def program(comm, sent, wanted, dtype, on_device):
        device = device_of_rank(comm, path)
        if comm.rank == 0:
            comm.send(device.empty(sent, np.uint8), 1)
        elif on_device:
            comm.recv(device.empty(wanted, dtype), 0)
        else:
            comm.recv(np.empty(wanted, dtype), 0)

    cases = [
        (10, 11, "uint8", True),
        (20_000, 20_001, "uint8", True),
        (20_000, 20_001, "uint8", False),
        (20_000, 20_000, "int8", False),
    ]
    if path == "pipelined":
        cases += [(20_000, 20_000 - 2 * 1020, "uint8", each) for each in (True, False)]
    for sent, wanted, dtype, on_device in cases:
        how = {"sent": sent, "wanted": wanted, "dtype": dtype, "on_device": on_device}
        with pytest.raises(RuntimeError, match="does not fit"):
            simulate(program, 2, **how)
        told = f"(?s)rank 1 .*does not fit: .* of uint8 were sent, .* {wanted} bytes of {dtype}"
        with pytest.raises(RuntimeError, match=told):
            real(program, 2, **how)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.sampled(3)
def test_a_hang_is_told_with_call_and_line_and_a_slow_device_is_none(real, path):
    def hang(comm, path):
        x = device_of_rank(comm, path).empty(3000)
        comm.recv(x, 1 - comm.rank, tag=7)  # nobody sends

    def slow(comm, path):
        device = device_of_rank(comm, path)
        x = device.array(np.full(3000, 5.0))
        if comm.rank == 0:
            late = device.hold()
            threading.Timer(1.0, late.release).start()
            comm.send(x, 1)
        else:
            comm.recv(x, 0)
        return x.to_host()[0]

    with pytest.raises(
        RuntimeError,
        match=r"(?s)recv.source=1, tag=7. of 24000 bytes float64.*"
        r"test_device_endings.py.* in hang",
    ) as story:
        real(hang, 2, path=path)
    assert story.type.__name__ == "Deadlock"
    assert real(slow, 2, path=path).results == [5.0, 5.0]


def test_a_message_that_nobody_receives_is_told(real):
    def program(comm, path):
        device = device_of_rank(comm, path)
        if comm.rank == 0:
            comm.isend(device.empty(10), 1).wait()

    for path in ("direct", "staged"):
        with pytest.raises(RuntimeError, match="80 bytes"):
            real(program, 2, path=path)
        with pytest.raises(RuntimeError, match="80 bytes"):
            simulate(program, 2, path=path)
