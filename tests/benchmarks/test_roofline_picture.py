"""The roofline: what its title says is what its points are."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.pictures import plot_roofline

BANDWIDTHS = {"memory": 10e9, "cache": 50e9}  # the ridges: 10 and 2


def point(name, kind, intensity, rate, seconds):
    return SimpleNamespace(name=name, kind=kind, intensity=intensity, rate=rate, seconds=seconds)


POINTS = [
    point("conv", "Conv2d", 100.0, 80e9, 6e-3),
    point("relu", "ReLU", 0.125, 1e9, 1e-3),
    point("full", "Linear", 9.0, 40e9, 3e-3),
]


def draw(points=POINTS):
    return plot_roofline(points, 100e9, BANDWIDTHS, network="Net")


def test_the_title_counts_the_layers_left_of_the_memory_ridge():
    axes = draw()
    title = "Net: memory limits 2 of 3 layers, which take 40% of the time"
    assert axes.get_title(loc="left") == title
    assert title in axes.figure.alt
    assert (
        "takes longest is conv (Conv2d) with 6 ms, at 100 operations per byte" in axes.figure.alt
    )


def test_points_stand_at_their_measured_speed_and_grow_with_their_time():
    axes = draw()
    drawn = {it.get_label().split(",")[0]: it for it in axes.collections}
    assert drawn["Conv2d"].get_offsets().tolist() == [[100.0, 80e9]]
    areas = {kind: it.get_sizes()[0] for kind, it in drawn.items()}
    assert areas["ReLU"] < areas["Linear"] < areas["Conv2d"]


def test_roofs_rise_with_their_bandwidth_and_end_at_the_same_height():
    lines = draw().lines
    for line, rate in zip(lines, BANDWIDTHS.values(), strict=True):
        x, y = line.get_data()
        assert y[0] == pytest.approx(x[0] * rate)
        assert x[1] == pytest.approx(100e9 / rate)
        assert y[1] == y[2] == 100e9


def test_axes_have_units_and_names_do_not_cover_one_another():
    crowd = [point(f"layer {n}", "Conv2d", 100.0 + n, 80e9, 1e-3) for n in range(9)]
    axes = draw([*crowd, POINTS[1]])
    named = [it.get_text() for it in axes.texts if it.get_text().startswith("layer")]
    assert len(named) == 1
    assert axes.get_xlabel() == "intensity (operations per byte moved)"
    assert axes.get_ylabel() == "operations per second"
    assert axes.yaxis.get_major_formatter()(1e9) == "1 Gop/s"


def test_without_layers_there_is_nothing_to_draw():
    with pytest.raises(ValueError, match="at least one layer and one bandwidth"):
        draw([])
    assert np.isfinite(draw([POINTS[0]]).get_ylim()).all()
