"""Pictures of forms: shares, descents and times are what was given, and titles say the finding."""

import numpy as np

from ddl_class.plots.forms import plot_bandwidths, plot_descents, plot_kept


def test_what_few_entries_hold():
    vector = np.full(100, 1.0)
    vector[7] = -10.0  # 100 of 199
    figure = plot_kept(vector)
    assert (
        figure.axes[0].get_title("left")
        == "The largest 1% of the entries hold 50% of the gradient"
    )
    held = figure.axes[0].get_lines()[0].get_ydata()
    assert np.isclose(held[0], 100 * 100 / 199)
    assert np.isclose(held[-1], 100)


def test_descents_over_steps_and_over_bytes():
    losses = {"all": [4.0, 2.0, 1.0], "few": [4.0, 3.0, 3.0]}
    figure = plot_descents(losses)
    assert figure.axes[0].get_title("left") == "In the end: all 1, few 3"
    assert list(figure.axes[0].get_lines()[1].get_xdata()) == [1, 2, 3]
    across = {"all": [100, 200, 300], "few": [1, 2, 3]}
    figure = plot_descents(losses, "Fewer bytes", across=across, unit="bytes", smooth=2)
    first = figure.axes[0].get_lines()[0]
    assert list(first.get_xdata()) == [200, 300]
    assert list(first.get_ydata()) == [3.0, 1.5]
    assert figure.alt == (
        "The loss on data held out over bytes. In the end: all 1.5, few 3. all ends at 1.5; few "
        "ends at 3."
    )


def test_where_fewer_bytes_pay():
    lines = {"32 bits": ([1e6, 1e9], [1.0, 0.001]), "1 bit": ([1e6, 1e9], [0.1, 0.1])}
    figure = plot_bandwidths(lines, measured={"1 bit": ([1e8], [0.2])}, even=2e7)
    axes = figure.axes[0]
    assert "pay below 20 MB/s" in axes.get_title("left")
    assert [line.get_label() for line in axes.get_lines()][:3] == [
        "32 bits, computed", "1 bit, computed", "1 bit, measured",
    ]  # fmt: skip
