"""The formulas against the simulator: equal where they claim to be exact, a bound elsewhere."""

import numpy as np
import pytest

from ddl_runtime.topologies.point_to_point import Machine, TwoLevel, Uniform
from ddl_teach import ANY, Phantom, simulate
from ddl_teach.collectives import (
    bruck,
    dissemination,
    hierarchical,
    linear,
    pairwise,
    rabenseifner,
    recursive_doubling,
    ring,
    tree,
)
from ddl_teach.theory import collectives, rooted, symmetric
from ddl_teach.theory.collectives import formula

FILES = {
    "linear": linear,
    "tree": tree,
    "ring": ring,
    "recursive_doubling": recursive_doubling,
    "rabenseifner": rabenseifner,
}
RANKS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 24, 25, 31, 32, 64)
POWERS = tuple(ranks for ranks in RANKS if ranks.bit_count() == 1)
OTHERS = tuple(ranks for ranks in RANKS if ranks.bit_count() > 1)
LATENCY, PER_BYTE = 3e-6, 1e-10
COSTS = (  # reductions are slower than the wire in the second row
    {"per_byte_reduced": 0.0, "overhead": 0.0},
    {"per_byte_reduced": 3e-10, "overhead": 0.0},
    {"per_byte_reduced": 0.0, "overhead": 2e-6},
    {"per_byte_reduced": 7e-11, "overhead": 4e-7},
)
BLOCKS = (0, 8, 1024, 2**20)  # bytes of one block


def simulated(program, ranks, per_byte_reduced=0.0, overhead=0.0, network=None):
    machine = Machine()
    if per_byte_reduced:
        machine = Machine(reduce_bandwidth=1 / per_byte_reduced)
    if network is None:
        network = Uniform(latency=LATENCY, bandwidth=1 / PER_BYTE, overhead=overhead)
    return simulate(program, ranks, network=network, machine=machine, trace=False).time


def predicted(time, ranks, nbytes, costs=None):
    return time(ranks, nbytes, LATENCY, PER_BYTE, **(costs or {}))


def same(one, other):
    return one == pytest.approx(other, rel=1e-12, abs=0)


def largest_power(ranks):
    return 2 ** (ranks.bit_length() - 1)


def exact(name, ranks):
    """Where the docstrings claim that a formula is exact for sizes that divide."""
    power = largest_power(ranks)
    return {
        "tree": ranks == power,
        "recursive_doubling": ranks == power or 2 * ranks > 3 * power,
    }.get(name, True)


def divisible(ranks, block):
    """A size that the ranks and the powers of two up to their number divide."""
    return ranks * largest_power(ranks) * block


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("costs", COSTS, ids=str)
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("ranks", RANKS)
def test_allreduce(name, costs, block, ranks):
    nbytes = divisible(ranks, block)
    vector = Phantom(nbytes)
    time = simulated(lambda comm: FILES[name].allreduce(comm, vector), ranks, **costs)
    expected = predicted(formula(name), ranks, nbytes, costs)
    if exact(name, ranks):
        assert same(time, expected)
    else:
        fewer = predicted(formula(name), largest_power(ranks), nbytes, costs)
        assert fewer <= time * (1 + 1e-12)
        assert time < expected


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("ranks", [1, 2, 4, 5, 8])
def test_allreduce_of_real_arrays(name, ranks):
    length = divisible(ranks, 16)

    def program(comm):
        x = np.full(length, comm.rank + 1.0)
        FILES[name].allreduce(comm, x)
        return x[-1]

    time = simulated(program, ranks)
    expected = predicted(formula(name), ranks, 8 * length)
    assert same(time, expected) or (not exact(name, ranks) and time < expected)


