"""Each plain collective gives what its product gives, at the cost that its docstring says."""

import numpy as np
import pytest
from comparing import assert_all_close, assert_differs, changed, vector

from ddl_runtime.topologies.point_to_point import TwoLevel, Uniform
from ddl_teach import simulate
from ddl_teach.collectives import (
    double_binary_tree,
    hierarchical,
    pat,
    rabenseifner,
    recursive_doubling,
    ring,
    tree,
)
from ddl_teach.collectives.sparse import recursive_doubling as sparse
from ddl_teach.collectives.sparse.stream import Stream
from ddl_teach.plain import double_binary_tree as plain_double_tree
from ddl_teach.plain import pat as plain_pat
from ddl_teach.plain import rabenseifner as plain_rabenseifner
from ddl_teach.plain import recursive_doubling as plain_doubling
from ddl_teach.plain import (
    ring_allreduce,
    sparse_allreduce,
    tree_broadcast,
    two_level_allreduce,
)
from ddl_teach.theory import collectives as theory
from ddl_teach.theory.machine import Link

ALLREDUCES = {  # plain file and product
    "ring": (ring_allreduce, ring),
    "recursive doubling": (plain_doubling, recursive_doubling),
    "Rabenseifner": (plain_rabenseifner, rabenseifner),
    "double binary tree": (plain_double_tree, double_binary_tree),
    "two levels": (two_level_allreduce, hierarchical),
}
COSTS = Uniform(latency=1e-6, bandwidth=1e9)
LONG = 3 * 5 * 8  # all rank counts divide it


def dense_both(comm, name, length, change=None):
    """What the plain file makes of all ranks' vectors, and what the product makes of them."""
    results = []
    mine, product = ALLREDUCES[name]
    for file in (changed(mine, change), product):
        x = vector(comm.rank, length)
        file.allreduce(comm, x)
        results.append(x)
    return results


def assert_same_bits(results):
    assert len({mine.tobytes() for mine, _ in results}) == 1


@pytest.mark.parametrize("name", ALLREDUCES)
@pytest.mark.parametrize("length", [37, 3])  # of three numbers some chunks are empty
@pytest.mark.sampled(6)
def test_an_allreduce_gives_what_its_product_gives(run, name, length):
    results = run(dense_both, name=name, length=length).results
    assert_all_close(results)
    assert_same_bits(results)


def pat_both(comm, length, most, change=None):
    """The chunk that is added up, then all chunks."""
    results = []
    for file in (changed(plain_pat, change), pat):
        x = vector(comm.rank, length)
        own = file.reduce_scatter(comm, x, most=most).copy()
        file.allgather(comm, x, most=most)
        results.append([own, x])
    return results


@pytest.mark.parametrize(("length", "most"), [(40, 1), (40, 2), (40, 64), (3, 64)])
@pytest.mark.sampled(6)
def test_aggregated_trees_give_what_their_product_gives(run, length, most):
    # np.array_split puts longer chunks first, split_evenly spreads them: sums are compared whole
    for (_, mine), (_, product) in run(pat_both, length=length, most=most).results:
        assert_all_close([(mine, product)])


@pytest.mark.parametrize("most", [1, 2, 64])
def test_aggregated_trees_keep_the_chunk_of_their_product(run, most):
    results = run(pat_both, length=LONG, most=most).results
    assert_all_close([(mine[0], product[0]) for mine, product in results])


def nodes_of(size):
    return TwoLevel(size, between=COSTS)


@pytest.mark.parametrize(("ranks", "size"), [(1, 1), (3, 1), (4, 2), (8, 2), (6, 3), (8, 4)])
def test_two_levels_on_nodes(ranks, size):
    network, settings = nodes_of(size), {"name": "two levels", "length": 37}
    results = simulate(dense_both, ranks, network=network, **settings).results
    assert_all_close(results)
    assert_same_bits(results)


def tree_both(comm, verb, root, change=None):
    results = []
    for file in (changed(tree_broadcast, change), tree):
        x = vector(comm.rank)
        getattr(file, verb)(comm, x, root)
        results.append(x)
    return results


