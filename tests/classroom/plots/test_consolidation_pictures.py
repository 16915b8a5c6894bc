"""The pictures of consolidated networks say what came out."""

from ddl_class.plots.searching import plot_consolidated


def test_the_title_names_the_best_and_the_worst():
    figure = plot_consolidated({"members": [0.9, 0.92, 0.91], "average": [0.5], "both": [0.95]})
    [ax] = figure.axes
    found = "Recognised, medians of the seeds: both: 95.0%; average: 50.0%"
    assert ax.get_title(loc="left") == found
    assert found in figure.alt
    assert [text.get_text() for text in ax.texts] == ["91.0%", "50.0%", "95.0%"]
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert [len(line.get_xdata()) for line in dots] == [3, 1, 1]
