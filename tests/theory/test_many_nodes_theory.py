"""Formulas of all-reduces on nodes, against simulated ranks that share cables."""

from functools import partial

import numpy as np
import pytest

from ddl_class.notebook import among_nodes
from ddl_teach import simulate
from ddl_teach.collectives import recursive_doubling
from ddl_teach.theory import many_nodes as theory
from ddl_teach.theory.machine import Cluster, Link

INSIDE, BETWEEN = Link(2e-5, 2e-10), Link(2e-4, 8e-8)


def cluster_of(nodes, each):
    return Cluster(nodes, each, 1, INSIDE, BETWEEN)


def simulated(cluster, nbytes, way):
    def program(comm):
        way(comm, np.ones(nbytes // 8))

    return simulate(program, cluster.ranks, network=cluster.network, trace=False).time


def leading(comm, x, node_of):
    """To the first rank of the node one after the other, round a ring of these, and back."""
    mates, _ = among_nodes.mates_and_peers(comm.rank, node_of)
    if comm.rank != mates[0]:
        comm.send(x, mates[0])
        comm.recv(x, mates[0])
        return
    arriving = [np.empty_like(x) for _ in mates[1:]]
    for request in [
        comm.irecv(room, mate) for room, mate in zip(arriving, mates[1:], strict=True)
    ]:
        request.wait()
    among_nodes.ring(comm, x, sorted({node_of.index(node) for node in node_of}))
    for request in [comm.isend(x, mate) for mate in mates[1:]]:
        request.wait()


@pytest.mark.parametrize(("nodes", "each"), [(4, 2), (2, 4), (8, 1), (3, 3), (1, 4), (8, 4)])
@pytest.mark.sampled(2)
def test_simulated_ranks_take_what_the_formulas_say(nodes, each):
    ranks = nodes * each
    dealt = sorted(range(ranks), key=lambda rank: (rank % each, rank))
    exact = {
        theory.dealt_ring: partial(among_nodes.ring, ranks=dealt),
        theory.by_parts: partial(
            among_nodes.allreduce, node_of=[rank // each for rank in range(ranks)]
        ),
        theory.by_leaders: partial(leading, node_of=[rank // each for rank in range(ranks)]),
    }
    if ranks.bit_count() == each.bit_count() == 1:
        exact[theory.swapping] = recursive_doubling.allreduce
    one_ring = partial(among_nodes.ring, ranks=list(range(ranks)))
    for nbytes in (72 * ranks, 72 * 1024 * ranks):
        case = cluster_of(nodes, each), nbytes
        for formula, way in exact.items():
            assert simulated(*case, way) == pytest.approx(formula(*case))
        over = simulated(*case, one_ring) / theory.one_ring(*case)
        assert 1 - 1e-9 < over < (1.11 if nbytes == 72 * ranks else 1.003)


def test_a_ring_that_is_dealt_out_takes_as_many_times_as_ranks_share_a_cable():
    case = cluster_of(4, 2), 2**24
    assert theory.dealt_ring(*case) / theory.one_ring(*case) == pytest.approx(2, rel=0.01)


def test_levels_are_told_apart_and_late_pings_left_aside():
    node_of = [0, 0, 1]
    pings = [
        (a, b, n, (link.latency + (n - 8) * link.per_byte) * late)
        for a, b, link in ((0, 1, INSIDE), (0, 2, BETWEEN), (1, 2, BETWEEN))
        for n in (8, 2**18)
        for late in (1, 1, 1, 50)
    ]
    for found, right in zip(theory.levels(node_of, pings), (INSIDE, BETWEEN), strict=True):
        assert found == pytest.approx((right.latency, right.per_byte))
