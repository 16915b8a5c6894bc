"""The picture of fill-in: shares are what was given, and the title says the ends of each line."""

from ddl_class.plots.forms import plot_fill_in


def test_lines_and_squares_are_what_was_given():
    lines = {"random": ([1, 4, 64], [0.01, 0.04, 0.47])}
    figure = plot_fill_in(lines, {"random": ([4], [0.05]), "real": ([64], [0.3])}, how="counted")
    axes = figure.axes[0]
    assert axes.get_title("left") == "Filled, as expected: random, 1% on 1, 47% on 64 ranks"
    drawn = {line.get_label(): line for line in axes.get_lines()}
    assert list(drawn["random, expected"].get_ydata()) == [1.0, 4.0, 47.0]
    assert list(drawn["random, counted"].get_ydata()) == [5.0]
    assert list(drawn["real, counted"].get_xdata()) == [64]
    colours = {name: line.get_color() for name, line in drawn.items()}
    assert colours["random, counted"] == colours["random, expected"] != colours["real, counted"]
    assert "random, 1% on 1, 47% on 64" in figure.alt
