"""What a graph says of itself: work, depth, levels, and what a scheduler gets to see."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operators.graphs.built.winograd import combine

from ddl_teach.operators.graphs import fully_connected
from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.schedule import finished
from ddl_teach.theory.work_depth.counting import joined


def test_a_small_graph_by_hand():
    build = Builder()
    x, y = build.input("x", 2), build.input("y", 2)
    products = build.multiply(x, y)
    graph = build.graph(dot=build.add(products[0], products[1]), twice=build.add(x, x))
    assert (graph.work, graph.depth) == (5, 2)
    assert graph.width.tolist() == [4, 1]
    assert graph.names() == ["multiply", "multiply", "add", "add", "add"]
    assert graph.predecessors() == [[], [], [0, 1], [], []]
    found = graph.evaluate(x=np.array([1.0, 2.0]), y=np.array([3.0, 4.0]))
    assert found["dot"] == 11
    assert found["twice"].tolist() == [2, 4]


def test_levels_are_when_everybody_is_done_with_enough_processors():
    graph = fully_connected.forward(2, 5, 3)
    levels = graph.level[graph.operation > 0]
    assert finished(graph.predecessors()).tolist() == levels.tolist()
    assert graph.width.sum() == graph.work
    assert len(graph.width) == graph.depth


@given(st.lists(st.integers(0, 6), min_size=1, max_size=12))
def test_a_sum_takes_what_comes_first_and_nothing_is_done_earlier(arrivals):
    build = Builder()
    terms = []
    for level in arrivals:
        term = build.input(f"x{len(terms)}", 1)
        for _ in range(level):
            term = build.operate("tanh", term)
        terms.append(term)
    graph = build.graph(y=build.reduce(terms))
    assert graph.depth == joined((level, 1) for level in arrivals) == fewest(sorted(arrivals))
    assert graph.work == sum(arrivals) + len(arrivals) - 1


def fewest(arrivals):
    """The least depth of any binary tree: n leaves fit if their shares of it add up to 1."""
    depth = max(arrivals)
    while sum(2.0 ** (level - depth) for level in arrivals) > 1:
        depth += 1
    return depth


@given(
    st.lists(st.lists(st.sampled_from([0, 1, -1, 2, -0.5]), min_size=4, max_size=4), min_size=1),
    st.lists(st.integers(-9, 9), min_size=4, max_size=4),
)
def test_a_fixed_matrix_costs_what_stands_in_it(weights, numbers):
    build, weights = Builder(), np.array(weights, float)
    graph = build.graph(y=combine(build, weights, build.input("x", 4)))
    assert (graph.evaluate(x=np.array(numbers, float))["y"] == weights @ numbers).all()
    used, plain = weights != 0, np.abs(weights) == 1
    turned = (used & (weights != -1)).sum(axis=1) == 0
    each = (used & ~plain).sum(1) + np.maximum(used.sum(1) - 1, 0) + (turned & used.any(axis=1))
    assert graph.work == each.sum()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "inputs are x"),
        ({"x": np.zeros(3), "y": 1}, "inputs are x"),
        ({"x": 1}, "the graph is for"),
    ],
)
def test_wrong_numbers_are_refused(given, words):
    build = Builder()
    graph = build.graph(y=build.scale(build.input("x", 3), 2.0))
    with pytest.raises(ValueError, match=words):
        graph.evaluate(**given)
