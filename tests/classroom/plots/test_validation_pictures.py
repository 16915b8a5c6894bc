"""Pictures of checks: what is zero has a place on a logarithmic axis."""

import numpy as np

from ddl_class.plots.honesty import ROUNDING, plot_apart


def test_rules_that_do_not_differ_at_all_are_drawn_too():
    [ax] = plot_apart({"right": [0, 1e-16], "wrong": [1e-16, 0.1]}, good=1e-6).axes
    assert np.min(ax.get_lines()[0].get_ydata()) == ROUNDING
