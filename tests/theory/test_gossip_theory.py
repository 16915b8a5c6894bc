"""Graphs and mixing matrices keep their laws; closed forms are those of the matrices."""

from functools import partial, reduce
from math import isqrt

import numpy as np
import pytest

from ddl_teach.theory.gossip import contraction, graphs, mixing

RANKS = (1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 25, 64)
BALANCED = (
    graphs.ring, graphs.torus, graphs.exponential, graphs.one_peer_exponential,
    graphs.complete, graphs.star, graphs.random, partial(graphs.random, rings=1, seed=3),
)  # fmt: skip
ALL = (*BALANCED, graphs.directed)


@pytest.mark.parametrize("ranks", RANKS)
def test_every_graph_connects_all_and_nobody_with_itself(ranks):
    for graph in (make(ranks) for make in ALL):
        assert graph.ranks == ranks
        reach = np.eye(ranks, dtype=bool)
        for step in range(len(graph.rounds) * ranks):
            for rank in range(ranks):
                targets = graph.sends_to(rank, step)
                assert rank not in targets
                assert sorted(set(targets)) == list(targets)
                assert all(rank in graph.hears_from(to, step) for to in targets)
            links = [(to, rank) for rank in range(ranks) for to in graph.sends_to(rank, step)]
            before = reach.copy()
            for to, rank in links:
                reach[to] |= before[rank]
            if reach.all():
                break
        assert reach.all(), graph.name


@pytest.mark.parametrize("ranks", RANKS)
def test_mixing_matrices_keep_the_mean_and_leave_agreement_alone(ranks):
    for graph in (make(ranks) for make in BALANCED):
        for step in range(len(graph.rounds)):
            matrix = mixing.mixing_matrix(graph, step)
            assert mixing.check_doubly_stochastic(matrix) is matrix
            weighed = {tuple(place) for place in np.argwhere(matrix) if place[0] != place[1]}
            assert weighed == {
                (rank, other) for rank in range(ranks) for other in graph.hears_from(rank, step)
            }
    for graph in (make(ranks) for make in ALL):
        shares = mixing.mixing_matrix(graph, weights=mixing.equal_shares)
        np.testing.assert_allclose(shares.sum(axis=0), 1)


@pytest.mark.parametrize("ranks", RANKS)
def test_closed_forms_are_those_of_the_matrices(ranks):
    second = contraction.second_eigenvalue
    np.testing.assert_allclose(second(graphs.ring(ranks)), contraction.ring(ranks), atol=1e-12)
    hops = (ranks - 1).bit_length()
    bound = (hops - 1) / (hops + 1) if hops else 0
    assert second(graphs.exponential(ranks)) <= bound + 1e-12
    if ranks % 2 == 0:
        np.testing.assert_allclose(second(graphs.exponential(ranks)), bound, atol=1e-12)
    side = isqrt(ranks)
    if side * side == ranks and side > 2:
        expected = (3 + 2 * np.cos(2 * np.pi / side)) / 5
        np.testing.assert_allclose(second(graphs.torus(ranks)), expected)
    assert second(graphs.complete(ranks)) == 0


@pytest.mark.parametrize("ranks", RANKS)
def test_the_one_peer_graph_is_exact_after_a_period_for_powers_of_two_only(ranks):
    graph = graphs.one_peer_exponential(ranks)
    assert len(graph.rounds) == max(1, (ranks - 1).bit_length())
    # Beginning anywhere in the period.
    for start in range(len(graph.rounds)):
        steps = range(start, start + len(graph.rounds))
        done = reduce(
            lambda so_far, t: mixing.mixing_matrix(graph, t) @ so_far, steps, np.eye(ranks)
        )
        exact = np.allclose(done, 1 / ranks, atol=1e-14)
        assert exact == (ranks.bit_count() == 1)
    assert (contraction.second_eigenvalue(graph) == 0) == (ranks.bit_count() == 1)


@pytest.mark.parametrize("make", BALANCED)
def test_random_vectors_contract_as_expected_and_never_slower_than_the_bound(make):
    graph, generator = make(12), np.random.default_rng(5)
    vectors = generator.standard_normal((12, 20_000))
    first, mean = contraction.consensus_error(vectors), vectors.mean(axis=0)
    expected = contraction.expected_errors(graph, 12)
    for step in range(12):
        vectors = mixing.mixing_matrix(graph, step) @ vectors
        left = contraction.consensus_error(vectors) / first
        np.testing.assert_allclose(left, expected[step + 1], rtol=0.03, atol=1e-14)
        if len(graph.rounds) == 1:
            bound = contraction.second_eigenvalue(graph) ** (step + 1)
            assert left <= bound * (1 + 1e-9) + 1e-14
    np.testing.assert_allclose(vectors.mean(axis=0), mean, atol=1e-12)


