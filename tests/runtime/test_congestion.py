"""Programs on simulated networks with shared links: the times that congestion must give."""

from collections.abc import Callable

import pytest
from links import link_loads
from traffic import name, shift

from ddl_runtime.topologies.dragonfly import Dragonfly
from ddl_runtime.topologies.fat_tree import FatTree
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_runtime.topologies.shared_links import SharedBus, Star, Topology
from ddl_runtime.topologies.torus import Torus
from ddl_teach import ANY, Comm, Phantom, simulate
from ddl_teach.collectives import linear, recursive_doubling, ring, tree

NBYTES = 1_000_000
LATENCY = 1e-6
SECONDS = NBYTES / Star(1).bandwidth  # of one message alone, without latency
RANKS = (1, 2, 3, 4, 5, 8)


def shifted(comm: Comm, by: int) -> None:
    """Everybody sends to the rank that many further on."""
    x, y = Phantom(NBYTES), Phantom(NBYTES)
    comm.sendrecv(x, (comm.rank + by) % comm.size, y, (comm.rank - by) % comm.size)


def incast(comm: Comm) -> None:
    """Everybody sends to rank 0."""
    if comm.rank > 0:
        comm.send(Phantom(NBYTES), 0)
        return
    for _ in range(comm.size - 1):
        comm.recv(Phantom(NBYTES), ANY)


def everybody_to_everybody(comm: Comm) -> None:
    """All messages of an all-to-all at once."""
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    requests = [comm.irecv(Phantom(NBYTES), source) for source in others]
    requests += [comm.isend(Phantom(NBYTES), dest) for dest in others]
    for request in requests:
        request.wait()


def time(program: Callable, ranks: int, network: Topology | Uniform, **kwargs: object) -> float:
    return simulate(program, ranks, network=network, trace=False, **kwargs).time


def allreduce(comm: Comm, algorithm: Callable) -> None:
    algorithm(comm, Phantom(NBYTES))


@pytest.mark.parametrize(
    ("algorithm", "ranks"),
    [(ring, ranks) for ranks in RANKS]
    + [(linear, ranks) for ranks in RANKS]
    + [(algorithm, ranks) for algorithm in (tree, recursive_doubling) for ranks in (1, 2, 4, 8)],
)
def test_a_star_is_as_fast_as_a_uniform_network(algorithm, ranks):
    """Where no two messages meet, or nobody goes on before the last of those that met is there:
    side by side or one after another, that one arrives at the same time."""
    times = [
        time(allreduce, ranks, network, algorithm=algorithm.allreduce)
        for network in (Star(8), Uniform())
    ]
    assert times[0] == pytest.approx(times[1], rel=1e-12)


@pytest.mark.parametrize("sizes", [(8,), (4, 2), (3, 3), (2, 2, 2), (4, 4, 4)])
def test_neighbours_on_a_torus_do_not_disturb_each_other(sizes):
    torus = Torus(sizes)
    for by in (1, torus.hosts - 1):
        assert time(shifted, torus.hosts, torus, by=by) == pytest.approx(LATENCY + SECONDS)


def test_a_shift_by_half_a_ring_of_hosts_crosses_a_quarter_of_it_on_each_wire():
    assert time(shifted, 16, Torus((16,)), by=8) == pytest.approx(LATENCY + 4 * SECONDS)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize(
    "network", [Star(8), FatTree(4), Torus((4, 2)), Dragonfly(4, 2, 1), SharedBus(8)], ids=name
)
def test_incast_takes_as_long_as_all_its_bytes_over_one_link(network, ranks):
    expected = LATENCY + (ranks - 1) * SECONDS if ranks > 1 else 0
    assert time(incast, ranks, network) == pytest.approx(expected)


@pytest.mark.parametrize(
    "network",
    [
        FatTree(6, 2),
        FatTree(6, 2, oversubscription=2),
        FatTree(8, 2, oversubscription=3),
        FatTree(4),
        FatTree(4, oversubscription=3),
    ],
    ids=name,
)
def test_an_oversubscribed_tree_slows_an_all_to_all_by_its_factor(network):
    """What d hosts of a leaf have for the others, over u links up: s (P-d) instead of P-1."""
    slots = max(network.hosts - 1, network.oversubscription * (network.hosts - network.down))
    measured = time(everybody_to_everybody, network.hosts, network)
    assert measured == pytest.approx(LATENCY + slots * SECONDS)


