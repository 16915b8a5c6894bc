"""Members on ranks: their mean, their twins, and a student of theirs."""

from itertools import permutations

import numpy as np
import pytest

from benchmarks.consolidated import consolidate
from benchmarks.consolidation import along, barrier
from ddl_teach import simulate
from ddl_teach.collectives import ring
from ddl_teach.networks.shares import share
from ddl_teach.search.consolidation import ensemble
from ddl_teach.search.consolidation.distillation import Distilled, loss
from ddl_teach.search.consolidation.ensemble import mean_of_members
from ddl_teach.search.consolidation.matching import match, matched_mean, twin
from ddl_teach.search.training import DigitsTraining
from ddl_teach.training.tasks.digits import Digits, pictures
from ddl_teach.training.tasks.perceptron import Perceptron, softmax

RANKS = (1, 2, 3, 4, 5, 8)
SMALL = Perceptron(6, 5, 4)
X = np.random.default_rng(0).normal(size=(7, 6))


def members(count=5):
    random = np.random.default_rng(1)
    return [SMALL.initial(seed) + random.normal(0, 0.1, SMALL.layers[-1]) for seed in range(count)]


def each_answers(weights, temperature=1.0):
    """Written out once more, a row after the other."""
    first, bias1, second, bias2 = SMALL.arrays(weights)
    rows = []
    for x in X:
        scores = np.maximum(0, first.T @ x + bias1) @ second + bias2
        powers = np.exp(scores / temperature)
        rows.append(powers / powers.sum())
    return np.array(rows)


def everything(comm):
    own = [members()[number] for number in share(5, comm.size, comm.rank)]
    matched = matched_mean(comm, SMALL, own)
    distances = [np.sum((one - matched.mean) ** 2) for one in matched.members]
    return (
        ensemble.probabilities(comm, SMALL, own, X, temperature=2.0),
        ensemble.votes(comm, SMALL, own, X),
        mean_of_members(comm, np.reshape(own, (len(own), -1)) if own else np.zeros((0, 59))),
        matched.mean,
        matched.apart,
        mean_of_members(comm, np.array(distances)),
    )


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.sampled(6)
def test_ranks_together_answer_as_one_device_would(ranks, real):
    expected = np.mean([each_answers(one, 2.0) for one in members()], axis=0)
    chosen = np.array([each_answers(one).argmax(axis=1) for one in members()])
    votes = np.array([[np.mean(row == answer) for answer in range(4)] for row in chosen.T])
    alone = simulate(everything, 1).results[0]
    for run in (simulate(everything, ranks), real(everything, ranks)):
        for likely, cast, mean, matched, apart, distance in run.results:
            np.testing.assert_allclose(likely, expected, atol=1e-12)
            np.testing.assert_allclose(cast, votes, atol=1e-12)
            np.testing.assert_allclose(mean, np.mean(members(), axis=0), atol=1e-12)
            np.testing.assert_allclose(matched, alone[3], atol=1e-12)
            assert apart[-1] == pytest.approx(float(distance))
            assert list(apart) == sorted(apart, reverse=True), "no round makes it worse"
            assert apart[0] <= np.var(members(), axis=0).sum(), "nor worse than not matched"
        assert len({result[3].tobytes() for result in run.results}) == 1


def test_the_loss_of_the_mean_is_at_most_the_mean_loss():
    answers = np.random.default_rng(2).integers(0, 4, len(X))
    each = [each_answers(one)[np.arange(7), answers] for one in members(30)]
    together = ensemble_alone(members(30))[np.arange(7), answers]
    assert -np.log(together).mean() < np.mean([-np.log(one).mean() for one in each])


def ensemble_alone(own):
    return simulate(lambda comm: ensemble.probabilities(comm, SMALL, own, X), 1).results[0]


def test_a_twin_computes_the_same_function_from_other_weights():
    for seed, weights in enumerate(members()):
        order = np.random.default_rng(seed).permutation(5)
        other = twin(SMALL, weights, order)
        np.testing.assert_allclose(
            SMALL.forward(other, X)[1], SMALL.forward(weights, X)[1], atol=1e-12
        )
        back = match(SMALL, weights, other)
        assert (order[back] == np.arange(5)).all()
        assert (twin(SMALL, other, back) == weights).all()
    with pytest.raises(ValueError, match="each of the 5 hidden units once"):
        twin(SMALL, weights, [0, 0, 1, 2, 3])


def test_no_twin_is_nearer_than_the_matched_one():
    reference, *others = members(4)
    for weights in others:
        matched = twin(SMALL, weights, match(SMALL, reference, weights))
        distances = [
            np.linalg.norm(reference - twin(SMALL, weights, order))
            for order in permutations(range(5))
        ]
        assert np.linalg.norm(reference - matched) == pytest.approx(min(distances))
        assert len(np.unique(np.round(distances, 9))) == 120, "so one of them is the nearest"


def test_the_average_of_twins_fails_and_after_matching_it_is_the_original():
    state, _ = DigitsTraining()({"rate": 0.02}, None, 300, seed=0)
    digits, weights = Digits(), state["weights"].astype(float)
    other = twin(digits.network, weights, np.random.default_rng(0).permutation(32))
    assert digits.accuracy(other) == digits.accuracy(weights) > 0.9
    assert digits.accuracy((weights + other) / 2) < digits.accuracy(weights) - 0.05
    assert barrier(*along(weights, other, digits.loss)) > 0.2

    def program(comm):
        return matched_mean(comm, digits.network, [other] if comm.rank else [weights])

    for result in simulate(program, 3).results:
        np.testing.assert_array_equal(result.mean, weights)
        assert abs(barrier(*along(weights, result.members[0], digits.loss))) < 1e-12


