"""Messages of arrays on devices: they arrive as any other, whichever way and however late."""

import numpy as np
import pytest
from device_programs import LENGTHS, device_of_rank, every_verb

from ddl_runtime.devices.choice import PATHS, Reach
from ddl_runtime.topologies.point_to_point import HostLink, TwoLevel, Uniform
from ddl_teach import simulate

# How the devices' streams move, for so many ranks: the meanest way, the keenest, and by dice.
SCHEDULES = {1: ("late", "early", 3), 2: ("late", "early", 3), 3: ("late", 3), 4: ("late",),
             5: (3,), 8: ("late",)}  # fmt: skip


@pytest.mark.parametrize(("ranks", "schedules"), SCHEDULES.items())
@pytest.mark.sampled(3)
def test_every_verb_carries_arrays_on_devices(real, ranks, schedules):
    """On real ranks and on simulated ones; and both write down the same messages."""

    def program(comm, schedules):
        ways = [(path, schedule) for path in PATHS for schedule in schedules]
        return [every_verb(comm, path, schedule) for path, schedule in ways]

    run = real(program, ranks, schedules=schedules)
    assert all(wrong == [] for wrongs in run.results for wrong in wrongs)
    for network in (Uniform(), TwoLevel(2, host_link=HostLink(1e-6, 1e9))):
        simulated = simulate(program, ranks, network=network, schedules=schedules)
        assert simulated.results == run.results
        for one, other in zip(simulated.ledger, run.ledger, strict=True):
            assert sorted(one.messages) == sorted(other.messages)
    kinds = run.ledger[0].by_kind()
    assert kinds["device direct"] == len(schedules) * 4 * (len(LENGTHS) - 1)
    assert kinds["device staged"] == len(schedules) * 4 * (2 * len(LENGTHS) - 4)
    assert kinds["device pipelined"] == len(schedules) * 4 * 2


def program_with_a_slow_kernel(comm, path, forgetful):
    """Rank 0's kernel is slow when its array is sent, and rank 1's when it is received into."""
    from ddl_runtime.devices.stand_in import StandInDevice

    class Forgetful(StandInDevice):
        """Its streams wait for nothing, and its events are done at once."""

        def wait(self, stream, event):
            pass

        def record(self, stream):
            event = super().record(stream)
            if stream is self._current:
                event.done = lambda: True
            return event

    device = Forgetful("late") if forgetful else StandInDevice("late")
    device.direct, comm.device_path = True, path
    x = device.array(np.full(3000, 1.0 + comm.rank))
    device.synchronise()
    hold = device.hold()
    if comm.rank == 0:
        x += 6  # queued, and cannot run yet
        request = comm.isend(x, 1)
        hold.release()
        request.wait()
        return None
    kept = x * 10  # a kernel that reads x, and cannot run yet
    request = comm.irecv(x, 0)
    hold.release()
    request.wait()
    return x.to_host()[0], kept.to_host()[0]


@pytest.mark.parametrize("path", PATHS)
def test_messages_and_kernels_keep_their_order(real, path):
    """What is sent is what the kernels before it have written, and what is received comes after
    the kernels that read what was there; a device whose streams wait for nothing shows both wrong,
    so these kernels really were late."""
    run = real(program_with_a_slow_kernel, 2, path=path, forgetful=False)
    assert run.results[1] == (7.0, 20.0)
    if path != "direct":
        old = real(program_with_a_slow_kernel, 2, path=path, forgetful=True).results[1]
        assert old[0] == 1.0


@pytest.mark.parametrize("path", PATHS)
def test_nobody_overtakes_a_message_that_waits_for_its_device(real, path):
    def program(comm, path):
        device = device_of_rank(comm, path)
        first, second = np.zeros(2000), np.zeros(2000)
        if comm.rank == 0:
            x = device.array(np.full(2000, 1.0))
            hold = device.hold()
            requests = [comm.isend(x, 1), comm.isend(np.full(2000, 2.0), 1)]
            comm.send(np.full(2000, 4.0), 1, tag=1)  # another tag: this one may overtake
            hold.release()
            for request in requests:
                request.wait()
        else:
            other = comm.recv(second, 0, tag=1)
            comm.recv(first, 0)
            comm.recv(second, 0)
            return first[0], second[0], other
        return None

    assert real(program, 2, path=path).results[1] == (1.0, 2.0, 0)


@pytest.mark.parametrize("path", PATHS)
def test_a_rank_that_waits_for_one_message_moves_all_others(real, path):
    """Rank 0 never waits for its send before it has the answer to it."""

    def program(comm, path):
        device = device_of_rank(comm, path)
        x = device.array(np.arange(5000.0))
        answer = np.zeros(1)
        if comm.rank == 0:
            device.hold(100)
            sending = comm.isend(x, 1)
            comm.recv(answer, 1)
            sending.wait()
        else:
            y = np.zeros(5000)
            comm.recv(y, 0)
            comm.send(y[-1:], 0)
        return answer[0]

    assert real(program, 2, path=path).results[0] == 4999.0


