"""Choosers learn from rows of measured times, and are judged on what they have not seen."""

from functools import partial

import numpy as np
import pytest
import torch

from ddl_measure.experiments.choosing import allreduces, convolutions
from ddl_measure.experiments.choosing.judge import (
    BEST,
    MEASURED,
    choose,
    judge,
    mean_with_interval,
)
from ddl_runtime.topologies.point_to_point import Machine
from ddl_teach import simulate
from ddl_teach.collectives.auto import PREDICTABLE
from ddl_teach.operators.convolution.methods import METHODS, find
from ddl_teach.search.choosing.cost_model import constants, fitted
from ddl_teach.search.choosing.decision_tree import decision_tree
from ddl_teach.search.choosing.most_frequent import most_frequent
from ddl_teach.search.choosing.points import Points, load
from ddl_teach.search.choosing.small_network import small_network

RANKS, SIZES = [2, 3, 4, 8, 16], [2**power for power in range(4, 25, 2)]


def two_ways(noise=0.0, repetitions=1):
    """One way pays for messages, the other for bytes; they cross at a size that grows with ranks.

    Between two sizes they are a tie but for noise.
    """
    random = np.random.default_rng(0)
    questions = np.array([(ranks, size) for ranks in RANKS for size in SIZES], float)
    ranks, sizes = questions.T
    short, long = 1e-6 * np.log2(ranks) * (5 + sizes / 1e3), 1e-6 * (ranks * 2 + sizes / 1e3)
    exact = np.stack([short, long], axis=1)[..., None]
    seconds = exact * np.exp(noise * random.normal(size=(*exact.shape[:2], repetitions)))
    return Points(("ranks", "nbytes"), questions, ("short", "long"), seconds)


def test_rows_in_a_file_are_the_points_again(tmp_path):
    points = two_ways(noise=0.3, repetitions=4)
    seconds = np.round(points.seconds, 9)
    seconds[3, 1] = np.inf
    points = Points(points.names, points.questions, points.choices, seconds)
    path = tmp_path / "points.csv"
    points.save(path)
    lines = path.read_text().splitlines()
    assert lines[0] == "ranks,nbytes,choice,repetition,seconds"
    assert len(lines) == 1 + points.seconds.size
    again = load(path)
    assert (again.names, again.choices) == (points.names, points.choices)
    np.testing.assert_array_equal(again.questions, points.questions)
    np.testing.assert_allclose(again.seconds, points.seconds, rtol=1e-3)
    path.write_text("\n".join(lines[:-1]))
    with pytest.raises(ValueError, match=r"has no time of long in repetition 3"):
        load(path)
    path.write_text("ranks,seconds\n2,1.0")
    with pytest.raises(ValueError, match="last columns must be choice,repetition,seconds"):
        load(path)


def test_halves_share_nothing_and_questions_are_asked_without_their_answers():
    points = two_ways(noise=0.3, repetitions=5)
    first, second = points.halves()
    assert first.seconds.shape[2] + second.seconds.shape[2] == 5
    assert not set(first.seconds.ravel()) & set(second.seconds.ravel())
    points.seconds[7, 0] = np.inf
    asked = points.asked()
    assert (asked.questions == points.questions).all()
    assert set(asked.seconds.ravel()) == {0.0, np.inf}
    assert np.isinf(asked.seconds[7, 0]).all()
    assert np.isinf(asked.seconds).sum() == 1
    groups = points.groups("nbytes")
    assert [len(set(points.column("nbytes")[groups == g])) for g in set(groups)] == [1] * 11


def test_a_tie_is_what_repetitions_cannot_tell_apart():
    times = np.array([[[1.0, 1.2, 0.9, 1.1], [1.05, 1.3, 1.0, 1.2], [2.0, 2.1, 2.2, 2.0]]])
    points = Points(("size",), np.ones((1, 1)), ("a", "b", "c"), times)
    assert points.tied.tolist() == [[True, True, False]]
    assert points.winners.tolist() == [0]
    np.testing.assert_allclose(points.slowdowns[0], [1, 1.125 / 1.05, 2.05 / 1.05])


