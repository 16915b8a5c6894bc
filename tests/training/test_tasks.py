"""Tasks answer alike on every ground, in equal shares, with the right gradient."""

import copy

import numpy as np
import pytest
import torch

from ddl_teach import simulate
from ddl_teach.networks.models.data import characters, digits
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.models.resnet import resnet
from ddl_teach.training.consistency.shares import share, share_of_a_kind
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.tasks.network_task import NetworkTask
from ddl_teach.training.tasks.perceptron import Perceptron
from ddl_teach.training.tasks.quadratic import Quadratic
from ddl_teach.training.trainer import train

PRECISE = Digits(batch=7, hidden=9, dtype="float64")


def small_network(batch=7):
    network = mlp((64, 9, 10)).double()
    inputs, answers = digits(flat=True)
    return NetworkTask(network, (inputs.double(), answers), batch)


TASKS = {
    "digits": PRECISE,
    "skewed digits": Digits(batch=7, hidden=9, dtype="float64", skewed=True),
    "quadratic": Quadratic((3.0, 1.0, 0.2), noise=0.1, apart=1.0),
    "network": small_network(),
}


def test_every_fifth_sample_is_held_out_and_no_other_is_learnt_from():
    inputs, answers = np.arange(20.0)[:, None], np.arange(20)
    task = NetworkTask(mlp((1, 20)), (torch.tensor(inputs).float(), torch.tensor(answers)), 16)
    fifths = (answers % 5 == 0).astype(float)
    weights = np.concatenate([np.zeros(20), 50 * fifths]).astype(np.float32)
    assert task.accuracy(weights) == 1 / 4  # the first of four held out: all scores alike
    loss, _ = task.gradient(weights, 0, 1, 0)
    assert loss > 40  # no learnt sample has one of the answers held out


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
def test_a_gradient_is_the_slope_of_its_loss(task):
    random = np.random.default_rng(1)
    weights = task.initial()
    _, gradient = task.gradient(weights, 1, 3, 4)
    noise = task.gradient(np.zeros_like(weights), 1, 3, 4)[1] if task is TASKS["quadratic"] else 0
    if task is TASKS["quadratic"]:
        noise = noise + np.asarray(task.eigenvalues) * task.minimum(1, 3)
    for _ in range(3):
        towards = random.normal(size=len(weights))
        ahead, behind = (task.gradient(weights + s * 1e-6 * towards, 1, 3, 4)[0] for s in (1, -1))
        assert (ahead - behind) / 2e-6 == pytest.approx((gradient - noise) @ towards, rel=1e-5)


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
def test_answers_depend_on_the_question_alone(task):
    weights = task.initial()
    other = copy.deepcopy(task)
    asked = [task.gradient(weights, part, 3, step) for part in range(3) for step in range(2)]
    again = [other.gradient(weights, part, 3, step) for part in range(3) for step in range(2)]
    for (loss, gradient), (loss2, gradient2) in zip(asked, again, strict=True):
        assert loss == loss2
        np.testing.assert_array_equal(gradient, gradient2)
    assert len({gradient.tobytes() for _, gradient in asked}) == 6, "all shares are different"
    assert task.layers[-1] == len(weights) == sum(np.prod(shape) for shape in task.shapes)
    assert (task.initial() == weights).all()
    assert task.initial() is not weights


@pytest.mark.parametrize("step", [0, 40])
@pytest.mark.parametrize("task", [PRECISE, TASKS["network"]], ids=["digits", "network"])
@pytest.mark.parametrize("parts", [2, 3, 5])
def test_workers_together_see_what_one_worker_would(task, parts, step):
    whole = Digits(7 * parts, 9, dtype="float64") if task is PRECISE else small_network(7 * parts)
    weights = task.initial()
    # the second one begins another pass over the data
    shares = [task.gradient(weights, part, parts, step) for part in range(parts)]
    loss, gradient = whole.gradient(weights, 0, 1, step)
    assert np.mean([loss for loss, _ in shares]) == pytest.approx(loss)
    mean = np.mean([gradient for _, gradient in shares], axis=0)
    np.testing.assert_allclose(mean, gradient, atol=1e-12)