def test_a_broadcast_gives_what_its_product_gives(run, ranks):
    assert_all_close(run(tree_both, verb="broadcast", root=ranks // 2).results)


def test_a_reduction_gives_what_its_product_gives_on_the_root(run, ranks):
    root = ranks // 2
    assert_all_close([run(tree_both, verb="reduce", root=root).results[root]])


def sparse_vector(rank, density):
    rng = np.random.default_rng(rank)
    return np.where(rng.random(60) < density, rng.standard_normal(60), 0.0)


def sparse_both(comm, density, change=None):
    x = sparse_vector(comm.rank, density)
    product = sparse.allreduce(comm, Stream.of(x)).dense()
    changed(sparse_allreduce, change).allreduce(comm, x)
    return x, product


@pytest.mark.parametrize("density", [0.0, 0.1, 0.9])
@pytest.mark.sampled(3)
def test_a_sparse_allreduce_gives_what_its_product_gives(run, density):
    results = run(sparse_both, density=density).results
    assert_all_close(results)
    assert_same_bits(results)


CHANGES = [
    (dense_both, "ring", "incoming += arriving", "incoming[...] = arriving"),
    (dense_both, "recursive doubling", "x += arriving  #", "x[...] = arriving  #"),
    (dense_both, "recursive doubling", "core)\n        x += arriving", "core)"),
    (dense_both, "Rabenseifner", "own += arriving", "own -= arriving"),
    (dense_both, "Rabenseifner", "distance //= 2", "distance = 0"),
    (dense_both, "two levels", "ring_allreduce.allreduce(across, part)", ""),
    (pat_both, 2, "place if back else 0", "0"),
    (pat_both, 1, "(place if back else 0)", "place"),
    (tree_both, "broadcast", "while distance < comm.size", "while False"),
    (tree_both, "reduce", "x += arriving", "x -= arriving"),
    (sparse_both, 0.9, "x[indices] += values", "x[indices] = values"),
    (sparse_both, 0.9, "x[:] = 0", ""),
]
SETTINGS = {
    dense_both: lambda name: {"name": name, "length": 37},
    pat_both: lambda most: {"length": LONG, "most": most},
    tree_both: lambda verb: {"verb": verb, "root": 0},
    sparse_both: lambda density: {"density": density},
}


@pytest.mark.parametrize(("program", "case", "old", "new"), CHANGES)
def test_a_change_of_the_plain_file_is_noticed(program, case, old, new):
    settings = SETTINGS[program](case)
    run = simulate(program, 5, network=nodes_of(2), change=(old, new), **settings)
    assert_differs(run.results)


# The formulas of the docstrings, in virtual time and on the ledger.


def call(comm, verb):
    VERBS[verb](comm, np.ones(LONG))


VERBS = {
    **{name: mine.allreduce for name, (mine, _) in ALLREDUCES.items()},
    "trees, scattered": plain_pat.reduce_scatter,
    "trees, gathered": plain_pat.allgather,
    "broadcast": tree_broadcast.broadcast,
    "reduction": tree_broadcast.reduce,
}


@pytest.mark.parametrize(
    ("verb", "formula", "exact"),
    [
        ("ring", theory.ring, (1, 2, 3, 4, 5, 8)),
        ("recursive doubling", theory.recursive_doubling, (1, 2, 4, 8)),
        ("Rabenseifner", theory.rabenseifner, (1, 2, 4, 8)),
        ("trees, scattered", theory.formula("pat", "reduce_scatter"), (1, 2, 3, 4, 5, 8)),
        ("trees, gathered", theory.formula("pat", "allgather"), (1, 2, 3, 4, 5, 8)),
        ("broadcast", theory.formula("tree", "broadcast"), (1, 2, 4, 8)),
        ("reduction", theory.formula("tree", "reduce"), (1, 2, 4, 8)),
    ],
)
def test_virtual_time_is_the_formula_and_elsewhere_at_most_that(verb, formula, exact, ranks):
    expected = formula(ranks, 8 * LONG, Link.of(COSTS))
    found = simulate(call, ranks, network=COSTS, verb=verb).time
    assert found <= expected * (1 + 1e-9)
    assert (ranks not in exact) or found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("ranks", [2, 4, 6, 8])
def test_every_rank_sends_its_half_to_other_nodes(ranks):
    run = simulate(call, ranks, network=nodes_of(2), verb="two levels")
    nodes = ranks // 2
    for rank, ledger in enumerate(run.ledger):
        to_others = sum(one.bytes for one in ledger.messages if one.peer // 2 != rank // 2)
        assert to_others == 2 * (nodes - 1) * (8 * LONG // 2) // nodes


def same_or_other_places(comm, shared):
    x = np.zeros(8 * comm.size)
    start = 0 if shared else 8 * comm.rank
    x[start : start + 8] = 1
    sparse_allreduce.allreduce(comm, x)


@pytest.mark.parametrize(("shared", "times"), [(True, 3), (False, 7)])
def test_a_sparse_allreduce_on_eight_ranks_sends_the_bytes_of_its_formula(shared, times):
    run = simulate(same_or_other_places, 8, shared=shared)
    assert [ledger.bytes_sent for ledger in run.ledger] == [12 * 8 * times + 8 * 3] * 8
