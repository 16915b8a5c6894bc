"""The picture over bucket sizes says what its data say."""

from ddl_class.plots.networks import plot_bucket_sizes

SIZES = [2**10, 2**20, 2**30]
LINE = (SIZES, [4.0, 1.0, 2.0])


def test_measured_times_are_laid_beside_the_predicted_ones():
    measured = (SIZES, [2.0, 2.0, 1.0], [1.9, 1.9, 0.9], [2.1, 2.2, 1.1])
    figure = plot_bucket_sizes(LINE, LINE, measured, backward=0.8)
    [ax] = figure.axes
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["backward pass alone", "predicted", "simulated", "measured"]
