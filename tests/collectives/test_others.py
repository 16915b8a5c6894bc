"""Every collective but the all-reduce: what each rank must hold, whoever implements it."""

import numpy as np
import pytest
import vectors
from grounds import RANK_COUNTS, algorithms

from ddl_teach import Phantom, simulate
from ddl_teach.collectives import registry

LENGTHS = (0, 1, 2, 7, 64, 1001)


def mine(rank, length):
    return np.random.default_rng([rank, length]).integers(-50, 50, length)


def chunk(length, rank, size):
    return slice(length * rank // size, length * (rank + 1) // size)


def allreduce(comm, call, length):
    x = mine(comm.rank, length)
    call(comm, x, "max")
    return vectors.same(x, np.max([mine(rank, length) for rank in range(comm.size)], axis=0))


def reduce_scatter(comm, call, length):
    total = sum(mine(rank, length) for rank in range(comm.size))
    got = call(comm, mine(comm.rank, length))
    return vectors.same(got, total[chunk(length, comm.rank, comm.size)])


def allgather(comm, call, length):
    x = np.full(length, -99)
    whole = mine(0, length)
    x[chunk(length, comm.rank, comm.size)] = whole[chunk(length, comm.rank, comm.size)]
    call(comm, x)
    return vectors.same(x, whole)


def broadcast(comm, call, length):
    right = []
    for root in range(comm.size):
        x = mine(comm.rank, length)
        call(comm, x, root)
        right.append(vectors.same(x, mine(root, length)))
    return all(right)


def reduce(comm, call, length):
    right = []
    for root in range(comm.size):
        x = mine(comm.rank, length)
        call(comm, x, root, "max")
        expected = np.max([mine(rank, length) for rank in range(comm.size)], axis=0)
        right.append(comm.rank != root or vectors.same(x, expected))
    return all(right)


def gather(comm, call, length):
    right = []
    for root in range(comm.size):
        out = np.zeros((comm.size, length), int) if comm.rank == root else None
        call(comm, mine(comm.rank, length), out, root)
        expected = np.array([mine(rank, length) for rank in range(comm.size)])
        right.append(comm.rank != root or vectors.same(out, expected.reshape(out.shape)))
    return all(right)


def scatter(comm, call, length):
    right = []
    for root in range(comm.size):
        blocks = np.array([mine(rank, length) for rank in range(comm.size)])
        out = np.zeros(length, int)
        call(comm, blocks if comm.rank == root else None, out, root)
        right.append(vectors.same(out, mine(comm.rank, length)))
    return all(right)


def alltoall(comm, call, length):
    blocks = np.array([mine(100 * comm.rank + dest, length) for dest in range(comm.size)])
    out = np.zeros_like(blocks)
    call(comm, blocks, out)
    expected = [mine(100 * source + comm.rank, length) for source in range(comm.size)]
    return vectors.same(out, np.array(expected).reshape(out.shape))


def scan(comm, call, length):
    x = mine(comm.rank, length)
    call(comm, x)
    return vectors.same(x, sum(mine(rank, length) for rank in range(comm.rank + 1)))


def barrier(comm, call, length):
    """Nobody leaves before the last has come: by then it has left its mark with its neighbour."""
    token = np.zeros(1)
    if comm.rank == comm.size - 1:
        comm.work(seconds=0.02)
    before = comm.now()
    call(comm)
    after = comm.now()
    times = np.array([before, after])
    everybodys = np.zeros((comm.size, 2))
    everybodys[comm.rank] = times
    for rank in range(comm.size):
        if rank != comm.rank:
            comm.isend(times, rank)
    for rank in range(comm.size):
        if rank != comm.rank:
            comm.recv(everybodys[rank], rank)
    del token, length
    return bool(everybodys[:, 1].min() >= everybodys[:, 0].max() - 1e-9)


CHECKS = {
    "reduce_scatter": reduce_scatter,
    "allgather": allgather,
    "broadcast": broadcast,
    "reduce": reduce,
    "gather": gather,
    "scatter": scatter,
    "alltoall": alltoall,
    "scan": scan,
    "barrier": barrier,
}


def every_collective_of(comm, lengths):
    """Those that leave a wrong result on this rank."""
    return [
        (algorithm, collective, length)
        for collective, check in {"allreduce": allreduce, **CHECKS}.items()
        for algorithm in algorithms("simulated", collective)
        for length in lengths
        if not check(comm, registry.function(algorithm, collective), length)
    ]


@pytest.mark.parametrize("ranks", [5, 7, 8])
def test_no_collective_is_wrong_on_simulated_ranks(ranks):
    run = simulate(every_collective_of, ranks, trace=False, lengths=(3, 19))
    assert run.results == [[]] * ranks


def do_all(comm, check, collective, algorithm):
    call = registry.function(algorithm, collective)
    lengths = LENGTHS if collective != "barrier" else (0,)
    return [length for length in lengths if not check(comm, call, length)]


@pytest.mark.parametrize(
    ("ground", "collective", "algorithm", "ranks"),
    [
        (ground, collective, algorithm, ranks)
        for ground, rank_counts in RANK_COUNTS.items()
        for collective in CHECKS
        for algorithm in algorithms(ground, collective)
        for ranks in rank_counts
    ],
    indirect=["ground"],
)
@pytest.mark.slow
@pytest.mark.sampled(24)
def test_every_rank_holds_what_it_should(ground, collective, algorithm, ranks):
    run = ground.run(do_all, ranks, trace=False, check=CHECKS[collective],
                     collective=collective, algorithm=algorithm)  # fmt: skip
    assert run.results == [[]] * ranks


@pytest.mark.slow
@pytest.mark.parametrize("ground", RANK_COUNTS)
@pytest.mark.parametrize("collective", CHECKS)
def test_every_ground_has_every_collective(ground, collective):
    assert algorithms(ground, collective)


@pytest.mark.parametrize(
    ("ground", "first", "then"),
    [
        (ground, first, then)
        for ground in RANK_COUNTS
        for first in algorithms(ground, "reduce_scatter")
        for then in algorithms(ground, "allgather")
    ],
    indirect=["ground"],
)
@pytest.mark.parametrize("ranks", [1, 3, 4, 5])
@pytest.mark.slow
@pytest.mark.sampled(3)
def test_reduce_scatter_then_allgather_is_an_allreduce(ground, first, then, ranks):
    def program(comm, first, then):
        x = mine(comm.rank, 1001)
        registry.function(first, "reduce_scatter")(comm, x)
        registry.function(then, "allgather")(comm, x)
        return vectors.same(x, sum(mine(rank, 1001) for rank in range(comm.size)))

    assert all(ground.run(program, ranks, first=first, then=then).results)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", sorted(set(registry.names()) - {"native"}))
@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 12])
def test_phantoms_take_the_same_time_as_data(algorithm, ranks):
    def program(comm, algorithm, real):
        x = np.zeros(12_000, np.uint8) if real else Phantom(12_000)
        registry.get(algorithm).allreduce(comm, x, "max")

    data, phantom = (
        simulate(program, ranks, algorithm=algorithm, real=real) for real in (True, False)
    )
    assert phantom.time == data.time
    assert phantom.ledger == data.ledger


@pytest.mark.parametrize("root", [-1, 3])
@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_a_flat_tree_has_a_rank_for_a_root(collective, root):
    def program(comm):
        with pytest.raises(ValueError, match=f"the root {root} does not exist"):
            registry.function("linear", collective)(comm, np.zeros(9), root)

    simulate(program, 3)


def test_a_collective_that_nobody_has_is_named_with_its_neighbour():
    with pytest.raises(ValueError, match="did you mean 'allreduce'"):
        registry.names("alreduce")


@pytest.mark.slow
@pytest.mark.parametrize("root", [-1, 3])
@pytest.mark.parametrize("algorithm", ["linear", "tree"])
@pytest.mark.parametrize("collective", ["broadcast", "reduce", "gather", "scatter"])
def test_a_root_must_be_a_rank(collective, algorithm, root):
    def program(comm):
        call = getattr(registry.get(algorithm), collective)
        arrays = [np.zeros(3 if collective == "gather" else 9), np.zeros(9)]
        with pytest.raises(ValueError, match=f"the root {root} does not exist"):
            call(comm, *arrays[: 1 + (collective in ("gather", "scatter"))], root=root)

    simulate(program, 3)
