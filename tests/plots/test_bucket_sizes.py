"""The picture over bucket sizes says what its data say."""

from ddl_teach.plots.bucket_sizes import plot_bucket_sizes

SIZES = [2**10, 2**20, 2**30]
LINE = (SIZES, [4.0, 1.0, 2.0])


def test_the_title_names_the_valley_and_what_both_ends_cost():
    figure = plot_bucket_sizes(LINE, backward=0.8)
    [ax] = figure.axes
    assert ax.get_title() == ""
    title = ax.get_title(loc="left")
    assert "buckets of 1 MiB, 1 s" in title
    assert "4.0 times" in title
    assert "2.0 times" in title


def test_measured_times_are_laid_beside_the_predicted_ones():
    measured = (SIZES, [2.0, 2.0, 1.0], [1.9, 1.9, 0.9], [2.1, 2.2, 1.1])
    figure = plot_bucket_sizes(LINE, LINE, measured, backward=0.8, title="mine")
    [ax] = figure.axes
    assert ax.get_title(loc="left") == "mine"
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["backward pass alone", "predicted", "simulated", "measured"]
    title = plot_bucket_sizes(LINE, None, measured, backward=0.8).axes[0].get_title(loc="left")
    assert "Best measured: buckets of 1 GiB, predicted: 1 MiB" in title
    assert "0.5 times as long" in title
