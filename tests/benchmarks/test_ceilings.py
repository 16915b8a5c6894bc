"""The ceilings are this machine's; every second is counted once, at the layer that spent it."""

import time

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks import ceilings as measured
from benchmarks.ceilings import (
    Ceilings,
    Rate,
    bandwidth,
    ceilings,
    layer_rates,
    layer_times,
    peak,
)
from ddl_measure.analysis import analyse


def test_rates_are_amounts_over_the_clock(monkeypatch):
    """On a clock that takes 0.1 s between any two looks at it."""
    ticks = iter(range(1000))
    monkeypatch.setattr(measured.time, "perf_counter", lambda: next(ticks) * 0.1)
    found = peak(torch.float32, repetitions=3)
    for rate in (found.low, found.median, found.high):
        assert rate == pytest.approx(2 * 256**3 / 0.1)
    # A triad long enough is not repeated in a row.
    assert bandwidth(1200, repetitions=3).median == pytest.approx(1200 / 0.1)


def test_the_ceilings_of_this_machine():
    sizes = (2**16, 2**20)
    found = ceilings(dtypes=[torch.float64], working_sets=sizes, repetitions=3)
    assert found.threads == torch.get_num_threads()
    assert set(found.operations) == {"float64"}
    assert set(found.bandwidths) == set(sizes)
    for rate in (*found.operations.values(), *found.bandwidths.values()):
        assert 0 < rate.low <= rate.median <= rate.high


def test_cache_is_the_best_size_and_memory_the_largest():
    rates = {2**16: 3.0, 2**20: 7.0, 2**28: 2.0}
    found = Ceilings(2, {}, {size: Rate(rate, rate, rate) for size, rate in rates.items()})
    assert found.cache.median == 7.0
    assert found.memory.median == 2.0


def test_a_working_set_holds_three_numbers():
    with pytest.raises(ValueError, match="working_set=8: three arrays need at least 12 bytes"):
        bandwidth(8)


class Sleeper(nn.Module):
    def __init__(self, seconds, inside=()):
        super().__init__()
        self.seconds, self.inside = seconds, nn.ModuleList(inside)

    def forward(self, x):
        time.sleep(self.seconds)
        for part in self.inside:
            x = part(x)
        return x + 1


class Clock:
    """Time passes only where somebody sleeps."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr("time.perf_counter", found.perf_counter)
    monkeypatch.setattr("time.sleep", found.sleep)
    return found


def test_a_layer_s_time_is_without_that_of_the_layers_inside(clock):
    shared = Sleeper(0.25)
    module = Sleeper(4.0, [shared, Sleeper(1.0, [Sleeper(0.5)]), shared])
    times = layer_times(module, torch.zeros(2), repetitions=3)
    mean = {name: float(np.mean(seconds)) for name, seconds in times.items()}
    # What is used twice in a pass has the time of both.
    assert mean == {"": 4.0, "inside.0": 0.5, "inside.1": 1.0, "inside.1.inside.0": 0.5}
    assert {len(seconds) for seconds in times.values()} == {3}


def test_rates_are_work_over_time_and_hooks_are_gone(clock):
    network = nn.Sequential(nn.Linear(8, 4), nn.Sequential(Sleeper(2.0)), nn.Flatten())
    x = torch.zeros(2, 8)
    rates = layer_rates(analyse(network, x), {"0": np.ones(5), "1.0": np.full(5, 2.0)})
    assert [(it.name, it.kind, it.seconds) for it in rates] == [
        ("0", "Linear", 1.0),
        ("1.0", "Sleeper", 2.0),
    ]
    assert rates[0].rate == 2 * 4 * (2 * 8)
    layer_times(network, x)
    assert not any(it._forward_hooks or it._forward_pre_hooks for it in network.modules())


def test_a_pass_that_fails_leaves_no_hooks():
    network = nn.Sequential(nn.Linear(8, 4))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        layer_times(network, torch.zeros(2, 7))
    assert not network[0]._forward_hooks


def test_without_numbers_there_is_no_time():
    with torch.device("meta"):
        network = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="Linear lives on the meta device"):
        layer_times(network, torch.zeros(1, 2))
