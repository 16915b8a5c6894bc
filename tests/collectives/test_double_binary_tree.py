"""Two trees: every rank has its place in both, none forwards in both, and all ports are busy."""

import numpy as np
import pytest

from ddl_teach import Phantom, simulate
from ddl_teach.collectives import double_binary_tree as product
from ddl_teach.collectives import ring, tree
from ddl_teach.comm import Uniform
from ddl_teach.plain import double_binary_tree as plain
from ddl_teach.theory import collectives as theory
from ddl_teach.theory.machine import Link

LATENCY, BANDWIDTH = 5e-6, 1e10
NETWORK, LINK = Uniform(latency=LATENCY, bandwidth=BANDWIDTH), Link(LATENCY, 1 / BANDWIDTH)


def families(comm):
    return [product.relatives(comm, second) for second in (False, True)]


@pytest.mark.parametrize("ranks", [*range(1, 20), 31, 32, 33, 100, 257])
def test_each_tree_holds_all_ranks_and_is_the_plain_one(ranks):
    for second, of_tree in enumerate(zip(*simulate(families, ranks).results, strict=True)):
        below = [child for _, children in of_tree for child in children]
        [root] = [rank for rank, (above, _) in enumerate(of_tree) if above is None]
        assert sorted([*below, root]) == list(range(ranks))
        for rank, (above, children) in enumerate(of_tree):
            assert all(of_tree[child][0] == rank for child in children)
            ours = plain.relatives(rank, ranks, bool(second))
            assert (above, sorted(children)) == (ours[0], sorted(ours[1]))


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8, 12, 13, 64, 65])
def test_no_rank_forwards_in_both_trees(ranks):
    both = [
        rank
        for rank, two in enumerate(simulate(families, ranks).results)
        if all(children for _, children in two)
    ]
    assert len(both) <= ranks % 2  # an odd number leaves one


def summed(comm, algorithm, nbytes):
    algorithm.allreduce(comm, Phantom(nbytes, 8))


def seconds(algorithm, ranks, nbytes):
    given = {"algorithm": algorithm, "nbytes": nbytes, "network": NETWORK, "trace": False}
    return simulate(summed, ranks, **given).time


@pytest.mark.parametrize("ranks", [16, 24, 64])
@pytest.mark.parametrize("nbytes", [2**17, 2**20, 2**22])
def test_the_time_is_nearly_the_estimate(ranks, nbytes):
    chunks = min(product.MOST, nbytes // (2 * product.CHUNK))
    estimate = theory.double_binary_tree(ranks, nbytes, LINK, chunks)
    assert seconds(product, ranks, nbytes) == pytest.approx(estimate, rel=0.35)


def test_it_is_ahead_of_a_ring_for_short_vectors_and_of_a_tree_for_long_ones():
    assert seconds(product, 64, 2**18) < seconds(ring, 64, 2**18) / 3
    assert seconds(product, 64, 2**22) < seconds(tree, 64, 2**22) / 3


@pytest.mark.parametrize(
    ("nbytes", "chunks"), [(8, 1), (3 * 2**17 - 8, 2), (3 * 2**17, 3), (2**22, 16)]
)
def test_a_half_goes_in_chunks_of_64_kib_and_never_in_more_than_16(nbytes, chunks):
    run = simulate(summed, 3, algorithm=product, nbytes=nbytes, network=NETWORK)
    trees, ways, links = 2, 2, 3 - 1
    assert sum(ledger.messages_sent for ledger in run.ledger) == trees * ways * links * chunks


def test_each_rank_sends_each_byte_about_twice():
    run = simulate(summed, 64, algorithm=product, nbytes=2**20, network=NETWORK)
    sent = np.array([ledger.bytes_sent for ledger in run.ledger])
    assert sent.sum() == 2 * 63 * 2**20
    assert sent.max() <= 2 * 2**20
