"""Scaling is told against a stated baseline, and one kind is not sold as the other."""

import numpy as np
import pytest

from ddl_measure.scaling import Baseline, Measured, strong, throughput, weak

ONE = Baseline(1, 1000, tuple(np.linspace(7.9, 8.1, 11)), "the same program on 1 rank")


def times(middle):
    return tuple(np.linspace(middle * 0.99, middle * 1.01, 11))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_strong_scaling_ends_at_the_share_that_is_not_divided(ranks):
    """A program of which a tenth is serial: Amdahl's speed-up comes out, and so does the tenth."""
    amdahl = 1 / (0.1 + 0.9 / ranks)
    [row] = strong([Measured(ranks, 1000, times(8 / amdahl))], ONE).rows
    assert row.speed_up[0] == pytest.approx(amdahl)
    assert row.efficiency[0] == pytest.approx(amdahl / ranks)
    assert row.throughput[0] == pytest.approx(1000 / 8 * amdahl)
    assert row.serial_share == (pytest.approx(0.1) if ranks > 1 else None)
    for middle, low, high in (row.speed_up, row.efficiency, row.throughput, row.seconds):
        assert 0.95 * middle < low < middle < high < 1.05 * middle


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_weak_scaling_counts_the_work_that_grew(ranks):
    """What is serial stays a tenth of each rank's time (Gustafson)."""
    taken = 8 * (0.9 + 0.1 * ranks)
    [row] = weak([Measured(ranks, 1000 * ranks, times(taken))], ONE).rows
    assert row.efficiency[0] == pytest.approx(8 / taken)
    assert row.speed_up[0] == pytest.approx(ranks * 8 / taken)


def test_a_baseline_may_be_of_several_ranks_and_rows_come_in_order():
    four = Baseline(4, 1000, times(4), "one node")
    points = [Measured(16, 1000, times(2)), Measured(8, 1000, times(2.5))]
    found = strong(points, four)
    assert [row.ranks for row in found.rows] == [8, 16]
    assert [row.efficiency[0] for row in found.rows] == pytest.approx([0.8, 0.5])
    assert (found.kind, found.baseline) == ("strong", four)


@pytest.mark.parametrize("kind", [strong, weak])
def test_without_a_baseline_there_is_no_speed_up(kind):
    points = [Measured(2, 1000, times(4))]
    nothing_said = Baseline(1, 1000, times(8), " ")
    for missing in (None, points[0], nothing_said):
        with pytest.raises(ValueError, match=r"against what.*'the same program on 1 rank'"):
            kind(points, missing)


def test_one_kind_of_scaling_is_not_sold_as_the_other():
    with pytest.raises(ValueError, match="2000 on 2 ranks, 1000 on 1; this is weak scaling"):
        strong([Measured(2, 2000, times(8))], ONE)
    with pytest.raises(ValueError, match="this is strong scaling: call it so"):
        weak([Measured(2, 1000, times(8))], ONE)
    with pytest.raises(ValueError, match="this is neither"):
        weak([Measured(2, 3000, times(8))], ONE)


@pytest.mark.parametrize(
    "wrong", [(0, 1, (1.0,)), (1, 0, (1.0,)), (1, 1, ()), (1, 1, (0.0,))], ids=str
)
def test_what_was_not_measured_is_refused(wrong):
    with pytest.raises(ValueError, match="must be above 0"):
        Measured(*wrong)
    assert Measured(1, 6, np.array([2, 3])).seconds == (2.0, 3.0)
    assert throughput(Measured(1, 6, (2.0, 3.0))) == (6 / 2.5, 2, 3)
