"""Pictures of staging: titles say what was found, labels say on what, and nothing is left out."""

import pytest

from ddl_class.plots.staging import (
    NOTHING_RECORDED,
    path_colour,
    plot_chunk_sizes,
    plot_paths,
    plot_recorded,
)

SIZES = [1024, 4096, 16384, 65536]
COMPUTED = (SIZES, [4e-4, 2e-4, 1e-4, 3e-4])
MEASURED = {4096: (4e-4, 3e-4, 5e-4), 65536: (2e-4, 1e-4, 2.5e-4)}
HOST = {size: (size * 1e-9, size * 0.9e-9, size * 1.2e-9) for size in SIZES}
STAGED = dict.fromkeys(SIZES, (1e-5, 9e-6, 2e-5))


def title(ax):
    return ax.get_title(loc="left").strip()


def test_the_valley_over_the_chunks_is_named_on_both_grounds():
    figure = plot_chunk_sizes(
        COMPUTED, nbytes=1 << 20, best=20_000, simulated=COMPUTED, measured=MEASURED,
        others={"staged": 5e-4}, label="stand-in device: no GPU",
    )  # fmt: skip
    [ax] = figure.axes
    found = "Least time for 1 MiB: chunks of 16 KiB by the formula, of 64 KiB measured"
    assert title(ax) == found
    assert f"{found}. stand-in device: no GPU" in figure.alt
    words = {text.get_text() for text in ax.texts}
    assert words == {"best: 19.5 KiB", "stand-in device: no GPU"}
    assert [line.get_marker() for line in ax.lines[:3]] == ["None", "s", "o"]


def test_paths_are_compared_where_all_were_measured():
    fewer = {size: STAGED[size] for size in SIZES[1:]}
    [ax] = plot_paths({"host": HOST, "staged": fewer}).axes
    assert title(ax) == "4 KiB: host is fastest, 4.1 µs; 64 KiB: staged is fastest, 10 µs"
    rates = plot_paths({"host": HOST}, bandwidth=True, title="x")
    [ax] = rates.axes
    assert title(ax) == "x"
    assert "64 KiB: 1 GB/s" in rates.alt
    assert ax.lines[0].get_ydata()[0] == pytest.approx(1e9)


def test_recorded_runs_stand_beside_yours_and_each_says_on_what():
    figure = plot_recorded(
        {"host": HOST}, {"recorded on a GPU": {"staged": STAGED}}, label="host memory: no GPU"
    )
    yours, recorded = figure.axes
    assert title(yours) == "yours: host memory: no GPU"
    assert title(recorded) == "recorded on a GPU"
    assert "recorded on a GPU" in figure.alt
    alone = plot_recorded({"host": HOST}, {}, label="host memory: no GPU")
    assert [text.get_text() for text in alone.axes[1].texts] == [NOTHING_RECORDED]


def test_chunk_sizes_of_one_path_have_shades_of_one_colour():
    names = ["staged", "pipelined, 64 KiB", "pipelined, 1 MiB"]
    colours = [path_colour(name, names) for name in names]
    assert len(set(colours)) == 3
    assert path_colour("pipelined") == colours[1]
    assert all(one >= other for one, other in zip(colours[2], colours[1], strict=True))
