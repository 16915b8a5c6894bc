"""Pictures of checks: the best step is named, and who is the same as the reference."""

import numpy as np

from ddl_teach.plots.validation import ROUNDING, plot_apart, plot_checks


def test_a_gradient_checks_best_step_is_named():
    figure = plot_checks(
        [1e-6, 1e-3, 1e-1], {"central": [1e-4, 1e-9, 1e-2], "ahead": [1, 1e-3, 1]}
    )
    [ax] = figure.axes
    found = "Least errors: central 1e-09 at h = 1e-03, ahead 1e-03 at h = 1e-03"
    assert ax.get_title(loc="left") == found
    assert found in figure.alt


def test_who_walks_apart_is_told_from_who_does_not():
    figure = plot_apart({"right": [0, 1e-16], "wrong": [1e-16, 0.1]}, good=1e-6)
    [ax] = figure.axes
    assert ax.get_title(loc="left") == "The same as the reference: right; not: wrong"
    assert np.min(ax.get_lines()[0].get_ydata()) == ROUNDING  # zero is drawn, too
    nobody = plot_apart({"wrong": [0.1]}, good=1e-6).axes[0].get_title(loc="left")
    assert nobody == "The same as the reference: nobody; not: wrong"
