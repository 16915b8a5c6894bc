"""The picture of decisions names every path where it begins."""

from benchmarks.pictures import plot_decisions


def test_a_table_is_a_bar_for_each_reign():
    tables = {
        "default": [(0, "staged"), (1 << 17, "pipelined, 64 KiB"), (1 << 20, "pipelined, 1 MiB")],
        "measured": [(0, "direct")],
    }
    figure = plot_decisions(tables, largest=1 << 24, label="here", title="Decisions")
    [ax] = figure.axes
    assert ax.get_title(loc="left").strip() == "Decisions"
    assert "default: staged, pipelined from 128 KiB on; measured: direct" in figure.alt
    assert len(ax.patches) == 4
    assert {text.get_text() for text in ax.texts} == {"", "64 KiB", "1 MiB", "here"}
