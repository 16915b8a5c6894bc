"""Pictures of memory: bars add up, curves and dots are what was given, and alt texts say so."""

from ddl_class.exercises.unit_11.machine import play
from ddl_class.plots.memory import (
    KINDS,
    plot_held,
    plot_held_over_time,
    plot_over_time,
    plot_tradeoff,
)

ROWS = {
    "whole": {"weights": 1024, "gradients": 1024, "states": 2048, "activations": 0},
    "a quarter": {"weights": 256, "gradients": 256, "states": 512, "activations": 0},
}


def test_bars_stand_end_to_end_in_their_kinds_colours():
    figure = plot_held(ROWS, {"whole": 4096}, title="Less")
    assert "whole: weights 1 KiB, gradients 1 KiB, states 2 KiB" in figure.alt
    [axes] = figure.axes
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]
    assert ends == [(0, 1024), (0, 256), (1024, 2048), (256, 512), (2048, 4096), (512, 1024)]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert sorted(labels) == sorted(["formula", *list(KINDS)[:3]])  # what nobody has is not shown
    assert [list(line.get_xdata()) for line in axes.get_lines()] == [[4096, 4096]]


def test_simulated_totals_are_hollow_squares_in_their_rows():
    figure = plot_held(ROWS, simulated={"a quarter": 1500.0}, title="Less")
    [axes] = figure.axes
    [line] = axes.get_lines()
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([1500.0], [1])
    assert [text.get_text().strip() for text in axes.texts] == ["4 KiB", "1 KiB, □ 1.46 KiB"]
    assert (line.get_marker(), line.get_markerfacecolor()) == ("s", "none")


def test_curves_over_time_say_how_high_they_are():
    figure = plot_over_time({"keep": [1, 2, 3, 2, 1], "forget": [1, 1, 2, 1]}, title="Lower")
    assert "keep: at most 3, over 5 layers computed" in figure.alt
    assert [list(line.get_ydata()) for line in figure.axes[0].get_lines()] == [
        [1, 2, 3, 2, 1],
        [1, 1, 2, 1],
    ]


def test_a_plans_bytes_are_known_to_the_end_of_its_step():
    step = play([("keep", "whole", "here")] * 12)
    assert step.held[-1][0] == step.seconds


def test_bytes_over_a_step_stand_below_the_room():
    figure = plot_held_over_time({"keep": [(0.0, 2e9), (1.0, 3e9)]}, room=4e9, title="Mine")
    assert "keep: at most 3.0 GB; room for 4.0 GB" in figure.alt
    assert figure.axes[0].get_lines()[1].get_ydata()[0] == 4.0


def test_a_tradeoff_is_drawn_from_little_memory_to_much():
    points = {"plans": [(4096, 36), (1024, 66)]}
    figure = plot_tradeoff(points, points, title="Less memory, more layers")
    assert "plans, measured: 66 layers in 1 KiB to 36 in 4 KiB" in figure.alt
    line, dots = figure.axes[0].get_lines()
    assert list(line.get_xdata()) == list(dots.get_xdata()) == [1024, 4096]
    assert (line.get_color(), line.get_linestyle()) == (dots.get_color(), "-")
