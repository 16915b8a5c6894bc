"""The picture of checkpoint intervals says what its curves say."""

import numpy as np

from ddl_teach.theory.failures import expected, young
from slides.figures.many_nodes import plot_checkpoints

EVERY = np.geomspace(10, 1e5, 200)
DAY = 86_400.0


def curve(nodes):
    mean = 100 * DAY / nodes
    return EVERY, [expected(1.0, every, 30.0, 60.0, mean) for every in EVERY]


def test_the_title_names_the_valleys_and_the_dots_stand_in_them():
    curves = {nodes: curve(nodes) for nodes in (10, 1000)}
    rule = {nodes: young(30.0, 100 * DAY / nodes) for nodes in curves}
    [ax] = plot_checkpoints(curves, rule).axes
    title = ax.get_title(loc="left")
    for nodes, (every, times) in curves.items():
        assert f"{nodes:,} nodes every" in title
        assert f"({min(times):.2f})" in title
        [dot] = [line for line in ax.get_lines() if list(line.get_xdata()) == [rule[nodes]]]
        assert dot.get_ydata()[0] < 1.001 * min(times)
        assert 0.7 < rule[nodes] / every[np.argmin(times)] < 1.4
    assert plot_checkpoints(curves, rule, title="mine").axes[0].get_title(loc="left") == "mine"