def test_a_barrier_is_what_stands_above_the_straight_line():
    def hill(weights):
        return float(3 * weights[0] + 4 * weights[0] * (1 - weights[0]))

    places, losses = along(np.zeros(1), np.ones(1), hill, points=5)
    assert (places[0], places[-1], losses[0], losses[-1]) == (0, 1, 0, 3)
    assert barrier(places, losses) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("temperature", "soft"), [(1.0, 1.0), (3.0, 0.7), (0.5, 0.2), (20.0, 0.0)]
)
def test_the_gradient_of_distillation_is_the_slope_of_its_loss(temperature, soft):
    random = np.random.default_rng(3)
    scores, answers = random.normal(size=(5, 4)), random.integers(0, 4, 5)
    teacher = softmax(random.normal(size=(5, 4)))
    _, towards = loss(scores, teacher, answers, temperature, soft)
    for _ in range(3):
        step = 1e-6 * random.normal(size=scores.shape)
        ahead, behind = (
            loss(scores + sign * step, teacher, answers, temperature, soft)[0] for sign in (1, -1)
        )
        assert ahead - behind == pytest.approx(2 * np.sum(towards * step), rel=1e-5)


def test_at_high_temperatures_a_student_copies_scores():
    """Hinton, Vinyals and Dean, 2015: the gradient is (scores - teacher's) / classes."""
    random = np.random.default_rng(4)
    scores, theirs = (table - table.mean(axis=1, keepdims=True)
                      for table in random.normal(size=(2, 5, 4)))  # fmt: skip
    _, towards = loss(scores, softmax(theirs, 1e4), np.zeros(5, int), 1e4, soft=1.0)
    np.testing.assert_allclose(towards, (scores - theirs) / 4 / 5, atol=1e-4)


def test_a_teacher_that_knows_the_labels_teaches_what_labels_teach():
    digits = Digits(batch=7, hidden=9, dtype="float64", validation=True)
    labels = np.eye(10)[digits.pictures.answers]
    weights = digits.initial()
    for task in (
        Distilled(digits, labels, temperature=1.0, soft=1.0),
        Distilled(digits, softmax(labels), temperature=5.0, soft=0.0),
    ):
        for part in range(2):
            expected, slope = digits.gradient(weights, part, 2, 3)
            error, gradient = task.gradient(weights, part, 2, 3)
            assert error == pytest.approx(expected)
            np.testing.assert_allclose(gradient, slope, atol=1e-14)
        assert task.accuracy(weights) == digits.accuracy(weights)
        assert task.loss(weights) == digits.loss(weights)
    with pytest.raises(ValueError, match=r"teacher has shape \(3, 10\), and must have \(1149, 10"):
        Distilled(digits, labels[:3])
    with pytest.raises(ValueError, match="temperature must be above zero"):
        Distilled(digits, labels, temperature=0)


def test_the_validation_part_leaves_the_test_part_unseen():
    all_of, part = pictures(), pictures(validation=True)
    kept = np.concatenate([part.learnt, part.held_out])
    assert len(kept) == len(all_of.learnt) == 1437
    assert {row.tobytes() for row in kept} == {row.tobytes() for row in all_of.learnt}
    assert not {row.tobytes() for row in kept} & {row.tobytes() for row in all_of.held_out}


LITTLE = {"members": 3, "hidden": 8, "steps": 40, "snapshots": 2, "every": 5}


def test_what_comes_out_does_not_depend_on_who_holds_the_members(real):
    def table(run):
        """Of all ranks, the rows that do not depend on how minibatches are shared out."""
        names = [name for name in run.results[0] if name not in ("student", "pupil")]
        rows = np.array([[result[name] for name in names] for result in run.results])
        np.testing.assert_array_equal(rows, np.broadcast_to(rows[0], rows.shape))
        return rows[0]

    alone = simulate(consolidate, 1, **LITTLE)
    for run in (simulate(consolidate, 4, **LITTLE), real(consolidate, 2, **LITTLE)):
        np.testing.assert_allclose(table(run), table(alone), rtol=1e-5)
        assert run.results[0]["student"] == run.results[-1]["student"]
    found = alone.results[0]
    assert found["best member"].loss < found["members"].loss


def test_what_cannot_be_consolidated_is_refused():
    def nobody(comm):
        return mean_of_members(comm, np.zeros((0, 3)))

    def a_number(comm):
        return mean_of_members(comm, np.array(comm.size))

    for program, words in (
        (nobody, "no rank has a member"),
        (lambda comm: matched_mean(comm, SMALL, []), "no rank has a member"),
        (a_number, "members stand along the first axis"),
        (lambda comm: ensemble.probabilities(comm, SMALL, members(), X, 0.0), "temperature=0.0"),
        (lambda comm: matched_mean(comm, SMALL, members(), rounds=0), "rounds=0"),
        (lambda comm: consolidate(comm, members=0), "members=0"),
    ):
        with pytest.raises(Exception, match=words):
            simulate(program, 2)


def test_the_mean_of_members_sends_what_a_ring_does():
    run = simulate(lambda comm: mean_of_members(comm, np.ones((comm.rank, 7))), 4)
    expected = simulate(lambda comm: ring.allreduce(comm, np.zeros(8)), 4)
    assert [one.bytes_sent for one in run.ledger] == [one.bytes_sent for one in expected.ledger]
    assert all((result == 1).all() for result in run.results)