@pytest.mark.parametrize("name", ["ring", "rabenseifner"])
@pytest.mark.parametrize("ranks", RANKS[1:])
def test_a_vector_that_does_not_divide_lies_between_its_neighbours(name, ranks):
    """A real number of bytes per rank is no whole number of elements: see theory.inputs."""
    pieces = ranks if name == "ring" else largest_power(ranks)
    for length in (1, pieces - 1, pieces + 1, 1000 * pieces + pieces // 2 + 1):
        vector = Phantom(8 * length, itemsize=8)
        time = simulated(lambda comm, x=vector: FILES[name].allreduce(comm, x), ranks)
        rounded_up = -(-length // pieces) * pieces
        assert time * (1 + 1e-12) >= predicted(formula(name), ranks, 8 * length), length
        limit = predicted(formula(name), ranks, 8 * rounded_up) * (1 + 1e-12)
        assert time <= limit, length


IN_PLACE = (
    (rooted.broadcast_linear, linear.broadcast),
    (rooted.broadcast_tree, tree.broadcast),
    (rooted.reduce_linear, linear.reduce),
    (rooted.reduce_tree, tree.reduce),
    (symmetric.reduce_scatter_ring, ring.reduce_scatter),
    (symmetric.reduce_scatter_recursive_halving, rabenseifner.reduce_scatter),
    (symmetric.allgather_ring, ring.allgather),
    (symmetric.allgather_recursive_doubling, recursive_doubling.allgather),
    (symmetric.allgather_bruck, bruck.allgather),
    (symmetric.scan_linear, linear.scan),
    (symmetric.scan_recursive_doubling, recursive_doubling.scan),
)
PATTERNS = (
    *((time, lambda comm, x, _, f=function: f(comm, x)) for time, function in IN_PLACE),
    (rooted.gather_linear, lambda comm, x, piece: linear.gather(comm, piece, x)),
    (rooted.gather_tree, lambda comm, x, piece: tree.gather(comm, piece, x)),
    (rooted.scatter_linear, lambda comm, x, piece: linear.scatter(comm, x, piece)),
    (rooted.scatter_tree, lambda comm, x, piece: tree.scatter(comm, x, piece)),
    (symmetric.alltoall_pairwise, lambda comm, x, _: pairwise.alltoall(comm, x, x[:])),
    (symmetric.alltoall_bruck, lambda comm, x, _: bruck.alltoall(comm, x, x[:])),
)
FOR_POWERS = (
    symmetric.reduce_scatter_recursive_halving,
    symmetric.allgather_recursive_doubling,
)
BOUNDS = (
    rooted.broadcast_tree,
    rooted.reduce_tree,
    rooted.gather_tree,
    rooted.scatter_tree,
    symmetric.scan_recursive_doubling,
)


@pytest.mark.parametrize("costs", COSTS, ids=str)
@pytest.mark.parametrize(
    ("time", "program"), PATTERNS, ids=[time.__name__ for time, _ in PATTERNS]
)
def test_patterns(time, program, costs):
    for ranks in POWERS if time in FOR_POWERS else RANKS:
        for block in BLOCKS:
            nbytes = divisible(ranks, block)
            x, piece = Phantom(nbytes), Phantom(nbytes // ranks)
            took = simulated(lambda comm, x=x, y=piece: program(comm, x, y), ranks, **costs)
            expected = predicted(time, ranks, nbytes, costs)
            if time in BOUNDS and ranks in OTHERS:
                assert took < expected, (ranks, nbytes)
            else:
                assert same(took, expected), (ranks, nbytes)


@pytest.mark.parametrize("overhead", [0.0, 2e-6])
@pytest.mark.parametrize("ranks", RANKS)
def test_barriers(ranks, overhead):
    expected = symmetric.barrier_dissemination(ranks, LATENCY, overhead=overhead)
    assert same(simulated(dissemination.barrier, ranks, overhead=overhead), expected)
    assert same(simulated(lambda comm: comm.barrier(), ranks, overhead=overhead), expected)


@pytest.mark.parametrize("between", FILES)
@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("ranks_per_node", [1, 2, 3, 4, 8])
def test_hierarchical(nodes, ranks_per_node, between):
    network = TwoLevel(
        ranks_per_node,
        inside=Uniform(latency=1e-7, bandwidth=4e10),
        between=Uniform(latency=LATENCY, bandwidth=1 / PER_BYTE),
    )
    nbytes = 2**20 * nodes * largest_power(nodes)

    def program(comm):
        levels = hierarchical.split_by_node(comm)
        comm.work(seconds=1 - comm.now())  # the split has ended, everybody starts at 1 s
        hierarchical.allreduce(
            comm, Phantom(nbytes), levels=levels, between=FILES[between].allreduce
        )

    ranks = nodes * ranks_per_node
    took = simulated(program, ranks, per_byte_reduced=1 / 5e10, network=network) - 1
    expected = collectives.hierarchical(
        nodes,
        ranks_per_node,
        nbytes,
        1e-7,
        1 / 4e10,
        LATENCY,
        PER_BYTE,
        between=between,
        per_byte_reduced=1 / 5e10,
    )
    if exact(between, nodes) and ranks_per_node.bit_count() == 1:
        assert took == pytest.approx(expected, rel=1e-9, abs=1e-15)  # a difference of two times
    else:
        assert took < expected


def parameter_server(comm, shards, piece):
    """Push to every shard and pull from it; ranks begin with different shards."""
    serves, rank, size = comm.rank < shards, comm.rank, comm.size
    first = rank + serves
    order = [(first + turn) % shards for turn in range(shards)]
    pushes = [comm.isend(piece, to, tag=1) for to in order if to != rank]
    if serves:
        for _ in range(size - 1):
            comm.recv(piece, ANY, tag=1)
            comm.combine(piece, piece, out=piece)
        for turn in range(1, size):
            comm.send(piece, (rank + turn) % size, tag=2)
    for turn in range(size):
        source = (rank - turn) % size
        if source < shards and source != rank:
            comm.recv(piece, source, tag=2)
    for push in pushes:
        push.wait()


@pytest.mark.parametrize("per_byte_reduced", [0.0, 7e-11, 3e-10])
@pytest.mark.parametrize("block", BLOCKS[1:])
@pytest.mark.parametrize(
    ("ranks", "shards"),
    [(ranks, shards) for ranks in (2, 3, 5, 8, 13) for shards in range(1, ranks + 1)],
)
def test_parameter_server(ranks, shards, block, per_byte_reduced):
    piece = Phantom(block)
    took = simulated(lambda comm: parameter_server(comm, shards, piece), ranks, per_byte_reduced)
    expected = collectives.parameter_server(
        ranks, shards, shards * block, LATENCY, PER_BYTE, per_byte_reduced=per_byte_reduced
    )
    assert same(took, expected)
