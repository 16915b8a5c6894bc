"""The gradient of a reward, over all answers there are: what weights of answers make right."""

from functools import partial
from itertools import product

import numpy as np
import pytest
import torch
from torch.nn.utils import parameters_to_vector

from ddl_teach.serving.actors import alone
from ddl_teach.serving.sorting import Sorting
from ddl_teach.theory.policy_gradient import advantages, per_answer, per_token, unweighted

QUESTION = (2, 0)
TOKENS = torch.tensor([(*QUESTION, *answer) for answer in product(range(3), repeat=2)])
REWARDS = (TOKENS[:, 2:] == torch.tensor([0, 2])).all(1).double().numpy()


def small(weighting=unweighted):
    return Sorting(weighting=weighting, digits=2, values=3, imitation=20)


@pytest.fixture(scope="module")
def weights():
    """Those that answered, those in between, and those that learn."""
    return small().initial(), alone(small(), 4), alone(small(), 8)


def logs(given):
    return small().logs(given, TOKENS).detach().numpy()


def of_rewards(given):
    """The gradient of the mean reward, by torch's chain rule through all answers: the peer."""
    policy = small()
    likely = policy.logs(given, TOKENS).sum(1).exp()
    slopes = torch.autograd.grad(
        -(likely * torch.from_numpy(REWARDS)).sum(), list(policy.model.parameters())
    )
    return parameters_to_vector(slopes).numpy()


def expected(weighting, given, then, baseline=0.3):
    """The mean over all answers, each as often as the weights of `then` give it."""
    chances = len(TOKENS) * np.exp(then.sum(1)) * (REWARDS - baseline)
    rows = np.column_stack([TOKENS, then, chances, REWARDS])
    return small(weighting).gradient(given, rows)


def apart(weighting, given, then):
    right = of_rewards(given)
    return np.linalg.norm(expected(weighting, given, then) - right) / np.linalg.norm(right)


WAYS = [unweighted, per_token, per_answer, partial(per_answer, cap=1.0)]


@pytest.mark.parametrize("weighting", WAYS, ids=["none", "token", "answer", "capped"])
def test_every_way_is_right_for_fresh_answers(weighting, weights):
    assert apart(weighting, weights[2], logs(weights[2])) < 1e-12


def test_the_ratio_of_the_whole_answer_is_right_for_old_ones_and_no_other_is(weights):
    old, _, new = weights
    assert apart(per_answer, new, logs(old)) < 1e-12
    errors = [apart(way, new, logs(old)) for way in WAYS if way is not per_answer]
    assert min(errors) > 1e-3
    assert apart(per_token, new, logs(old)) < apart(unweighted, new, logs(old))


def test_an_answer_may_be_begun_by_some_weights_and_ended_by_others(weights):
    old, between, new = weights
    mixed = np.column_stack([logs(old)[:, 0], logs(between)[:, 1]])
    assert apart(per_answer, new, mixed) < 1e-12


def test_without_long_answers_it_is_not(weights):
    kept = TOKENS[:, 2] != 2  # as if those that begin so were cut off
    then = logs(weights[2])
    chances = np.where(kept, len(TOKENS) * np.exp(then.sum(1)), 0) * (REWARDS - 0.3)
    rows = np.column_stack([TOKENS, then, chances, REWARDS])
    assert not np.allclose(small().gradient(weights[2], rows), of_rewards(weights[2]), rtol=0.01)


@pytest.mark.parametrize("group", [2, 3])
def test_a_group_s_mean_makes_the_gradient_smaller_and_does_not_turn_it(group, weights):
    given, policy = weights[2], small()
    likely = np.exp(logs(given).sum(1))
    chosen = np.array([*product(range(len(TOKENS)), repeat=group)])  # all groups there are
    apart = advantages(REWARDS[chosen].ravel(), group).reshape(chosen.shape)
    often = len(chosen) * likely[chosen].prod(1, keepdims=True) * apart
    rows = chosen.ravel()
    table = np.column_stack([TOKENS[rows], np.zeros((len(rows), 2)), often.ravel(), REWARDS[rows]])
    right = (1 - 1 / group) * of_rewards(given)
    assert np.allclose(policy.gradient(given, table), right, rtol=1e-9, atol=1e-12)


def test_a_clipped_ratio_has_the_gradient_of_ppo_s_objective(weights):
    """The peer: torch's chain rule through min(r A, clip(r, 1 - 0.2, 1 + 0.2) A)."""
    old, _, new = weights
    policy, then = small(partial(per_token, width=0.2)), torch.from_numpy(logs(old))
    a = torch.linspace(-1, 1, len(TOKENS), dtype=torch.float64)[:, None]
    ratios = (policy.logs(new, TOKENS) - then).exp()
    least = torch.minimum(ratios * a, ratios.clamp(0.8, 1.2) * a).sum() / len(TOKENS)
    slopes = torch.autograd.grad(-least, list(policy.model.parameters()))
    rows = np.column_stack([TOKENS, then, a, REWARDS])
    assert ((ratios < 0.8) | (ratios > 1.2)).any()
    assert np.allclose(policy.gradient(new, rows), parameters_to_vector(slopes), atol=1e-14)


def test_rewards_teach_what_imitation_has_begun():
    policy = Sorting(digits=3, values=4, imitation=30)
    before, after = policy.initial(), alone(policy, 60)
    assert policy.reward(after) > policy.reward(before) + 0.1


def test_answers_hold_their_own_probabilities_and_rewards():
    policy = Sorting(imitation=10)
    rows = policy.answers(policy.initial(), 3)
    assert rows.shape == policy.room().shape
    tokens = torch.from_numpy(rows[:, :8]).long()
    likely = policy.logs(policy.initial(), tokens).detach().numpy()
    assert np.allclose(rows[:, 8:12], likely, rtol=1e-12)
    right = (tokens[:, 4:] == tokens[:, :4].sort(1).values).all(1)
    assert np.array_equal(rows[:, -1], right)
    assert np.array_equal(rows[:, -2], advantages(rows[:, -1], 8))
