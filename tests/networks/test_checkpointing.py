"""Checkpointing: the same gradients, and held and computed as the plan's formulas say."""

from functools import partial
from itertools import pairwise

import pytest
import torch
from torch import nn

from ddl_teach.networks.memory.checkpointing import measure, run
from ddl_teach.networks.memory.measured import Activations
from ddl_teach.networks.models import data
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.resnet import resnet
from ddl_teach.networks.models.seeds import seed_weights
from ddl_teach.theory import checkpointing as theory


def chain(sizes=(12, 30, 8, 8, 40, 4, 16, 16)):
    """Uneven layers that keep their input and their output, and nothing else."""
    layers = [
        nn.Sequential(nn.Linear(inputs, outputs), nn.Tanh()) for inputs, outputs in pairwise(sizes)
    ]
    model = nn.Sequential(*layers).double()
    seed_weights(model)
    return model


def go(model, x, plan, loss, there=()):
    """Gradients, bytes held at most besides what is `there`, and layers computed forward."""
    model.zero_grad()
    computed = []
    hooks = [layer.register_forward_hook(lambda *_: computed.append(1)) for layer in model]
    torch.manual_seed(3)
    with Activations([*model.parameters(), *model.buffers(), x, *there]) as saved:
        loss(model(x) if plan is None else run(model, x, plan)).backward()
    for hook in hooks:
        hook.remove()
    assert saved.held == 0  # everything was let go
    return [p.grad.clone() for p in model.parameters()], saved.most, len(computed)


def plans_for(costs):
    """Chen's, several of the cheapest, and those with the most and with the least kept."""
    layers = len(costs)
    everything = theory.peak(range(layers), costs)
    least = max(
        costs.kept(layer) + (costs.outputs[layer - 1] if layer else 0) for layer in range(layers)
    )
    rooms = {int(least + part * (everything - least)) for part in (0.1, 0.3, 0.5, 0.8, 1.0)}
    plans = [list(range(layers)), [list(range(layers))], theory.equal_stretches(layers)]
    for room in sorted(rooms):
        plan = theory.cheapest(costs, room)
        assert theory.peak(plan, costs) <= room
        plans.append(plan)
    return plans


def test_gradients_are_equal_and_bytes_are_the_formulas():
    model = chain()
    x = torch.randn(5, 12, generator=torch.Generator().manual_seed(1)).double()
    costs = measure(model, x)
    assert costs.outputs == tuple(5 * 8 * size for size in (30, 8, 8, 40, 4, 16, 16))
    assert set(costs.inside) == {0}
    wanted, most, _ = go(model, x, None, torch.sum)
    assert most == theory.peak(range(7), costs)
    peaks = set()
    for plan in plans_for(costs):
        gradients, most, computed = go(model, x, plan, torch.sum)
        assert all(map(torch.equal, gradients, wanted))
        assert most == theory.peak(plan, costs)
        assert computed == theory.seconds(plan, costs)
        peaks.add(most)
    assert len(peaks) > 3


@pytest.mark.parametrize("kind", ["gpt", "resnet"])
def test_real_networks_hold_no_more_than_the_formulas(kind):
    if kind == "gpt":
        model, (x, y) = gpt(width=8, heads=2, blocks=4, length=8), data.characters(8)
    else:
        model, (x, y) = resnet((4, 6), blocks=1), data.digits()
    model, x, y = model.double(), x[:6], y[:6]
    x = x if kind == "gpt" else x.double()
    costs = measure(model, x)
    loss = partial(mean_loss, targets=y)
    wanted, _, _ = go(model, x, None, loss)
    scores = model(x).detach().requires_grad_()
    with Activations([y]) as of_loss:
        loss(scores)
    for plan in plans_for(costs):
        gradients, most, computed = go(model, x, plan, loss, there=[y])
        assert all(map(torch.equal, gradients, wanted))
        assert most <= theory.peak(plan, costs) + of_loss.most
        assert computed == theory.seconds(plan, costs)


def test_dropout_draws_again_and_running_averages_move_once():
    def make():
        blocks = ((nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Dropout(0.5)) for _ in range(4))
        model = nn.Sequential(*(nn.Sequential(*block) for block in blocks))
        seed_weights(model)
        return model

    plain, forgetful = make(), make()
    x = torch.randn(9, 6)
    wanted, _, _ = go(plain, x, None, torch.sum)
    found, _, _ = go(forgetful, x, [[[0, 1], 2], 3], torch.sum)
    assert all(map(torch.equal, found, wanted))
    for mine, other in zip(forgetful.buffers(), plain.buffers(), strict=True):
        assert torch.equal(mine, other)


def test_what_comes_after_is_as_random_as_before():
    model, x = nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 3)), torch.ones(2, 3)
    torch.manual_seed(1)
    model(x).sum().backward()
    after = torch.rand(1)
    torch.manual_seed(1)
    run(model, x, [[0, 1]]).sum().backward()
    assert torch.rand(1) == after


def test_a_gradient_of_the_input_and_frozen_layers():
    model = chain((3, 4, 5))
    model[0].requires_grad_(False)
    x = torch.randn(2, 3).double().requires_grad_()
    [wanted] = torch.autograd.grad(model(x).sum(), x)
    run(model, x, [[0], [1]]).sum().backward()
    assert torch.equal(x.grad, wanted)
    assert model[0][0].weight.grad is None
    with pytest.raises(ValueError, match="0 to 1 once each"):
        run(model, x, [0])
