"""The picture of what comes in at a port says who grows, and shows all three grounds."""

from ddl_class.plots.gossip import plot_ingress

WORKERS = [2, 8, 32]
LINES = {"server": (WORKERS, [2e3, 8e3, 32e3]), "ring": (WORKERS, [1e3, 1.75e3, 1.94e3])}


def test_the_last_point_of_a_line_says_its_name():
    [ax] = plot_ingress(LINES).axes
    assert {text.get_text().strip() for text in ax.texts} == {"server", "ring"}


def test_squares_are_simulated_and_dots_measured():
    [ax] = plot_ingress(LINES, {"server": LINES["server"]}, LINES).axes
    assert [line.get_marker() for line in ax.lines] == ["None", "None", "s", "o", "o"]
