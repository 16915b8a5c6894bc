"""The picture of single messages says what the fitted line says."""

import numpy as np

from ddl_class.plots.messages import plot_messages
from tests.classroom.plots.figures import title

SIZES = np.repeat(2.0 ** np.arange(3, 22, 2), 5)
LATENCY, PER_BYTE = 2e-6, 1e-9
TIMES = (LATENCY + SIZES * PER_BYTE) * np.tile([0.9, 1.0, 1.0, 1.0, 3.0], 10)
LINE = {"latency": LATENCY, "per_byte": PER_BYTE}


def legend(figure):
    return "\n".join(text.get_text() for text in figure.axes[0].get_legend().get_texts())


def test_the_title_says_what_a_message_costs_and_where_latency_rules():
    figure = plot_messages(SIZES, TIMES, **LINE)
    assert title(figure) == "A message costs 2 µs and 1 ns a byte: latency rules below 1.95 KiB"
    assert title(figure) in figure.alt


def test_both_numbers_of_the_line_stand_there():
    words = legend(plot_messages(SIZES, TIMES, **LINE))
    assert "latency 2 µs\nbandwidth 1 GB/s" in words


def test_every_measurement_and_every_median_is_drawn():
    lines = plot_messages(SIZES, TIMES).axes[0].lines
    assert any(len(line.get_xdata()) == len(SIZES) for line in lines)
    medians = next(line for line in lines if "median" in str(line.get_label()))
    np.testing.assert_allclose(medians.get_ydata(), LATENCY + np.unique(SIZES) * PER_BYTE)


def test_simulated_times_lie_over_the_line():
    sizes = np.unique(SIZES)
    figure = plot_messages(SIZES, TIMES, **LINE, simulated=(sizes, LATENCY + sizes * PER_BYTE))
    assert "simulated" in legend(figure)


def test_without_a_line_the_ends_are_told():
    figure = plot_messages([0, 8, 2**20], [1e-6, 2e-6, 1e-3])
    assert title(figure) == "A message takes 2 µs to 1 ms"
    assert figure.axes[0].get_xlabel() == "size of one message (bytes)"
