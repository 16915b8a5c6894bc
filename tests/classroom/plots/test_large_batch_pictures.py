"""The pictures of large batches say what their data say."""

import numpy as np

from ddl_class.plots.large_batches import plot_losses, plot_speed_ups, plot_steps
from tests.classroom.plots.figures import labels

LINE = ([1, 10, 100], [1.0, 4.0, 5.0])


def test_steps_stand_beside_the_hope_and_the_wall():
    measured = ([8, 80, 800], [100.0, 30.0, 20.0])
    figure = plot_steps(measured, measured, fewest=18.0)
    [ax] = figure.axes
    assert ax.get_title(loc="left") == "100 times the batch: 5 times fewer steps"
    hoped, wall, *_ = (line.get_ydata() for line in ax.get_lines())
    assert list(hoped) == [100, 10, 1]  # as many samples as with the smallest batch
    assert set(wall) == {18.0}
    assert "5 times fewer steps" in figure.alt


def test_speed_ups_say_what_throughput_hides():
    throughput = ([1, 10, 100], [1.0, 9.9, 98.0])
    figure = plot_speed_ups(throughput, LINE, LINE, LINE, wall=6.0)
    assert labels(figure) == [
        "throughput", "the wall", "target: formula", "target: simulated", "target: measured",
    ]  # fmt: skip
    assert labels(plot_speed_ups(throughput, LINE, wall=6.0)) == labels(figure)[:3]


def test_losses_name_their_ends():
    figure = plot_losses({"small": [3.0, 1.0, 0.5], "lost": [3.0, np.inf]}, target=0.6)
    assert figure.axes[0].get_title(loc="left") == "Loss at the end: small: 0.5; lost: inf"
    assert labels(figure) == ["small", "lost", "the target"]
