"""Time and epochs to an accuracy: the first of so many looks in a row; never is infinite."""

import pytest

from ddl_teach.measure.to_accuracy import Checkpoint, reached, to_accuracy


def training(*accuracies, pace=1.0):
    return [
        Checkpoint(10 * look, look / 2, pace * look, 0.1 * look, accuracy)
        for look, accuracy in enumerate(accuracies, start=1)
    ]


def test_the_first_look_that_counts():
    looks = training(0.5, 0.9, 0.8, 0.9, 0.95, 0.7)
    assert reached(looks, 0.9) == looks[1]
    assert reached(looks, 0.9, in_a_row=2) == looks[3]
    assert reached(looks, 0.9, in_a_row=3) is None
    assert reached([], 0.9) is None


def test_trainings_that_never_came_there_count():
    there = [training(0.5, 0.9, pace=pace) for pace in (1, 2, 3, 4, 5)]
    lost = [training(0.5, 0.6)] * 6
    found = to_accuracy(there, 0.9)
    assert (found.reached, found.trainings) == (5, 5)
    assert (found.seconds, found.epochs) == ((6, 2, 10), (1, 1, 1))
    found = to_accuracy(there + lost, 0.9)
    assert (found.reached, found.trainings) == (5, 11)
    assert found.seconds[0] == found.epochs[2] == float("inf")
    assert found.seconds[1] < float("inf")


@pytest.mark.parametrize(("target", "in_a_row"), [(0, 1), (95, 1), (0.9, 0)])
def test_a_target_is_a_share(target, in_a_row):
    with pytest.raises(ValueError, match="a share of right answers"):
        reached(training(0.5), target, in_a_row)
    with pytest.raises(ValueError, match="use several"):
        to_accuracy([], 0.9)
