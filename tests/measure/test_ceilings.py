"""The ceilings: what they divide by what, and that they are this machine's."""

import pytest
import torch

from ddl_measure import ceilings as measured
from ddl_measure.ceilings import Ceilings, Rate, bandwidth, ceilings, peak


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
