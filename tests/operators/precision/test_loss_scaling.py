"""Loss scaling: beside torch's own, and what it saves a small network from."""

import math

import numpy as np
import pytest
import torch

from ddl_teach.networks.memory.keeping import Resident
from ddl_teach.operators.precision.loss_scaling import LossScale, static, unscale
from ddl_teach.training.optimizers.sgd import SGD

RATE, STEPS = 0.1, 5


def grad_scaler(**options):
    return torch.amp.GradScaler("cpu", init_scale=2.0**16, **options)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.sampled(4)
def test_the_scale_goes_the_way_of_torchs_scaler(seed):
    generator = np.random.default_rng(seed)
    interval = int(generator.integers(1, 5))
    theirs, ours = grad_scaler(growth_interval=interval), LossScale(interval=interval)
    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([parameter], lr=RATE)
    mine = parameter.detach().clone()
    for _ in range(200):
        gradient = torch.from_numpy(generator.standard_normal(3)).float()
        if generator.random() < 0.2:
            gradient[generator.integers(3)] = generator.choice([math.inf, -math.inf, math.nan])
        theirs.scale(torch.zeros(1))  # the scaler makes itself ready when it first scales
        parameter.grad = gradient.clone()
        theirs.step(optimizer)
        theirs.update()
        [unscaled], finite = unscale([gradient], ours.scale)
        if finite:
            mine -= RATE * unscaled
        ours = ours.after(finite)
        assert ours.scale == theirs.get_scale()
        assert ours.good_steps == theirs.state_dict()["_growth_tracker"]
        torch.testing.assert_close(mine, parameter.detach(), rtol=1e-5, atol=1e-5)


def test_the_scale_never_grows_to_infinity():
    scale = LossScale(2.0**127, interval=1)
    assert scale.after(True).scale == 2.0**127


def test_a_static_scale_stays():
    scale = static(128.0)
    for finite in (True, False, True, True):
        scale = scale.after(finite)
        assert scale.scale == 128.0


class Network(torch.nn.Module):
    """Two hidden layers and small outputs: what flows back through them is small, too."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(2, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32), torch.nn.Tanh(),
            torch.nn.Linear(32, 1),
        )  # fmt: skip
        with torch.no_grad():
            self.layers[-1].weight *= 1e-3
            self.layers[-1].bias.zero_()

    def forward(self, x):
        return self.layers(x)


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (512, 2))
    y = 1e-2 * np.sin(4 * x[:, :1]) * x[:, 1:]
    return torch.from_numpy(x).half(), torch.from_numpy(y).float()


def loss_of(network, data):
    x, y = data
    return (network(x).float() - y).square().mean()


def masters_of(network):
    return [parameter.detach().float() for parameter in network.parameters()]


def trained(data, scale, steps=STEPS):
    """A step as the module says it; keepers hold the float32 weights."""
    network = Network().half()
    parameters = list(network.parameters())
    keepers = [Resident(parameter.detach(), SGD(RATE)) for parameter in parameters]
    for _ in range(steps):
        loss = loss_of(network, data)
        scaled = torch.autograd.grad(loss * scale.scale, parameters)
        gradients, finite = unscale(scaled, scale.scale)
        if finite:
            for keeper, gradient in zip(keepers, gradients, strict=True):
                keeper.step(gradient)
        scale = scale.after(finite)
    return network, [keeper.states()[0] for keeper in keepers], scale


def test_without_scaling_gradients_vanish_and_with_it_they_are_those_of_float32(data):
    network = Network()
    wanted = torch.autograd.grad(loss_of(network, [one.float() for one in data]),
                                 list(network.parameters()))  # fmt: skip
    half = Network().half()
    parameters = list(half.parameters())
    plain = torch.autograd.grad(loss_of(half, data), parameters)
    assert not plain[0].any() and not plain[2].any()  # noqa: PT018  the layers below learn nothing
    scaled = torch.autograd.grad(loss_of(half, data) * 65_536, parameters)
    gradients, finite = unscale(scaled, 65_536)
    assert finite
    for one, other in zip(gradients, wanted, strict=True):
        assert (one - other).norm() <= 0.02 * other.norm()


@pytest.mark.parametrize(
    ("scale", "learns"),
    [(static(1.0), False), (static(65_536.0), True), (LossScale(), True)],
    ids=["no scale", "static", "dynamic"],
)
def test_lower_layers_learn_only_with_scaling(data, scale, learns):
    begun = masters_of(Network().half())
    _, masters, _ = trained(data, scale)
    assert torch.equal(masters[0], begun[0]) is not learns
    assert not torch.equal(masters[4], begun[4])


def test_a_scale_that_is_too_large_backs_off_and_nothing_is_spoilt(data):
    network, masters, scale = trained(data, LossScale(2.0**40), steps=30)
    assert scale.scale < 2.0**40
    assert all(master.isfinite().all() for master in masters)
    _, stuck, _ = trained(data, static(2.0**40))
    assert torch.equal(stuck[0], masters_of(Network().half())[0])  # every step was skipped
    for parameter, master in zip(network.parameters(), masters, strict=True):
        assert torch.equal(parameter, master.half())


def test_training_is_that_with_torchs_scaler(data):
    _, ours, scale = trained(data, LossScale(2.0**30, interval=7), steps=40)
    network = Network().half()
    masters = [torch.nn.Parameter(one) for one in masters_of(network)]
    optimizer = torch.optim.SGD(masters, lr=RATE)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**30, growth_interval=7)
    for _ in range(40):
        network.zero_grad()
        scaler.scale(loss_of(network, data)).backward()
        for master, parameter in zip(masters, network.parameters(), strict=True):
            master.grad = parameter.grad.float()
        scaler.step(optimizer)
        scaler.update()
        with torch.no_grad():
            for master, parameter in zip(masters, network.parameters(), strict=True):
                parameter.copy_(master)
    assert scaler.get_scale() == scale.scale
    for one, other in zip(ours, masters, strict=True):
        torch.testing.assert_close(one, other.detach(), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"scale": 0.0}, "scale must be above zero"), ({"scale": math.inf}, "scale must be"),
     ({"growth": 0.5}, "growth=0.5"), ({"backoff": 2.0}, "backoff=2.0"),
     ({"interval": 0}, "interval must be at least 1")],
)  # fmt: skip
def test_scales_that_cannot_be_are_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        LossScale(**wrong)