@pytest.mark.parametrize(
    ("learner", "hold_out"),
    [(decision_tree, "nbytes"), (decision_tree, "ranks"), (small_network, "ranks")],
    ids=["tree, sizes", "tree, ranks", "network, ranks"],
)
def test_a_border_between_two_ways_is_learnt(learner, hold_out):
    verdicts = judge(two_ways(), {"learnt": learner, "always": most_frequent}, hold_out)
    regret, always = (verdicts[name].regret.mean() for name in ("learnt", "always"))
    assert regret < always / 2


def test_what_is_not_allowed_is_never_chosen_and_teaches_nothing_else():
    points = two_ways(noise=0.05, repetitions=2)
    seconds = points.seconds.copy()
    seconds[::3, 1] = np.inf
    some = Points(points.names, points.questions, points.choices, seconds)
    learners = {"tree": decision_tree, "network": small_network, "always": most_frequent}
    for verdict in judge(some, learners, "ranks").values():
        assert (verdict.chosen[::3] == 0).all()
        assert np.isfinite(verdict.regret).all()


def test_learners_see_neither_the_group_nor_the_repetitions_that_judge_them():
    points = two_ways(noise=0.2, repetitions=6)
    judging = set(points.halves()[1].seconds.ravel())
    missing = []

    def spy(learnt):
        assert not judging & set(learnt.seconds.ravel())
        [gone] = set(SIZES) - set(learnt.column("nbytes"))
        missing.append(gone)

        def chooser(asked):
            assert set(asked.column("nbytes")) == {gone}
            assert set(asked.seconds.ravel()) == {0.0}
            return np.tile([0.0, 1.0], (len(asked), 1))

        return chooser

    verdicts = judge(points, {"spy": spy}, "nbytes")
    assert sorted(missing) == SIZES
    kept = points.halves()[1].medians
    np.testing.assert_allclose(verdicts["spy"].regret, kept[:, 0] / kept.min(axis=1) - 1)
    assert (verdicts["spy"].won == (kept.argmin(axis=1) == 0)).all()
    assert verdicts[BEST].won.all()
    assert not verdicts[BEST].regret.any()
    assert 0 < verdicts[MEASURED].regret.mean() < verdicts["spy"].regret.mean()
    assert verdicts[MEASURED].won.mean() < 1, "noise makes other winners"
    with pytest.raises(ValueError, match="none is left to learn from"):
        judge(points.only(points.column("nbytes") == 16), {}, "nbytes")


def test_intervals_know_that_a_group_errs_together():
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 10)
    alone = random.normal(size=200)
    common = random.normal(size=20)[groups]
    widths = [
        np.subtract(*mean_with_interval(values, groups)[:0:-1]) for values in (alone, common)
    ]
    assert widths[1] > 2 * widths[0]
    mean, low, high = mean_with_interval(np.full(200, 3.0), groups)
    assert (mean, low, high) == (3.0, 3.0, 3.0)


def test_constants_of_a_model_are_found_again():
    points = two_ways()

    def counts(asked):
        ranks, sizes = asked.questions.T
        levels = np.log2(ranks)
        return np.stack([
            np.stack([levels * 5, levels * sizes / 1e3, 0 * ranks], axis=1),
            np.stack([2 * ranks, sizes / 1e3, 0 * ranks], axis=1),
        ], axis=1)  # fmt: skip

    np.testing.assert_allclose(constants(points, counts), [1e-6, 1e-6, 0], atol=1e-12)
    verdict = judge(points, {"model": fitted(counts)}, "ranks")["model"]
    assert verdict.regret.max() < 1e-9


