"""Pictures of measurements say what their data say, and refuse what is none."""

from types import SimpleNamespace as Data

import numpy as np
import pytest

from ddl_teach.plots.balance import plot_balance
from ddl_teach.plots.clocks import plot_clocks
from ddl_teach.plots.differences import plot_differences
from ddl_teach.plots.network_cost import plot_network_cost
from ddl_teach.plots.noise import plot_noise
from ddl_teach.plots.repeated import plot_repeated
from ddl_teach.plots.scaling import plot_scaling
from ddl_teach.plots.to_accuracy import plot_to_accuracy
from ddl_teach.plots.traffic import plot_traffic


def title(figure):
    """What the picture says it shows; who cannot see it is told the same."""
    heading = figure.get_suptitle() or figure.axes[0].get_title(loc="left")
    assert heading.replace("\n", " ") in figure.alt
    assert all(ax.get_xlabel() or ax.get_ylabel() for ax in figure.axes)
    return heading


def repeated(*times, outliers=()):
    low, high = min(times), max(times)
    return Data(
        times=times, median=float(np.median(times)), low=low, high=high, confidence=0.95,
        outliers=outliers,
    )  # fmt: skip


def test_every_repetition_is_drawn_and_outliers_are_hollow():
    figure = plot_repeated({"ring": repeated(2e-3, 2e-3, 6e-3, outliers=(2,))})
    assert title(figure) == "Medians: ring 2 ms; 1 of 3 are outliers, up to 3 times a median"
    _, near, far = figure.axes[0].get_lines()
    assert near.get_xydata().tolist() == [[1, 2], [2, 2]]
    assert far.get_xydata().tolist() == [[3, 6]]
    assert far.get_markerfacecolor() == "none"
    assert figure.axes[0].get_ylim()[0] == 0
    assert title(plot_repeated({"ring": repeated(2e-3)})) == "Medians: ring 2 ms"


def test_noise_says_what_one_rank_and_many_lose():
    figure = plot_noise([0, 1, 2, 3], [1e-3, 1e-3, 1e-3, 2e-3], ([1, 1024], [1.25, 2.0]))
    assert (
        title(figure)
        == "One rank loses 20.0% of its time; 1,024 ranks would take 2 times the least"
    )


def row(ranks, efficiency):
    edges = np.array([1, 0.9, 1.1]) * efficiency
    return Data(ranks=ranks, efficiency=tuple(edges), speed_up=tuple(edges * ranks))


def test_both_scalings_stand_beside_each_other_against_their_baseline():
    base = Data(ranks=1, what="one core")
    strong = Data(kind="strong", baseline=base, rows=[row(1, 1.0), row(4, 0.5)])
    weak = Data(kind="weak", baseline=base, rows=[row(1, 1.0), row(4, 0.8)])
    figure = plot_scaling(strong, weak)
    assert title(figure) == (
        "Efficiency: strong 50% (45% to 55%) on 4 ranks, weak 80% (72% to 88%) on 4 ranks\n"
        "against one core"
    )
    ideal = figure.axes[0].get_lines()[0]
    assert ideal.get_xydata().tolist() == [[1, 1], [4, 4]]
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["as many times as ranks", "strong scaling", "weak scaling"]


def clock(ahead, walked, bound):
    readings = [Data(at=at, ahead=ahead + at * walked, bound=bound) for at in (0.0, 1.0)]
    return Data(begin=readings[0], end=readings[1], drift=walked, bound=bound)


def test_clocks_say_how_far_apart_they_are_and_whether_drift_can_be_seen():
    truth = clock(0, 0, 0)
    found = title(plot_clocks([truth, clock(2.5, 4e-5, 1e-6), clock(-1, 0, 1e-6)]))
    assert found == "Clocks are 3.5 s apart, drifting by up to 40 µs a second; known to 1 µs"
    assert "no drift to be seen" in title(plot_clocks([truth, clock(0.5, 4e-5, 3e-5)]))
    assert "known to 0 s" in title(plot_clocks([truth]))


def test_a_map_of_differences_points_at_the_largest():
    table = np.full((3, 4), 1e-8)
    table[2, 1] = 0.5
    figure = plot_differences(table, name="my FFT")
    assert title(figure) == "My FFT differs by up to 0.5, in row 2, column 1 of the map"
    table[0, 0] = np.inf
    assert title(plot_differences(table)) == "In 1 of 12 blocks the result is no number"
    assert title(plot_differences(0 * table[1:])) == "The result does not differ at all"


def test_a_biased_rank_stands_beside_chance():
    figure = plot_balance(np.array([[5, 5], [9, 1]]), [0.5, 0.5], [0.0, 0.4], [0.1, 0.1])
    assert (
        title(figure) == "Rank 1 is the most biased: 40% of its samples, 4 times what chance makes"
    )
    shown = figure.axes[0].get_images()[0].get_array()
    assert np.allclose(shown, [[0, 0], [0.4, -0.4]])


def test_accuracy_is_drawn_over_time_and_over_epochs():
    looks = [Data(seconds=s, epochs=s / 2, accuracy=a) for s, a in ((1, 0.5), (2, 0.9))]
    trainings = {"small": looks, "large": looks[:1]}
    figure = plot_to_accuracy(trainings, 0.8, {"small": looks[1], "large": None})
    assert title(figure) == "To 80%: small 2 s and 1.0 epochs, large never"
    ends = [ax.get_lines()[1].get_xdata()[-1] for ax in figure.axes]
    assert ends == [2, 1]


def test_traffic_names_the_busiest():
    server = np.array([[0, 1, 1], [1024, 0, 0], [1024, 0, 0]])
    figure = plot_traffic(server)
    assert title(figure) == "4 of 6 pairs talk; rank 0 receives the most, 2 KiB"
    assert title(plot_traffic(np.zeros((2, 2)))) == "Nobody sent anything"


def test_parts_of_a_network_are_bars_forward_and_back():
    parts = [
        Data(name=name, forward=repeated(seconds), backward=repeated(2 * seconds),
             forward_bytes=held, backward_bytes=2 * held)
        for name, seconds, held in (("conv", 3e-3, 1024), ("linear", 1e-3, 4096))
    ]  # fmt: skip
    figure = plot_network_cost(parts)
    assert title(figure) == "conv takes 9 ms, 75% of the time; linear holds 8 KiB"
    assert len(figure.axes[0].patches) == len(figure.axes[1].patches) == 4
    alone = [Data(**{**vars(parts[0]), "backward": None, "backward_bytes": None})]
    assert title(plot_network_cost(alone)) == "conv takes 3 ms, 100% of the time; conv holds 1 KiB"


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: plot_repeated({}), "at least one thing"),
        (lambda: plot_noise([0], [], ([1], [1])), "1 starts and 0 times"),
        (plot_scaling, "at least one scaling"),
        (lambda: plot_clocks([]), "at least one rank"),
        (lambda: plot_differences(np.ones(3)), "give two axes"),
        (lambda: plot_differences(-np.ones((1, 1))), "no negative numbers"),
        (lambda: plot_balance(np.zeros((1, 2)), [0.5, 0.5], [0], [0]), "none empty"),
        (lambda: plot_to_accuracy({"a": []}, 0.9, {}), "at least one training"),
        (lambda: plot_traffic(np.ones((2, 3))), "a row and a column for each rank"),
        (lambda: plot_network_cost([]), "at least one part"),
    ],
    ids=["repeated", "noise", "scaling", "clocks", "axes", "negative", "balance", "accuracy",
         "traffic", "network"],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(draw, words):
    with pytest.raises(ValueError, match=words):
        draw()
