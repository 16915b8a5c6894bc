"""Sub-groups by torch's meshes, collectives in order, and algorithms of one's own."""

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from ddl_teach import simulate, torch_backend
from ddl_teach.comm import Uniform


def begin():
    """A process group; the backend is named so that real ranks import it too."""
    assert torch_backend.use
    dist.init_process_group("ddl_teach")


def sums_along_a_mesh(comm, shape):
    """Each rank's coordinates, found by sums of ranks along each dimension."""
    begin()
    mesh = init_device_mesh("cpu", shape)
    sums = []
    for dimension in range(len(shape)):
        x = torch.tensor(float(comm.rank))
        dist.all_reduce(x, group=mesh.get_group(dimension))
        sums.append(float(x))
    return tuple(mesh.get_coordinate()), sums


def wanted(shape):
    ranks = np.arange(np.prod(shape), dtype=float).reshape(shape)
    sums = [np.broadcast_to(ranks.sum(i, keepdims=True), shape) for i in range(len(shape))]
    return [(place, [float(along[place]) for along in sums]) for place in np.ndindex(*shape)]


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (2, 2, 2)], ids=str)
def test_a_mesh_on_simulated_ranks(shape):
    run = simulate(sums_along_a_mesh, int(np.prod(shape)), threads=True, shape=shape)
    assert run.results == wanted(shape)


@pytest.mark.parametrize(
    "shape",
    [(2, 2), *(pytest.param(shape, marks=pytest.mark.long) for shape in [(2, 3), (2, 2, 2)])],
    ids=str,
)
def test_a_mesh_on_real_ranks(real, shape):
    run = real(sums_along_a_mesh, int(np.prod(shape)), shape=shape, timeout=400)
    assert run.results == wanted(shape)


def own_sum(comm, x):
    """A learner's all-reduce, of sums and with NumPy alone."""
    total = np.zeros_like(x)
    for root in range(comm.size):
        share = x.copy()
        for to in range(comm.size):
            if comm.rank == root != to:
                comm.send(share, to, tag=3)
        if comm.rank != root:
            comm.recv(share, root, tag=3)
        total += share
    x[:] = total


def sum_by(comm, algorithm, elements=6):
    torch_backend.use(allreduce=algorithm)
    dist.init_process_group("ddl_teach")
    x = torch.arange(float(elements)).reshape(2, -1) * (comm.rank + 1)
    dist.all_reduce(x)
    return x.numpy()


@pytest.mark.parametrize(
    ("algorithm", "share"),
    [("ring", 36), ("rabenseifner", 36), ("recursive_doubling", 48), (own_sum, 72)],
    ids=["ring", "rabenseifner", "recursive doubling", "one's own"],
)
def test_the_chosen_algorithm_carries_it_out(algorithm, share):
    """Of 24 bytes on 4 ranks a ring sends 2 3/4 of them, recursive doubling two times all, and
    the learner's three times all."""
    run = simulate(sum_by, 4, threads=True, algorithm=algorithm)
    sums = np.stack(run.results)
    np.testing.assert_array_equal(sums, np.stack([np.arange(6.0).reshape(2, 3) * 10] * 4))
    assert [ledger.bytes_sent for ledger in run.ledger] == [share] * 4


def beside_work(comm, calls):
    dist.init_process_group("ddl_teach")
    begun = comm.now()
    works = [dist.all_reduce(torch.ones(1), async_op=True) for _ in range(calls)]
    comm.work(seconds=3.0)
    for work in works:
        work.wait()
    return comm.now() - begun


@pytest.mark.parametrize(("calls", "seconds"), [(1, 3.0), (2, 4.0), (20, 40.0)])
def test_collectives_run_beside_work_and_one_after_another(calls, seconds):
    """Each takes two latencies of a second."""
    network = Uniform(latency=1.0, bandwidth=1e12)
    run = simulate(beside_work, 2, threads=True, network=network, calls=calls)
    assert run.results == pytest.approx([seconds] * 2)


def asks_an_event(comm):
    """A side stream notes what it waits for; its event is asked until it has been passed."""
    dist.init_process_group("ddl_teach")
    x, stream = torch.ones(3), torch.cpu.Stream()
    with torch_backend.computing(torch_backend.Roofline(1e9, 1e9)), torch.cpu.stream(stream):
        dist.all_reduce(x, async_op=True).wait()
    event = stream.record_event()
    while not event.query():
        pass
    return x.tolist()


def test_an_event_may_be_asked_until_it_has_been_passed():
    assert simulate(asks_an_event, 3, threads=True).results == [[3.0] * 3] * 3


def dice(comm):
    dist.init_process_group("ddl_teach")
    torch.manual_seed(comm.rank)
    numbers = []
    for _ in range(3):
        dist.all_reduce(torch.ones(1))
        work = dist.all_reduce(torch.ones(1), async_op=True)
        numbers.append(float(torch.rand(())))
        work.wait()
        numbers.append(float(torch.rand(())))
    return numbers


def numbers_alone(rank):
    torch.manual_seed(rank)
    return [float(torch.rand(())) for _ in range(6)]


def test_each_rank_has_random_numbers_of_its_own():
    assert simulate(dice, 3, threads=True).results == [*map(numbers_alone, range(3))]