@pytest.mark.parametrize("on_device", [True, False])
@pytest.mark.parametrize("path", PATHS)
def test_chunks_are_taken_for_a_receive_that_nobody_waits_for_yet(real, path, on_device):
    """As MPI promises: the sender's wait ends, though the receiver waits for something else."""

    def program(comm, on_device):
        device = device_of_rank(comm, path)
        comm.device_table = {
            "message": (Reach(0, path, 100_000),)
        }  # no library sends so much ahead
        x, other = device.array(np.full(50_000, 7.0)), np.zeros(20_000)
        if comm.rank == 0:
            comm.send(x, 1)
            comm.send(other, 1, tag=1)
            return 7.0
        y = device.empty(50_000) if on_device else np.zeros(50_000)
        receiving = comm.irecv(y, 0)
        comm.recv(other, 0, tag=1)
        receiving.wait()
        return y[-1:].to_host()[0] if on_device else y[-1]

    assert real(program, 2, on_device=on_device).results == [7.0, 7.0]


def test_many_are_under_way_at_once(real):
    """On several communicators, in the background, under tags in common; the way by the table."""

    def program(comm):
        from ddl_runtime.devices.stand_in import StandInDevice

        device, found = StandInDevice(), []
        x = device.array(np.full(30_000, float(comm.rank)))
        places = [device.empty(30_000) for _ in range(6)]
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size

        def beside(other):
            y = device.empty(30_000)
            other.isend(x, right)  # nobody waits for it but the end of the program
            other.recv(y, left)
            found.append(y.to_host()[5] == left)

        requests = [comm.irecv(y, left, tag=i % 3) for i, y in enumerate(places)]
        requests += [comm.isend(x + i, right, tag=i % 3) for i in range(6)]
        background = [comm.background(beside) for _ in range(3)]
        half, y = comm.split(comm.rank % 2), device.empty(30_000)
        half.sendrecv(x, (half.rank + 1) % half.size, y, (half.rank - 1) % half.size)
        while not all(request.waited for request in requests):
            comm.wait_any(requests)
        for request in background:
            request.wait()
        return [y.to_host()[-1] - left for y in places], found, y.to_host()[0]

    run = real(program, 4)
    assert run.results == [(list(range(6)), [True] * 3, (rank + 2) % 4) for rank in range(4)]
    assert set(run.ledger[0].by_kind()) & {"host", "device pipelined"} == {"device pipelined"}
    assert simulate(program, 4).results == run.results


@pytest.mark.parametrize(("path", "copies"), [("direct", 0), ("staged", 1), ("pipelined", 4)])
def test_copies_stand_on_the_timeline_beside_messages(real, path, copies):
    def program(comm, path):
        device = device_of_rank(comm, path)
        x = device.empty(10_000, np.uint8)
        if comm.rank == 0:
            comm.send(x, 1)
        else:
            comm.recv(x, 0)

    network = Uniform(host_link=HostLink())
    for run in (real(program, 2, path=path), simulate(program, 2, network=network, path=path)):
        for rank, way, verb in ((0, "copy out", "send"), (1, "copy in", "recv")):
            spans = [span for span in run.timeline.spans[rank] if span.kind != "span"]
            sizes = [span.bytes for span in spans if span.kind == way]
            assert len(sizes) == copies
            assert sum(sizes) == (10_000 if copies else 0)
            assert [span.bytes for span in spans if span.kind == verb] == [10_000]


def test_ways_that_do_not_exist_are_refused(real):
    def program(comm):
        from ddl_runtime.devices.stand_in import StandInDevice

        told = []

        def refused(action):
            with pytest.raises((TypeError, ValueError)) as error:
                action()
            told.append(str(error.value))

        x = StandInDevice().empty(10)
        refused(lambda: setattr(comm, "device_path", "by pigeon"))
        refused(lambda: setattr(comm, "device_table", {"message": (Reach(5, "staged"),)}))
        refused(lambda: setattr(comm, "device_table", {"message": (Reach(0, "pipelined"),)}))
        refused(lambda: comm.window(10).put(x, 0))
        comm.device_path = "direct"
        refused(lambda: comm.isend(x, 0))
        comm.device_path = None
        comm.isend(x, 0)
        comm.recv(x, 0)
        return told

    told = real(program, 1).results[0]
    expected = ("by pigeon", "begin at 0", "at least one byte", "window is memory", "doctor")
    assert all(words in text for words, text in zip(expected, told, strict=True))