@pytest.mark.parametrize("reduce_bandwidth", [np.inf, 4e9])
def test_on_simulated_networks_the_counts_are_the_times(reduce_bandwidth):
    """`linear` apart, whose root takes the next vector in while it combines the last one."""
    machine = Machine(reduce_bandwidth=reduce_bandwidth)
    networks = [allreduces.NetworkShape(2e-5, 1e-9), allreduces.NetworkShape(1e-6, 2e-8)]
    names = tuple(name for name in PREDICTABLE if name != "linear")
    points = allreduces.simulated(
        networks, (2, 4, 8), (64, 4096, 2**20), algorithms=names, machine=machine
    )
    assert points.names == ("ranks", "nbytes", "latency", "per_byte", "ranks_per_node")
    expected = allreduces.counted(points) @ [1, 1, 1 / reduce_bandwidth]
    np.testing.assert_allclose(points.medians, expected)
    for hold_out in (("ranks",), ("latency", "per_byte")):
        verdict = judge(points, {"fit": fitted(allreduces.counted)}, *hold_out)["fit"]
        assert verdict.regret.max() < 1e-6
    run = partial(simulate, network=networks[0].fabric(), machine=machine)
    model = allreduces.two_experiments(run, repetitions=2)
    assert model.latency == pytest.approx(2e-5)
    assert model.per_byte == pytest.approx(1e-9)
    assert model.per_byte_reduced == pytest.approx(1 / reduce_bandwidth, abs=1e-15)
    here = points.only(points.column("latency") == 2e-5)
    chosen = choose(here.asked(), allreduces.by_model(model)(here.asked()))
    assert (here.slowdowns[np.arange(len(here)), chosen] < 1 + 1e-6).all()


def test_every_algorithm_is_measured_on_all_real_ranks(real):
    points = allreduces.measured(real, (1, 2, 3, 4, 5, 8), (400,), repetitions=1)
    assert points.seconds.shape == (6, 5, 1)
    assert (points.seconds > 0).all()
    assert points.column("ranks").tolist() == [1, 2, 3, 4, 5, 8]
    model = allreduces.two_experiments(real, repetitions=1)
    chosen = choose(points.asked(), allreduces.by_model(model)(points.asked()))
    assert set(chosen) <= set(range(5))


def test_methods_do_a_batch_in_the_largest_pieces_that_fit():
    shape = (4, 3, 9, 2, 3)
    problem = convolutions.problem_of(shape)
    assert problem.output_shape == (4, 2, 9, 9)
    limits = (1000, 20_000, 10**9)
    points = convolutions.measured([shape], limits, repetitions=2)
    for row, limit in enumerate(points.column("limit")):
        for place, name in enumerate(points.choices):
            size = convolutions.piece(problem, name, limit)
            assert np.isinf(points.seconds[row, place]).all() == (size == 0)
            assert size in (0, 1, 2, 4)
    one = find("im2col").workspace(convolutions.problem_of((1, *shape[1:])), torch.float32)
    pieces = [convolutions.piece(problem, "im2col", limit) for limit in (one - 1, one, 3 * one)]
    assert pieces == [0, 1, 2]
    counts = convolutions.counted(points)
    assert ((counts[..., 3] == 0) == np.isinf(points.medians)).all()
    whole, halves = (
        counts[row, points.choices.index("im2col")] for row in (-1, list(limits).index(20_000))
    )
    assert whole[0] == halves[0], "as many operations in however many pieces"


def test_shapes_are_drawn_alike_and_within_bounds():
    shapes = convolutions.drawn(20, seed=3, most=1e7)
    assert len(set(shapes)) == 20
    assert shapes == convolutions.drawn(20, seed=3, most=1e7)
    for shape in shapes:
        batch, inputs, size, outputs, kernel = shape
        assert batch * inputs * outputs * (size * kernel) ** 2 <= 1e7
    assert set(METHODS) == set(convolutions.measured(shapes[:1], repetitions=1).choices)


def test_what_is_no_table_of_points_is_refused():
    good = two_ways()
    wrong = Points(good.names, good.questions * [1, 0], good.choices, good.seconds)
    with pytest.raises(ValueError, match="must be above 0"):
        decision_tree(wrong)
    with pytest.raises(ValueError, match=r"questions have shape \(55, 2\)"):
        Points(("ranks",), good.questions, good.choices, good.seconds)
    with pytest.raises(ValueError, match=r"it must be \(55, 1\) and repetitions"):
        Points(good.names, good.questions, ("one",), good.seconds)
    with pytest.raises(ValueError, match="without any choice that is allowed"):
        Points(good.names, good.questions, good.choices, good.seconds + np.inf)
    with pytest.raises(ValueError, match="no number of a question is called 'size'"):
        good.column("size")
    with pytest.raises(ValueError, match="6 bytes are no vector of float32"):
        allreduces.zeros(6)
    with pytest.raises(ValueError, match="a number for each of 55 questions and 2 choices"):
        choose(good.asked(), np.zeros((55, 1)))
