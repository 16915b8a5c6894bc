"""The chooser takes the least predicted time of what is allowed, tries ties, and says why."""

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from ddl_teach.operators.convolution import chooser, rates
from ddl_teach.operators.convolution.chooser import choose, tried
from ddl_teach.operators.convolution.methods import METHODS
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.convolution.rates import fastest, machine_rates
from ddl_teach.theory.convolution_cost import PASSES, cost
from ddl_teach.theory.convolution_time import Rates, seconds

LAYER = Convolution(2, 16, 12, 12, 16, padding=(1, 1))
STRIDED = replace(LAYER, stride=(2, 2))
COUNTS_ALONE = Rates(product=1.0, transform=1e30, bandwidth=1e30)
BYTES_ALONE = Rates(product=1e30, transform=1e30, bandwidth=1.0)
every_pass = pytest.mark.parametrize("direction", PASSES)


@every_pass
@pytest.mark.parametrize("rates", [COUNTS_ALONE, BYTES_ALONE, Rates(5e10, 5e9, 5e9)])
@pytest.mark.parametrize("problem", [LAYER, STRIDED, replace(LAYER, groups=4)])
def test_the_least_predicted_time_wins(problem, rates, direction):
    choice = choose(problem, direction=direction, rates=rates)
    able = [name for name, method in METHODS.items() if not method.refusal(problem)]
    expected = {name: seconds(cost(name, problem, direction), rates) for name in able}
    assert choice.predicted == expected
    assert choice.method == min(expected, key=expected.get)
    assert set(choice.refused) == set(METHODS) - set(able)
    assert not choice.measured


def test_where_operations_alone_count_winograds_larger_tile_wins():
    deep = replace(LAYER, in_channels=512, out_channels=512)
    choice = choose(deep, rates=COUNTS_ALONE, methods=("im2col", "winograd_2x2", "winograd_4x4"))
    assert choice.method == "winograd_4x4"
    assert "4 times fewer multiplications than im2col's" in choice.why
    assert "multiplications" not in choose(deep, rates=COUNTS_ALONE, methods=("im2col",)).why
    assert "(predicted)" in choice.why
    assert "of that is products" in choice.why


def test_a_limit_takes_away_what_needs_more():
    needs = {name: METHODS[name].workspace(LAYER, torch.float32) for name in METHODS}
    greediest = max(needs, key=needs.get)
    choice = choose(LAYER, limit=needs[greediest] - 1, rates=COUNTS_ALONE)
    assert greediest not in choice.predicted
    assert f"{needs[greediest]:,} bytes is beyond the limit" in choice.refused[greediest]
    for limit in sorted(needs.values()):
        assert needs[choose(LAYER, limit=limit, rates=BYTES_ALONE).method] <= limit
    with pytest.raises(ValueError, match="Raise `limit`"):
        choose(LAYER, limit=min(needs.values()) - 1, rates=COUNTS_ALONE)


def test_what_a_method_refuses_is_told():
    choice = choose(LAYER, methods=("direct", "im2col"), rates=COUNTS_ALONE)
    assert set(choice.predicted) == {"direct", "im2col"}
    with pytest.raises(ValueError, match="did you mean 'im2col'"):
        choose(LAYER, methods=("im2coll",), rates=COUNTS_ALONE)
    with pytest.raises(ValueError, match=r"near=0.5 must be at least 1"):
        choose(LAYER, near=0.5)
    with pytest.raises(ValueError, match="no pass is called 'back'"):
        choose(LAYER, direction="back", near=1.0)


def test_what_is_close_is_tried_and_the_measured_time_decides(monkeypatch):
    made_up = {"direct": 4.0, "im2col": 3.0, "fft": 2.0, "winograd_2x2": 5.0, "winograd_4x4": 9.0}
    calls = []

    def pretend(problem, methods, direction, dtype):
        calls.append(methods)
        return {name: made_up[name] for name in methods}

    monkeypatch.setattr(chooser, "tried", pretend)
    problem = replace(LAYER, out_channels=17)  # one that no other test has chosen for
    choice = choose(problem, near=math.inf)
    assert choice.method == "fft"
    assert choice.measured == made_up
    assert choice.why.startswith("fft takes 2 s, im2col 3 s (measured)")
    calls.clear()
    assert choose(problem, near=math.inf) is choice
    assert not calls, "what was found out is remembered"
    never = choose(problem, near=1.0)
    assert not calls
    assert never.method == min(never.predicted, key=never.predicted.get)


@every_pass
def test_trials_of_every_method_take_time(direction):
    times = tried(LAYER, list(METHODS), direction, torch.float32)
    assert list(times) == list(METHODS)
    assert all(0 < time < 60 for time in times.values())


def test_a_machine_has_three_rates():
    rates = machine_rates()
    assert rates is machine_rates()
    assert all(1e6 < rate < 1e16 for rate in vars(rates).values())


@pytest.mark.parametrize("second", [1.0, 0.25])
def test_a_rate_is_what_is_done_divided_by_the_seconds_of_its_own_run(monkeypatch, second):
    """A product of m x k and k x n has 2 m k n operations; a copy reads and writes each byte."""

    def clocked(works):
        for work in works:
            work()
        return [second, math.nan]

    monkeypatch.setattr(rates, "fastest", clocked)
    measured = rates._measured.__wrapped__(1)
    assert measured.product * second == 2 * 128 * 576 * 3136
    assert measured.transform * second == 2 * 36 * 36 * 65536
    assert measured.bandwidth * second == 2 * 4 * (256 * 9 * 30 * 30)


def test_works_take_turns_and_the_first_round_does_not_count(monkeypatch):
    order, now = [], [0.0]

    def work(name, seconds):
        def run():
            now[0] += 100.0 if name not in order else seconds
            order.append(name)

        return run

    monkeypatch.setattr(rates, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    assert fastest([work("a", 3.0), work("b", 2.0)], 2) == [3.0, 2.0]
    assert "".join(order) == "abbaab"
