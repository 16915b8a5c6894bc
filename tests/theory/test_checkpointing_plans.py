"""Plans for a chain: what they hold and cost, and that none is cheaper than the cheapest."""

import math
import random
from functools import cache

import pytest

from ddl_teach.theory.checkpointing import (
    Chain,
    cheapest,
    check_plan,
    equal_stretches,
    layers_of,
    peak,
    seconds,
    shrinking_stretches,
    trace,
)


@cache
def all_plans(first, stop):
    """Every plan of these layers: the first is kept, or a stretch from it on is forgotten."""
    if first == stop:
        return [[]]
    plans = [[first, *rest] for rest in all_plans(first + 1, stop)]
    for cut in range(first + 1, stop):
        plans += [[one, *rest] for one in all_plans(first, cut) for rest in all_plans(cut, stop)]
    return plans


@pytest.mark.slow
@pytest.mark.parametrize("layers", [1, 2, 4, 6])
@pytest.mark.sampled(2)
def test_no_plan_is_cheaper_than_the_cheapest(layers):
    random.seed(1)
    for _ in range(6):
        chain = Chain(*(tuple(random.randint(low, 5) for _ in range(layers)) for low in (1, 1, 0)))
        plans = all_plans(0, layers)
        for memory in range(1, sum(map(chain.kept, range(layers))) + 1):
            times = [seconds(plan, chain) for plan in plans if peak(plan, chain) <= memory]
            if not times:
                with pytest.raises(ValueError, match="no plan fits"):
                    cheapest(chain, memory)
                continue
            plan = cheapest(chain, memory)
            check_plan(plan, layers)
            assert peak(plan, chain) <= memory
            assert seconds(plan, chain) == min(times)


def test_sizes_without_a_common_divisor_never_break_the_limit():
    random.seed(2)
    for _ in range(5):
        sizes = tuple(random.randint(10_000, 90_000) for _ in range(12))
        chain = Chain((1.0,) * 12, sizes, (7,) * 12)
        for part in (0.4, 0.6, 0.9):
            memory = int(part * sum(map(chain.kept, range(12))))
            assert peak(cheapest(chain, memory), chain) <= memory


@pytest.mark.parametrize("root", [2, 3, 5, 8])
def test_equal_stretches_hold_twice_the_root(root):
    chain = Chain.even(root**2)
    plan = equal_stretches(root**2)
    assert layers_of(plan) == list(range(root**2))
    assert peak(plan, chain) == 2 * root - 1
    assert seconds(plan, chain) == 2 * root**2 - root
    for stretches in range(1, root**2 + 1):
        assert peak(equal_stretches(root**2, stretches), chain) >= 2 * root - 1


@pytest.mark.parametrize("most", [2, 3, 4, 6])
def test_shrinking_stretches_need_less(most):
    """p, p-1, ..., 1 layers fit into p activations, and each is computed twice at most."""
    layers = most * (most + 1) // 2
    assert cheapest(Chain.even(layers), most) == shrinking_stretches(layers)
    for count in range(layers - most + 1, layers + 1):
        plan = shrinking_stretches(count)
        check_plan(plan, count)
        assert peak(plan, Chain.even(count)) == most
    assert seconds(plan, Chain.even(layers)) == 2 * layers - 1
    assert most == math.ceil(math.sqrt(2 * layers + 0.25) - 0.5)


@pytest.mark.parametrize("layers", [2, 5, 9])
def test_two_activations_are_enough_for_any_chain(layers):
    assert seconds(cheapest(Chain.even(layers), 2), Chain.even(layers)) == (
        layers * (layers + 1) / 2 - 1
    )


def test_the_trace_computes_each_layer_backward_once_and_right_after_it_is_there():
    for plan in all_plans(0, 6):
        there = set()
        backward = []
        for moment in trace(plan, Chain.even(6)):
            if moment.what == "forward":
                there.add(moment.layer)
            elif moment.what == "backward":
                assert moment.layer in there
                backward.append(moment.layer)
                there.remove(moment.layer)
            assert moment.held >= len(there)
        assert backward == [5, 4, 3, 2, 1, 0]


def test_what_is_no_plan_is_refused():
    with pytest.raises(ValueError, match="0 to 2 once each"):
        check_plan([[0, 2], 1], 3)
    assert cheapest(Chain.even(0), 5) == []