@pytest.mark.parametrize("make", [*BALANCED, graphs.one_peer_exponential])
@pytest.mark.parametrize("ranks", [8, 6])
def test_noise_keeps_ranks_as_far_apart_as_predicted(make, ranks):
    graph, period = make(ranks), len(make(ranks).rounds)
    # The covariance of all ranks' values: each step mixes it and adds independent noise.
    covariance = np.zeros((ranks, ranks))
    for step in range(200 * period):
        matrix = mixing.mixing_matrix(graph, step)
        covariance = matrix @ covariance @ matrix.T + np.eye(ranks)
    apart = np.eye(ranks) - 1 / ranks
    settled = np.sqrt(np.trace(apart @ covariance @ apart) / ranks)
    np.testing.assert_allclose(contraction.disagreement(graph), settled, rtol=1e-6)


@pytest.mark.parametrize("ranks", [4, 5, 8, 12])
def test_averaged_gradients_part_where_an_eigenvalue_is_negative_and_weights_do_not(ranks):
    rate, curvature = 0.1, 1.0
    graph = graphs.ring(ranks)
    matrix = mixing.mixing_matrix(graph)
    others = contraction.eigenvalues(graph)
    grown = max(abs(1 - rate * curvature * others))
    assert max(abs(others - rate * curvature)) < 1 < grown
    parts, meets = (np.random.default_rng(1).standard_normal((ranks, 3)) for _ in range(2))
    for _ in range(1000):
        parts = parts - rate * matrix @ (curvature * parts)
        meets = matrix @ meets - rate * curvature * meets
    after = parts - rate * matrix @ (curvature * parts)
    both = contraction.consensus_error(after) / contraction.consensus_error(parts)
    np.testing.assert_allclose(both, grown, rtol=1e-6)
    assert contraction.consensus_error(meets) < 1e-12
    assert abs(parts.mean(axis=0)).max() < 1e-9 * abs(parts).max()


def test_degrees_are_those_of_the_table():
    makes = (graphs.ring, graphs.torus, graphs.exponential, graphs.one_peer_exponential)
    assert [len(make(64).sends_to(5)) for make in makes] == [2, 4, 6, 1]
    assert len(graphs.star(64).sends_to(0)) == 63


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[0.5, 0.4], [0.5, 0.5]], "rank 0 averages .* sum to 0.9, not to 1.*on the diagonal"),
        ([[0.5, 0.5], [0.4, 0.6]], "rank 1's vector .*column 1.* sum to 1.1.*counts for more"),
        ([[1.0, 1.0], [0.0, 0.0]], "sum to 2, not to 1.*push-sum"),
        ([[1.5, -0.5], [-0.5, 1.5]], "rank 0 gives -0.5 to rank 1"),
        ([[np.nan, 0.0], [0.0, 1.0]], "rank 0 gives nan to rank 0"),
        ([[0.5, 0.5]], r"a row and a column for each rank.*\(1, 2\)"),
    ],
)
def test_a_matrix_that_is_unjust_is_refused_kindly(matrix, words):
    with pytest.raises(ValueError, match=words):
        mixing.check_doubly_stochastic(np.array(matrix))


def test_what_no_graph_offers_is_refused_with_a_way_out():
    with pytest.raises(ValueError, match="push-sum"):
        mixing.mixing_matrix(graphs.directed(8))
    with pytest.raises(ValueError, match="go both ways"):
        mixing.metropolis_hastings(graphs.exponential(8), 0)
    for links in ((((1,), (2,)),), (((0,), ()),), (((1, 1), ()),)):
        with pytest.raises(ValueError, match=r"own graph rank [01]"):
            graphs.CommunicationGraph("own", links)
    with pytest.raises(ValueError, match="as many ranks"):
        graphs.CommunicationGraph("own", (((1,), (0,)), ((),)))
    with pytest.raises(TypeError, match="ranks must be a whole number"):
        graphs.ring(2.5)
    with pytest.raises(ValueError, match="fraction"):
        contraction.steps_until(0, 0.5)
    assert contraction.steps_until(0.01, 0.1) == pytest.approx(2)


def test_a_matrix_is_that_of_the_first_step_unless_told():
    graph = graphs.one_peer_exponential(8)
    first, second = (mixing.mixing_matrix(graph, step) for step in (0, 1))
    assert np.array_equal(mixing.mixing_matrix(graph), first)
    assert not np.array_equal(first, second)
