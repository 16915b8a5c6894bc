"""Greedy schedules are schedules, they are greedy, and both bounds hold for every graph."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operators.graphs.built import direct, rnn
from optimal import fewest_steps

from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.graphs.schedule import finished, greedy
from ddl_teach.theory.work_depth.counting import WorkDepth


@st.composite
def graphs(draw, most=40):
    """Random graphs whose operations are numbered in any order, not only in an order of doing."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    operations, arrows = draw(st.integers(1, most)), draw(st.floats(0, 3))
    order = generator.permutation(operations)
    predecessors = [[] for _ in order]
    for place in range(1, operations):
        many = min(place, generator.poisson(arrows))
        before = generator.choice(order[:place], many, replace=False)
        predecessors[order[place]] = before.tolist()
    return predecessors


PROCESSORS = st.integers(1, 12)


def durations_for(predecessors, seed):
    # Sums of quarters are exact, so that times can be compared with ==.
    return np.random.default_rng(seed).integers(1, 40, len(predecessors)) / 4


@pytest.mark.parametrize(
    ("processors", "start", "processor"),
    [(1, [0, 3, 4], [0, 0, 0]), (2, [0, 0, 3], [0, 1, 0]), (3, [0, 0, 3], [0, 1, 0])],
)
def test_an_operation_begins_when_the_last_it_waits_for_has_ended(processors, start, processor):
    plan = greedy([[], [], [0, 1]], processors, [3.0, 1.0, 2.0])
    assert plan.start.tolist() == start
    assert plan.processor.tolist() == processor
    assert plan.makespan == start[-1] + 2


@settings(max_examples=200, deadline=None)
@given(graphs(), PROCESSORS, st.none() | st.integers(0, 99))
def test_greedy_within_both_bounds(predecessors, processors, seed):
    durations = None if seed is None else durations_for(predecessors, seed)
    plan = greedy(predecessors, processors, durations)
    ends = plan.start + plan.duration
    for one, before in enumerate(predecessors):
        assert all(ends[other] <= plan.start[one] for other in before)
    assert set(plan.processor) <= set(range(processors))
    for processor in range(processors):
        own = np.flatnonzero(plan.processor == processor)
        own = own[np.argsort(plan.start[own])]
        assert (ends[own][:-1] <= plan.start[own][1:]).all()
    # Greedy: whoever waits though it is ready waits because all processors are busy.
    for one, before in enumerate(predecessors):
        since = max((ends[other] for other in before), default=0.0)
        for moment in np.unique(plan.start):
            if since <= moment < plan.start[one]:
                assert ((plan.start <= moment) & (moment < ends)).sum() == processors
    work, depth = plan.duration.sum(), finished(predecessors, durations).max()
    assert max(work / processors, depth) <= plan.makespan + 1e-12
    assert plan.makespan <= (work - depth) / processors + depth + 1e-12
    assert plan.idle == pytest.approx(1 - work / (processors * plan.makespan))
    if durations is None:
        counted = WorkDepth(int(work), int(depth))
        assert counted.lower_bound(processors) <= plan.makespan
        assert plan.makespan <= counted.greedy_bound(processors)


@settings(max_examples=150, deadline=None)
@given(graphs(most=9), st.integers(1, 4))
def test_greedy_is_never_twice_as_long_as_the_best(predecessors, processors):
    best = fewest_steps(predecessors, processors)
    depth, work = finished(predecessors).max(), len(predecessors)
    assert WorkDepth(work, int(depth)).lower_bound(processors) <= best
    assert best <= greedy(predecessors, processors).makespan <= (2 - 1 / processors) * best


def test_both_bounds_are_reached():
    # p - 1 operations for everybody, then a chain that could have begun at once: greedy may take
    # the chain last, and then pays W/p and D one after the other.
    processors, chain = 4, 6
    free = processors * (processors - 1) * chain
    predecessors = [[] for _ in range(free + 1)] + [[free + one] for one in range(chain - 1)]
    counted = WorkDepth(len(predecessors), chain)
    late = greedy(predecessors, processors)
    assert late.makespan == counted.greedy_bound(processors)
    # The same with the chain first: the lower bound.
    chain_first = [[one - 1] if 0 < one < chain else [] for one in range(free + chain)]
    urgent = greedy(chain_first, processors)
    assert urgent.makespan == counted.lower_bound(processors)


# Graham's nine tasks: 4 must wait for 0, and 5 to 8 for 3.
GRAHAM = [[], [], [], [], [3], [3], [3], [3], [0]]
TASKS = np.array([3, 2, 2, 2, 4, 4, 4, 4, 9.0])


def test_anomalies_one_may_lose_by_getting_more():
    assert greedy(GRAHAM, 3, TASKS).makespan == 12
    assert greedy(GRAHAM, 4, TASKS).makespan == 15
    assert greedy(GRAHAM, 3, TASKS - 1).makespan == 13


@pytest.mark.parametrize("processors", [1, 2, 3, 5, 8, 64, 65_536])
def test_operators_keep_their_bounds(processors):
    problem = Convolution(1, 2, 6, 6, 3)
    for graph in (direct.forward(problem), rnn.forward(2, 4, 3, 3)):
        makespan = greedy(graph.predecessors(), processors).makespan
        assert graph.counted.lower_bound(processors) <= makespan
        assert makespan <= graph.counted.greedy_bound(processors)


def test_a_graph_of_nothing_takes_no_time():
    assert greedy([], 3).makespan == 0
    assert greedy([], 3).idle == 0
    assert fewest_steps([], 3) == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"predecessors": [[1], [0], []], "processors": 2}, "operation 0 waits for itself"),
        ({"predecessors": [[], [2]], "processors": 2}, "only operations 0 to 1"),
        ({"predecessors": [[], [-1]], "processors": 2}, "only operations 0 to 1"),
        ({"predecessors": [[]], "processors": 0}, "processors must be at least 1"),
        ({"predecessors": [[]], "processors": 1, "durations": [1, 2]}, "give one each"),
        ({"predecessors": [[]], "processors": 1, "durations": [0]}, "above zero"),
        ({"predecessors": [[]], "processors": 1, "durations": [np.inf]}, "finite"),
    ],
)  # fmt: skip
def test_what_is_no_graph_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        greedy(**given)


def test_too_many_schedules_to_try():
    with pytest.raises(ValueError, match="Take `greedy`"):
        fewest_steps([[]] * 15, 2)
    with pytest.raises(ValueError, match="waits for itself"):
        fewest_steps([[0]], 2)
