"""Update rules are torch.optim's where torch has them, and what their papers say where not."""

import warnings

import numpy as np
import pytest
import torch

from ddl_teach.training.consistency.rates import WarmUp, linear_scaling, square_root_scaling
from ddl_teach.training.optimizers.adagrad import AdaGrad
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.adamw import AdamW
from ddl_teach.training.optimizers.lamb import LAMB
from ddl_teach.training.optimizers.lars import LARS
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.optimizers.nesterov import Nesterov
from ddl_teach.training.optimizers.rmsprop import RMSProp
from ddl_teach.training.optimizers.sgd import SGD

STEPS, LAYERS = 12, (0, 30, 35, 47)
SIZE = LAYERS[-1]
WARM = WarmUp(0.01, 0.3, steps=5)

TORCHS = [
    (SGD(0.2), torch.optim.SGD, {"lr": 0.2}),
    (Momentum(0.2, 0.8), torch.optim.SGD, {"lr": 0.2, "momentum": 0.8}),
    (Nesterov(0.2, 0.8), torch.optim.SGD, {"lr": 0.2, "momentum": 0.8, "nesterov": True}),
    (AdaGrad(0.2), torch.optim.Adagrad, {"lr": 0.2}),
    (RMSProp(0.2, 0.9), torch.optim.RMSprop, {"lr": 0.2, "alpha": 0.9}),
    (Adam(0.2, (0.8, 0.95)), torch.optim.Adam, {"lr": 0.2, "betas": (0.8, 0.95)}),
    (AdamW(0.2, decay=0.1), torch.optim.AdamW, {"lr": 0.2, "weight_decay": 0.1}),
]
RULES = [rule for rule, _, _ in TORCHS] + [
    LARS(LAYERS, 0.2, decay=0.01),
    LAMB(LAYERS, 0.2, decay=0.01),
]

each = pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)


def numbers(seed, rows=STEPS):
    return np.random.default_rng(seed).standard_normal((rows, SIZE))


def ours(rule, weights, gradients):
    """Where a rule goes from `weights`, which are left as they were."""
    weights = weights.copy() if isinstance(weights, np.ndarray) else weights.clone()
    states = [0 * weights for _ in range(rule.states)]
    for step, gradient in enumerate(gradients, start=1):
        rule(weights, gradient, states, step)
    return weights


def torchs(make, settings, weights, gradients, schedule=None):
    parameter = torch.nn.Parameter(torch.from_numpy(weights.copy()))
    optimizer = make([parameter], **settings)
    scheduler = schedule(optimizer) if schedule else None
    for gradient in gradients:
        parameter.grad = torch.from_numpy(gradient)
        optimizer.step()
        if scheduler:
            scheduler.step()
    return parameter.detach().numpy()


@pytest.mark.parametrize(
    ("rule", "make", "settings"), TORCHS, ids=[type(r).__name__ for r, _, _ in TORCHS]
)
def test_steps_are_those_of_torch(rule, make, settings):
    weights, gradients = numbers(0, 1)[0], numbers(1)
    gradients[3] = 0
    right = torchs(make, settings, weights, gradients)
    assert np.abs(right - weights).max() > 0.1
    np.testing.assert_allclose(ours(rule, weights, gradients), right, rtol=1e-12, atol=1e-14)