def test_a_whole_group_to_the_next_one_is_the_dragonflys_bad_case():
    straight = time(shifted, 72, Dragonfly(9, 4, 2), by=8)
    by_a_third = time(shifted, 72, Dragonfly(9, 4, 2, valiant=True), by=8)
    assert straight == pytest.approx(LATENCY + 8 * SECONDS)
    assert by_a_third < straight


@pytest.mark.parametrize("ranks_per_node", [1, 2, 4])
def test_ranks_of_a_node_share_its_link(ranks_per_node):
    network = Star(2, ranks_per_node=ranks_per_node)
    measured = time(shifted, 2 * ranks_per_node, network, by=ranks_per_node)
    assert measured == pytest.approx(LATENCY + ranks_per_node * SECONDS)


@pytest.mark.parametrize("algorithm", [linear, tree, ring, recursive_doubling])
@pytest.mark.parametrize(
    "network",
    [SharedBus(12), FatTree(4, 2, oversubscription=3), Torus((4, 3)), Dragonfly(4, 3, 1)],
    ids=name,
)
def test_no_algorithm_beats_its_longest_link(network, algorithm):
    run = simulate(allreduce, 12, network=network, algorithm=algorithm.allreduce)
    messages = [
        (rank, message.peer, message.bytes)
        for rank, ledger in enumerate(run.ledger)
        for message in ledger.messages
    ]
    longest = (link_loads(network, messages) / network.capacities()).max()
    assert longest > 0
    assert run.time >= longest
    again = simulate(allreduce, 12, network=network, algorithm=algorithm.allreduce)
    assert again.time == run.time, "the same run, to the bit"


def test_overhead_is_paid_by_the_processors_at_both_ends():
    star = Star(2, overhead=1e-4)
    assert time(incast, 2, star) == pytest.approx(LATENCY + SECONDS + 2e-4)


def test_more_ranks_than_hosts_are_refused():
    with pytest.raises(ValueError, match="9 ranks do not fit: this FatTree has room for 8"):
        simulate(shifted, 9, network=FatTree(4, 2), by=1)


def test_shift_is_what_the_programs_here_send():
    run = simulate(shifted, 5, network=Star(5), by=2)
    sent = [(rank, ledger.messages[0].peer) for rank, ledger in enumerate(run.ledger)]
    assert sent == [(source, dest) for source, dest, _ in shift(5, 2)]


def exchanges(comm: Comm, halves: range) -> list[float]:
    """Shifts by 0, 1, 2 and so on, several of each, after work that differs from rank to rank;
    returns the clock after each. On the ranks in `halves` each is an isend and a recv."""
    clock = []
    for turn in range(4 * comm.size):
        by, x, y = turn // 4, Phantom(NBYTES // (1 + turn % 3)), Phantom(NBYTES // (1 + turn % 3))
        to, source = (comm.rank + by) % comm.size, (comm.rank - by) % comm.size
        comm.work((comm.rank * 7 + turn) % 5 * SECONDS / 3)
        if comm.rank in halves:
            leaving = comm.isend(x, to)
            comm.recv(y, source)
            leaving.wait()
        else:
            comm.sendrecv(x, to, y, source)
        clock.append(comm.now())
    return clock


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("network", [Star(8), FatTree(8, 2, 3), Torus((2, 4))], ids=name)
@pytest.mark.parametrize("step", [1, 2], ids=["all in halves", "every other in halves"])
def test_an_exchange_takes_as_long_as_its_two_halves_to_the_bit(network, ranks, step):
    whole, halves = (simulate(exchanges, ranks, network=network, halves=halves)
                     for halves in (range(0), range(0, ranks, step)))  # fmt: skip
    assert whole.results == halves.results
    assert [sorted(spans) for spans in whole.timeline.spans] == [
        sorted(spans) for spans in halves.timeline.spans
    ]
