"""The picture of a message's way between devices: a row for each stage, and what they overlap."""

import pytest

from ddl_class.plots.staging import busy_at_once, plot_copies
from ddl_runtime.records.timeline import Timeline


def span(kind, start, end):
    return kind, kind, start, end, -1, -1, 10


IN_TURN = Timeline(
    [
        [span("kernel", 0, 1), span("copy out", 1, 2), span("send", 2, 4), span("work", 0, 4)],
        [span("recv", 0, 4), span("copy in", 4, 5)],
    ]
)
AT_ONCE = Timeline(
    [
        [span("copy out", 0, 1), span("copy out", 1, 2), span("send", 1, 2), span("send", 2, 3)],
        [span("copy in", 2, 3), span("copy in", 3, 4)],
    ]
)


def test_every_stage_has_its_row_in_the_order_of_the_way():
    [ax] = plot_copies(IN_TURN).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "rank 0: kernel", "rank 0: copy out", "rank 0: on the wire",
        "rank 1: wait, receive", "rank 1: copy in\n(not waited for)",
    ]  # fmt: skip
    assert len(ax.collections) == 5


@pytest.mark.parametrize("waits", [False, True])
def test_a_copy_that_nothing_waits_for_is_seen(waits):
    receiver = [span("recv", 0, 4), span("copy in", 4, 5), *[span("work", 4, 5)] * waits]
    [ax] = plot_copies(Timeline([[span("send", 2, 4)], receiver])).axes
    name = ax.get_yticklabels()[-1].get_text()
    assert name == ("rank 1: copy in" if waits else "rank 1: copy in\n(not waited for)")
    assert [bars.get_hatch() for bars in ax.collections] == [None, None, None if waits else "//"]
    last = ax.collections[-1]
    assert (last.get_facecolor() != last.get_edgecolor()).any()  # else no hatch is seen


def test_the_title_says_whether_stages_work_at_once():
    figure = plot_copies(IN_TURN)
    assert "several stages at once: never" in figure.axes[0].get_title(loc="left")
    figure = plot_copies(AT_ONCE)
    title = figure.axes[0].get_title(loc="left")
    assert title.startswith("4 s from device to device")
    assert "50% of it" in title
    assert title in figure.alt
    assert {text.get_text() for text in figure.axes[0].texts} == {"0", "1"}


def test_overlap_counts_each_moment_once():
    assert busy_at_once([(0, 2), (1, 3), (1.5, 2.5)]) == pytest.approx(1.5)
    assert busy_at_once([(0, 1), (1, 2)]) == 0