def test_a_rate_may_be_a_function_of_the_step_as_torchs_schedulers_are():
    def schedule(optimizer):
        linear = torch.optim.lr_scheduler.LinearLR
        return linear(optimizer, start_factor=0.01 / 0.3, total_iters=5)

    weights, gradients = numbers(0, 1)[0], numbers(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, of its schedulers
        right = torchs(torch.optim.SGD, {"lr": 0.3}, weights, gradients, schedule)
    np.testing.assert_allclose(ours(SGD(WARM), weights, gradients), right, rtol=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_every_rule_takes_a_rate_that_is_a_function_of_the_step(rule):
    weights, gradients = numbers(0, 1)[0], numbers(1)
    changing = type(rule)(**{**vars(rule), "rate": WARM})
    constant = type(rule)(**{**vars(rule), "rate": 0.3})
    assert not np.allclose(*(ours(it, weights, gradients) for it in (changing, constant)))


@each
def test_numpy_and_torch_take_the_same_steps_in_place_and_keep_their_dtype(rule):
    weights, gradients = numbers(2, 1)[0], numbers(3)
    mine = ours(rule, weights, gradients)
    tensors = ours(rule, torch.from_numpy(weights), torch.from_numpy(gradients))
    np.testing.assert_allclose(tensors.numpy(), mine, rtol=1e-12)
    half = ours(rule, weights.astype(np.float32), gradients.astype(np.float32))
    assert half.dtype == np.float32
    np.testing.assert_allclose(half, mine, rtol=1e-3, atol=1e-4)


@each
def test_an_element_wise_rule_may_be_cut_anywhere_and_others_say_why_not(rule):
    weights, gradients = numbers(4, 1)[0], numbers(5)
    cut = 11
    if rule.elementwise:
        parts = [ours(rule, weights[part], gradients[:, part])
                 for part in (slice(cut), slice(cut, None))]  # fmt: skip
        assert np.array_equal(np.concatenate(parts), ours(rule, weights, gradients))
    else:
        with pytest.raises(ValueError, match="give it the whole vector"):
            ours(rule, weights[:cut], gradients[:, :cut])


def lars_by_the_paper(layers, gradients, rate, momentum, decay, coefficient):
    """Algorithm 1 of You, Gitman and Ginsburg 2017, a list of layers and a plain loop."""
    moments = [torch.zeros_like(layer) for layer in layers]
    for step in gradients:
        for number, gradient in enumerate(step):
            w = layers[number]
            local = coefficient * w.norm() / (gradient.norm() + decay * w.norm())
            moments[number] = momentum * moments[number] + rate * local * (gradient + decay * w)
            layers[number] = w - moments[number]
    return torch.cat(layers).numpy()


def lamb_by_the_paper(layers, gradients, rate, decay, beta1=0.9, beta2=0.999, epsilon=1e-6):
    """Algorithm 2 of You et al. 2020."""
    m, v = ([torch.zeros_like(layer) for layer in layers] for _ in range(2))
    for t, step in enumerate(gradients, start=1):
        for number, gradient in enumerate(step):
            w = layers[number]
            m[number] = beta1 * m[number] + (1 - beta1) * gradient
            v[number] = beta2 * v[number] + (1 - beta2) * gradient**2
            ratio = m[number] / (1 - beta1**t) / ((v[number] / (1 - beta2**t)).sqrt() + epsilon)
            towards = ratio + decay * w
            layers[number] = w - rate * w.norm() / towards.norm() * towards
    return torch.cat(layers).numpy()


def in_layers(vector):
    return list(torch.from_numpy(vector.copy()).tensor_split(LAYERS[1:-1]))


@pytest.mark.parametrize(
    ("rule", "paper", "settings"),
    [
        (LARS(LAYERS, 0.5, 0.8, 0.05, 0.02), lars_by_the_paper, (0.5, 0.8, 0.05, 0.02)),
        (LAMB(LAYERS, 0.1, decay=0.05), lamb_by_the_paper, (0.1, 0.05)),
    ],
    ids=["LARS", "LAMB"],
)
def test_layer_wise_rates_are_those_of_the_papers(rule, paper, settings):
    weights, gradients = numbers(6, 1)[0], numbers(7)
    right = paper(in_layers(weights), [in_layers(g) for g in gradients], *settings)
    np.testing.assert_allclose(ours(rule, weights, gradients), right, rtol=1e-11)


@pytest.mark.parametrize("rule", [LARS(LAYERS, 0.5, coefficient=0.02), LAMB(LAYERS, 0.01)])
def test_every_layer_moves_by_the_same_share_of_its_length_however_large_gradients_are(rule):
    weights, (gradient,) = numbers(8, 1)[0], numbers(9, 1)
    weights[:30] *= 50
    weights[30:35] /= 50
    gradient[31:35] = 0  # a direction shorter than 1 is a direction
    gradient[35:] *= 1e4
    moved = ours(rule, weights, [gradient]) - weights
    shares = [np.linalg.norm(moved[a:b]) / np.linalg.norm(weights[a:b])
              for a, b in ((0, 30), (30, 35), (35, 47))]  # fmt: skip
    np.testing.assert_allclose(shares, 0.01, rtol=1e-4)


@pytest.mark.parametrize("rule", [LARS(LAYERS, 0.1), LAMB(LAYERS, 0.1)], ids=["LARS", "LAMB"])
def test_layers_of_zeros_do_not_stand_still_and_wrong_layers_are_refused(rule):
    weights, (gradient,) = np.zeros(SIZE), numbers(10, 1)
    gradient[:30] = 0
    moved = ours(rule, weights, [gradient])
    assert np.all(moved[:30] == 0)
    assert np.all(moved[30:] != 0)
    for layers in ((), (0,), (1, 5), (0, 5, 5)):
        with pytest.raises(ValueError, match="the size of the whole vector last"):
            type(rule)(layers)


@pytest.mark.parametrize("batch", [1, 7, 512])
def test_square_root_scaling_keeps_the_variance_of_an_update(batch):
    """It is rate^2 / batch."""
    assert square_root_scaling(0.1, batch, 64) ** 2 / batch == pytest.approx(0.01 / 64)


def test_rates_scale_with_the_batch():
    assert linear_scaling(0.1, 8192, 256) == pytest.approx(3.2)  # Goyal et al. 2017
    with pytest.raises(ValueError, match="in samples must be at least 1"):
        linear_scaling(0.1, 0, 256)
    with pytest.raises(ValueError, match="zero or more"):
        WarmUp(0.1, 1.0, steps=-1)
    assert WarmUp(0.1, 1.0, steps=0)(1) == 1.0
    assert np.allclose([WarmUp(1.0, 5.0, 4)(step) for step in range(1, 8)], [1, 2, 3, 4, 5, 5, 5])


def test_lars_does_not_notice_in_which_scale_layers_are_written():
    """A product of layers is the same function if one is stretched and the other one shrunk."""
    generator, cut, rule = np.random.default_rng(11), 6, LARS((0, 6, 12), 0.1, coefficient=1.0)
    inputs, answers = generator.standard_normal((20, 2)), generator.standard_normal((20, 2))
    start = generator.standard_normal(12)

    def product(vector):
        return vector[:cut].reshape(2, 3) @ vector[cut:].reshape(3, 2)

    def after(stretch):
        weights = start * np.repeat([stretch, 1 / stretch], cut)
        moments = [np.zeros(12)]
        for step in range(1, STEPS):
            slope = inputs.T @ (inputs @ product(weights) - answers)
            first = slope @ weights[cut:].reshape(3, 2).T
            second = weights[:cut].reshape(2, 3).T @ slope
            rule(weights, np.concatenate([first.ravel(), second.ravel()]), moments, step)
        return product(weights)

    np.testing.assert_allclose(after(8.0), after(1.0), rtol=1e-9)
    assert np.abs(after(1.0) - product(start)).max() > 0.1
