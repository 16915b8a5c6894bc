"""What all pictures share: frames, curves that look like what they are, boxes, maps."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from ddl_class.plots.convolutions import draw_names
from ddl_class.plots.frame import panels, plain, plane
from ddl_class.plots.gossip import plot_consensus, plot_disagreement
from ddl_class.plots.networks import plot_shares
from ddl_runtime import pictures
from ddl_runtime.pictures.style import KIND_COLOURS, ink_on, rank_colour
from ddl_runtime.pictures.words import count_in_short

LONG = "What was found " * 12


@pytest.mark.parametrize(("title", "shown"), [(None, "It grows."), ("Mine", "Mine"), ("", "")])
def test_the_title_is_what_was_found_or_what_is_asked_for_and_the_words_say_both(title, shown):
    ax = plane("size (bytes)", "time (s)")
    figure = ax.finish("Time over size", "It grows.", title, more="2 s.")
    assert ax.get_title(loc="left") == shown
    assert figure.alt == "Time over size. It grows. 2 s."
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("size (bytes)", "time (s)")


def finished(many):
    if many:
        return panels(6, 3, columns=2)[0].finish_all("About", LONG)
    return plane(height=3, width=6).finish("About", LONG)


@pytest.mark.parametrize("many", [False, True], ids=["axes", "panels"])
def test_a_long_title_stays_inside_the_picture(many):
    figure = finished(many)
    figure.canvas.draw()
    title = figure._suptitle if many else figure.axes[0]._left_title
    assert title.get_window_extent().x1 <= figure.bbox.x1


@pytest.mark.parametrize(
    ("base", "text", "labels"),
    [(10, plain, {"1", "2", "5", "10", "20"}),
     (10, count_in_short, {"1", "2", "5", "10", "20"}), (2, plain, {"1", "2", "4", "8", "16"})],
)  # fmt: skip
def test_logarithmic_axes_write_their_numbers_out(base, text, labels):
    ax = plane()
    ax.plot([1, 20], [1, 20])
    ax.log_scale("x", text, base=base)
    ax.figure.canvas.draw()
    assert labels <= {label.get_text() for label in ax.get_xticklabels()}


def test_a_short_logarithmic_axis_has_several_numbers():
    ax = plane()
    ax.plot([1, 2], [0.07, 0.16])
    ax.log_scale("y")
    low, high = ax.get_ylim()
    assert [tick for tick in ax.get_yticks() if low <= tick <= high][:3] == [0.07, 0.08, 0.09]


def test_ticks_stand_where_they_are_wanted():
    ax = plane()
    ax.log_scale("y", at=(3, 7))
    assert list(ax.get_yticks()) == [3, 7]
    assert not len(ax.get_yticks(minor=True))


@pytest.mark.parametrize(
    ("ground", "marker", "line", "hollow"),
    [("predicted", "None", "-", False), ("formula", "None", "-", False),
     ("simulated", "s", "None", True), ("measured", "o", "None", False)],
)  # fmt: skip
def test_a_curve_looks_like_what_it_is(ground, marker, line, hollow):
    ax = plane()
    ax.draw_curve(ground, ([1, 2], [3, 4], ([2, 3], [4, 5])), "#4477aa")
    [curve], [interval] = ax.lines, ax.collections
    assert (curve.get_marker(), curve.get_linestyle()) == (marker, line)
    assert (curve.get_markerfacecolor() == "none") == hollow
    assert [segment.tolist() for segment in interval.get_segments()] == [
        [[1, 2], [1, 4]], [[2, 3], [2, 5]],
    ]  # fmt: skip


def test_a_name_has_one_colour_on_all_grounds():
    ax, curve = plane(), ([1, 2], [3, 4])
    grounds = {"predicted": {"a": curve}, "simulated": None, "measured": {"b": curve, "a": curve}}
    colours = ax.draw_all(grounds)
    assert {line.get_label(): line.get_color() for line in ax.lines} == {
        "a, predicted": colours["a"], "b, measured": colours["b"], "a, measured": colours["a"],
    }  # fmt: skip
    ax.explain(colours, ["predicted", "measured"])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["a", "b", "predicted", "measured"]


def test_simulated_steps_on_a_grid_are_hollow_and_measured_ones_filled():
    also = {"simulated": [1.0], "measured": [1.0]}
    simulated, measured = plot_shares(["g"], {"compute": [1.0]}, title="", also=also).axes[0].lines
    assert (simulated.get_marker(), simulated.get_markerfacecolor()) == ("s", "none")
    assert (measured.get_marker(), measured.get_markerfacecolor()) == ("o", measured.get_color())


def test_squares_are_not_used_to_tell_series_apart():
    lines = plot_consensus({"ring": [2.0, 1.0], "pairs": [2.0, 1.0]}).axes[0].lines
    assert [line.get_marker() for line in lines] == ["o", "o"]
    assert [line.get_markerfacecolor() == "none" for line in lines] == [False, True]


def test_an_axis_of_one_decade_has_several_numbers():
    points = {"ring": ([0.7, 0.95], [1.0, 2.0])}
    figure = plot_disagreement(points, points)
    figure.canvas.draw()
    low, high = sorted(figure.axes[0].get_xlim())
    shown = [tick for tick in figure.axes[0].get_xticks() if low <= tick <= high]
    assert len(shown) > 1


def contrast(ink, colour):
    """By WCAG 2.2: 4.5 and more can be read."""
    light = []
    for parts in (np.array(to_rgb(ink)), np.array(to_rgb(colour))):
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        light.append(linear @ (0.2126, 0.7152, 0.0722) + 0.05)
    return max(light) / min(light)


@pytest.mark.parametrize("colour", [*map(rank_colour, range(36)), *KIND_COLOURS.values()])
def test_words_on_a_colour_can_be_read(colour):
    assert contrast(ink_on(colour), colour) >= 4.5
    ax = plane()
    ax.write(0, 0, 7, on=colour)
    assert (ax.texts[0].get_text(), ax.texts[0].get_color()) == ("7", ink_on(colour))


def test_boxes_lie_in_their_rows_and_have_words_where_there_is_room():
    ax = plane(height=3, width=9)
    rows, begins, ends = [0, 1], [0.0, 1.0], [1.0, 1.01]
    colours = ["#000000", "#ffffff"]
    ax.draw_boxes(rows, begins, ends, words=["wide", "thin"], reach=1.01, facecolors=colours)
    [boxes] = ax.collections
    middles = [path.vertices[:4].mean(axis=0).tolist() for path in boxes.get_paths()]
    assert np.allclose(middles, [[0.5, 0], [1.005, 1]])
    assert [text.get_text() for text in ax.texts] == ["wide"]


def test_cells_have_the_colours_of_their_names_as_strong_as_asked_for():
    names = np.array([["a", ""], ["b", "a"]])
    strength = {"map": np.array([[1.0, 1.0], [1.0, 0.5]])}
    [ax] = draw_names({"map": names}, {"a": "#000000", "b": "#ff0000"}, strength, (4, 3))
    cells = ax.images[0].get_array()
    assert cells.tolist() == [[[0, 0, 0], [1, 1, 1]], [[1, 0, 0], [0.5, 0.5, 0.5]]]
    assert ax.get_title(loc="left") == "map"


def test_numbers_of_cells_leave_out_what_is_none():
    ax = plane()
    ax.write_numbers_into(np.array([[1.0, np.nan], [30.0, 4.0]]), 10)
    assert {text.get_text(): text.get_position() for text in ax.texts} == {
        "1": (0, 0), "30": (0, 1), "4": (1, 1),
    }  # fmt: skip
    assert [text.get_color() == "white" for text in ax.texts] == [True, False, True]


def test_pictures_of_runs_need_no_other_part_of_the_runtime():
    files = sorted(Path(pictures.__file__).parent.glob("*.py"))
    assert len(files) > 6
    for file in files:
        taken = set(re.findall(r"^from (ddl_\S+) import", file.read_text(), re.MULTILINE))
        room = {
            f"ddl_runtime.pictures.{name}" for name in ("activity", "style", "timeline", "words")
        }
        room.add("ddl_runtime.diagnosis.waits")  # whose data one of them draws
        assert taken <= room, file
