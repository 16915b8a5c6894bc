"""The picture of what comes in at a port says who grows, and shows all three grounds."""

from ddl_teach.plots.ingress import plot_ingress

WORKERS = [2, 8, 32]
LINES = {"server": (WORKERS, [2e3, 8e3, 32e3]), "ring": (WORKERS, [1e3, 1.75e3, 1.94e3])}


def test_the_title_says_who_grows_and_who_does_not():
    figure = plot_ingress(LINES)
    [ax] = figure.axes
    title = ax.get_title(loc="left")
    assert "From 2 to 32 workers: server takes in 16 times as much, ring 1.9 times" in title
    assert title in figure.alt
    assert {text.get_text().strip() for text in ax.texts} == {"server", "ring"}


def test_squares_are_simulated_and_dots_measured():
    [ax] = plot_ingress(LINES, {"server": LINES["server"]}, LINES, title="mine").axes
    assert ax.get_title(loc="left") == "mine"
    assert [line.get_marker() for line in ax.lines] == ["None", "s", "o", "None", "o"]