def transposed(arrays):
    """torch keeps a layer's matrix the other way round."""
    return np.concatenate([array.numpy().T.ravel() for array in arrays])


def test_digits_written_out_are_those_of_torch():
    inputs, answers = (tensor.numpy() for tensor in digits(flat=True))
    network = mlp((64, 9, 10)).double()
    weights = transposed([p.detach() for p in network.parameters()])
    held_out = np.arange(len(answers)) % 5 == 0
    inputs = inputs.astype(float)
    inputs = (inputs - inputs[~held_out].mean()) / inputs[~held_out].std()
    scores = network(torch.from_numpy(inputs[held_out]))
    right = scores.argmax(dim=1).numpy() == answers[held_out]
    assert PRECISE.accuracy(weights) == pytest.approx(right.mean())
    own = share((~held_out).sum(), 7, 1, 3, 4)
    scores = network(torch.from_numpy(inputs[~held_out][own]))
    error = torch.nn.functional.cross_entropy(scores, torch.from_numpy(answers[~held_out][own]))
    error.backward()
    expected = transposed([p.grad for p in network.parameters()])
    loss, gradient = PRECISE.gradient(weights, 1, 3, 4)
    assert loss == pytest.approx(error.item())
    np.testing.assert_allclose(gradient, expected, atol=1e-12)


def test_a_pass_shows_every_sample_once():
    count, batch, parts = 60, 4, 3
    seen = [share(count, batch, part, parts, step) for step in range(5) for part in range(parts)]
    assert sorted(np.concatenate(seen)) == list(range(count))
    kinds = np.arange(60) % 10
    own = [set(kinds[share_of_a_kind(kinds, 6, part, 5, 0)]) for part in range(5)]
    assert own == [{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}]
    with pytest.raises(ValueError, match="3 samples cannot be cut into 5 parts"):
        share_of_a_kind(np.arange(3), 1, 0, 5, 0)


def test_minima_apart_have_the_mean_zero():
    task = Quadratic((1.0, 2.0), apart=3.0)
    minima = [task.minimum(part, 4) for part in range(4)]
    np.testing.assert_allclose(np.mean(minima, axis=0), 0, atol=1e-12)
    assert np.ptp(minima) > 1
    assert task.accuracy(task.initial()) == 0
    assert task.accuracy(np.zeros(2)) == 1


def test_networks_train_as_any_task_does():
    task = NetworkTask(gpt(width=8, heads=2, blocks=1, length=4, tied=True), characters(4), 4)
    run = simulate(train, 3, task=task, consistency=Synchronous(), update=Adam(0.02), steps=10)
    first, *others = [result.weights for result in run.results]
    assert all((weights == first).all() for weights in others)
    assert task.loss(first) < task.loss(task.initial()) - 0.1
    assert task.accuracy(first) > task.accuracy(task.initial())


def test_what_cannot_be_a_task_is_refused():
    with pytest.raises(ValueError, match="batch must be at least 1"):
        Digits(batch=0)
    with pytest.raises(ValueError, match=r"running_mean.*GroupNorm"):
        NetworkTask(resnet(), digits())


@pytest.mark.parametrize(("inputs", "hidden"), [(400, 100), (50, 900)])
def test_first_weights_have_the_deviation_that_keeps_signals_alive(inputs, hidden):
    """sqrt(2 / inputs) before a relu (He et al., 2015), sqrt(1 / inputs) before the scores."""
    network = Perceptron(inputs, hidden, 30)
    first, bias, second, last = network.arrays(network.initial(0))
    assert first.std() == pytest.approx((2 / inputs) ** 0.5, rel=0.05)
    assert second.std() == pytest.approx((1 / hidden) ** 0.5, rel=0.05)
    assert not bias.any()
    assert not last.any()
