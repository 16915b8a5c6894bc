"""The chart: every span is in it, whatever the number of ranks."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.quiver import Quiver

from ddl_runtime.pictures.style import KIND_COLOURS, new_axes
from ddl_runtime.pictures.timeline import PIXELS, plot_timeline
from ddl_runtime.records.timeline import Timeline
from ddl_teach import simulate
from ddl_teach.comm import Phantom


def rotate(comm):
    with comm.span("a round"):
        comm.work(seconds=1e-6)
        x, y = Phantom(1000), Phantom(1000)
        comm.sendrecv(x, (comm.rank + 1) % comm.size, y, (comm.rank - 1) % comm.size)
    comm.barrier()


def arrows(figure):
    found = [artist for artist in figure.axes[0].collections if isinstance(artist, Quiver)]
    return found[0].N if found else 0


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8, 32])
def test_a_few_ranks_are_bars_and_arrows(ranks):
    run = simulate(rotate, ranks=ranks)
    figure = run.timeline.plot()
    boxes = [
        tuple(np.round(path.get_extents().bounds, 9))
        for collection in figure.axes[0].collections
        if hasattr(collection, "get_paths") and not isinstance(collection, Quiver)
        for path in collection.get_paths()
        if path.get_extents().height > 0
    ]
    spans = [span for spans in run.timeline.spans for span in spans]
    assert len(boxes) == len(spans)
    for span in spans:
        assert any(
            box[0] == pytest.approx(span.start * 1e6)
            and box[2] == pytest.approx((span.end - span.start) * 1e6)
            for box in boxes
        )
    assert arrows(figure) == len(run.timeline.messages)
    assert figure.axes[0].get_xlabel() == "time (µs)"
    assert figure.axes[0].get_ylabel() == "rank"
    figure.canvas.draw()


def test_arrows_join_sender_and_receiver():
    run = simulate(rotate, ranks=3)
    quiver = next(a for a in run.timeline.plot().axes[0].collections if isinstance(a, Quiver))
    found = {
        (round(y), round(y + v), round(x, 6), round(x + u, 6))
        for (x, y), u, v in zip(quiver.get_offsets(), quiver.U, quiver.V, strict=True)
    }
    assert found == {
        (m.source, m.dest, round(m.left * 1e6, 6), round(m.end * 1e6, 6))
        for m in run.timeline.messages
    }


def test_arrows_are_left_out_when_many_unless_asked_for():
    def talk(comm):
        for _ in range(101):
            rotate(comm)

    timeline = simulate(talk, ranks=2).timeline
    assert arrows(timeline.plot()) == 0
    assert arrows(timeline.plot(arrows=True)) == 202
    assert arrows(simulate(rotate, ranks=2).timeline.plot(arrows=False)) == 0


def test_many_ranks_are_an_image_that_keeps_every_second_of_work():
    run = simulate(rotate, ranks=1000)
    figure = run.timeline.plot()
    image = figure.axes[0].images[0].get_array()
    assert image.shape == (*PIXELS, 3)
    np.testing.assert_allclose(image[:, 0], np.tile(to_rgb(KIND_COLOURS["work"]), (PIXELS[0], 1)))
    # How much darker than white the picture is, in all, is what the spans make it.
    expected = 0.0
    doings = {"work": 1e-6, "send": 1e-7}
    doings["recv"] = 1e-6
    doings["barrier"] = run.time - 2.1e-6
    for kind, seconds in doings.items():
        expected += (1 - np.array(to_rgb(KIND_COLOURS[kind]))) * seconds / run.time
    np.testing.assert_allclose((1 - image).mean(axis=(0, 1)), expected, rtol=1e-6)


def test_stripes_of_ranks_keep_their_place():
    rows = [[("work", "work", 0.0, 1.0, -1, -1, 0)] if rank < 250 else [] for rank in range(1000)]
    image = plot_timeline(Timeline(rows)).axes[0].images[0].get_array()
    np.testing.assert_allclose(image[:100, :, 0], to_rgb(KIND_COLOURS["work"])[0], atol=1e-9)
    np.testing.assert_allclose(image[100:], 1.0)


def test_names_of_nested_spans_stand_above_one_another():
    def nested(comm):
        with comm.span("outer"), comm.span("inner"):
            comm.work(seconds=1.0)

    axes = simulate(nested, ranks=2).timeline.plot().axes[0]
    height = {text.get_text(): text.get_position()[1] for text in axes.texts}
    assert height["outer"] < height["inner"]  # ranks count downwards
    lowest, highest = axes.get_ylim()
    assert all(highest < y < lowest for y in height.values())


def test_some_ranks_and_a_part_of_the_time():
    timeline = simulate(rotate, ranks=8).timeline
    axes = timeline.plot(ranks=[6, 2], start=1e-6, end=2e-6).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["6", "2"]
    assert axes.get_xlim() == pytest.approx((1.0, 2.0), rel=0.02)


@pytest.mark.parametrize("ranks", [[], [8], [-1, 0]])
def test_ranks_that_are_not_there(ranks):
    with pytest.raises(ValueError, match="it has ranks 0 to 7"):
        simulate(rotate, ranks=8).timeline.plot(ranks=ranks)


def test_the_title_is_the_finding_unless_given():
    timeline = simulate(rotate, ranks=2).timeline
    assert "2 ranks take" in timeline.plot().axes[0].get_title(loc="left")
    assert timeline.plot(title="Mine").axes[0].get_title(loc="left") == "Mine"
    assert "2 ranks, one below the other" in timeline.plot().alt


def test_existing_axes_are_drawn_into():
    axes = new_axes()
    assert simulate(rotate, ranks=2).timeline.plot(ax=axes) is axes.figure


@pytest.mark.parametrize("rows", [[[]], [[]] * 100])
def test_a_timeline_where_nothing_was_recorded(rows):
    plot_timeline(Timeline(rows)).canvas.draw()
