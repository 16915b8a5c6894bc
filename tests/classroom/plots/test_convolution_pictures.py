"""Pictures of convolutions: what their titles say is what their data say."""

import numpy as np
import pytest

from ddl_class.plots.convolutions import (
    Swept,
    method_name,
    plot_errors,
    plot_im2col,
    plot_method_map,
    plot_spread,
    plot_sweep,
)
from tests.classroom.plots.figures import title

KERNELS = [3, 5, 7]
PANELS = {
    "time": {"im2col": [1e-3, 2e-3, 4e-3], "fft": [3e-3, 3e-3, 3e-3]},
    "operations": {"im2col": [1e6, 2e6, 4e6], "fft": [1.5e6] * 3},
    "memory": {"im2col": [2**20, 2**21, 2**22], "winograd_4x4": [2**20, np.nan, np.nan]},
}


def test_a_sweep_says_where_methods_meet_and_by_which_source():
    crossings = {"counted": 5.0, "measured": 7.0, "predicted": None}
    figure = plot_sweep(Swept("kernel size", KERNELS, PANELS, crossings))
    found = "The FFT wins by kernel size: counted from 5 on, measured from 7 on, predicted never"
    assert title(figure) == found
    assert found in figure.alt
    assert "im2col, time: 1 ms to 4 ms" in figure.alt
    assert "Winograd 4x4, memory: 1 MiB to not possible" in figure.alt
    assert [ax.get_ylabel() for ax in figure.axes] == ["time", "operations", "memory"]
    assert figure.axes[-1].get_xlabel() == "kernel size"


def test_a_matrix_of_patches_says_what_it_takes():
    image = np.arange(9.0).reshape(3, 3)
    matrix = np.stack([image[i : i + 2, j : j + 2].ravel() for i in (0, 1) for j in (0, 1)])
    figure = plot_im2col(image, matrix)
    assert title(figure) == "9 pixels become 4 x 4 = 16 numbers: 1.78 times the memory"
    assert "The matrix begins with 0 1 3 4; " in figure.alt
    assert {text.get_text() for text in figure.axes[0].texts} == set("012345678")


def test_a_blot_is_counted():
    bad = np.zeros((4, 5))
    bad[1:3, 2:4] = np.nan
    figure = plot_spread({"direct": bad, "FFT": np.full((4, 5), np.inf)})
    assert title(figure) == "Spoiled outputs: 4 by direct, 20 by FFT"
    assert title(figure) in figure.alt


def test_a_map_says_who_wins_how_much_of_it():
    here = {"im2col": np.ones((2, 4)), "fft": np.array([[0.5, 2, 2, 2], [0.5, 0.5, 2, np.inf]])}
    there = {"im2col": np.full((2, 4), 9.0), "fft": np.ones((2, 4))}
    figure = plot_method_map(
        {"here": here, "there": there}, [3, 5], [1, 2, 4, 8],
        row_quantity="kernel size", column_quantity="channels",
    )  # fmt: skip
    assert title(figure) == "here: im2col wins 62%; there: FFT wins 100%"
    pixels = figure.axes[0].images[0].get_array()
    assert (pixels[0, 0] != pixels[0, 1]).any()
    with pytest.raises(ValueError, match="the times of here have shape"):
        plot_method_map({"here": here}, [3], [1, 2], row_quantity="r", column_quantity="c")


def test_an_error_is_shown_beside_what_it_buys():
    figure = plot_errors([1, 2, 4], [1.0, 2.0, 10.0])
    assert "1: 1, 2: 2, 4: 10" in figure.alt


@pytest.mark.parametrize(
    ("method", "name"),
    [("fft", "FFT"), ("im2col", "im2col"), ("winograd_6x6", "Winograd 6x6")],
)
def test_methods_have_names_that_people_use(method, name):
    assert method_name(method) == name


def test_sources_that_agree_share_a_line():
    agreed = {"counted": 5.0, "predicted": 5.0, "measured": 7.0}
    figure = plot_sweep(Swept("kernel size", KERNELS, PANELS, agreed))
    assert title(figure).endswith(": counted and predicted from 5 on, measured from 7 on")
    first = figure.axes[0]
    assert [text.get_text().strip() for text in first.texts] == ["counted, predicted", "measured"]


def test_several_quantities_stand_beside_each_other():
    kernels = Swept("kernel size", KERNELS, PANELS, {"measured": 5.0})
    batches = Swept("batch", [2 * one for one in KERNELS], PANELS, {"measured": None})
    figure = plot_sweep(kernels, batches)
    assert len(figure.axes) == 2 * len(PANELS)
    words = ["The FFT wins by kernel size: measured from 5 on", "by batch: measured never"]
    assert all(one in title(figure) for one in words)
    first, second = figure.axes[-2:]
    assert (first.get_xlabel(), second.get_xlabel()) == ("kernel size", "batch")
