"""A network whose gradients vanish in float16: that they do, and that scaling brings them back."""

import numpy as np
import torch

from ddl_measure.experiments import precision


def in_float64(task):
    """The loss and the gradient, by autograd."""
    w0, w1, w2 = (
        torch.from_numpy(part).double().requires_grad_()
        for part in (
            task.weights[:48].reshape(2, 24),
            task.weights[48:624].reshape(24, 24),
            task.weights[624:].reshape(24, 1),
        )
    )
    x, y = torch.from_numpy(task.x).double(), torch.from_numpy(task.y)
    outputs = precision.MILLI * torch.tanh(torch.tanh(x @ w0) @ w1) @ w2
    loss = (outputs - y).square().mean()
    parts = torch.autograd.grad(loss, [w0, w1, w2])
    return loss.item(), torch.cat([part.flatten() for part in parts]).numpy()


def test_the_scaled_gradient_is_that_of_float64_and_the_plain_one_mostly_zero():
    task = precision.make_task()
    wanted_loss, wanted = in_float64(task)
    loss, scaled = precision.loss_and_gradient(task, task.weights, 2.0**20)
    assert np.isclose(loss, wanted_loss, rtol=1e-2)
    assert np.linalg.norm(scaled.astype(float) / 2.0**20 - wanted) <= 0.01 * np.linalg.norm(wanted)
    _, plain = precision.loss_and_gradient(task, task.weights, 1.0)
    assert np.mean(plain == 0) > 0.5 > np.mean(scaled == 0)


def test_only_with_a_scale_is_anything_learned_and_torchs_scaler_agrees():
    task, step = precision.make_task(), precision.scaled_step
    plain = precision.train(task, step, scale=1.0, interval=10**9, steps=150)
    ours = precision.train(task, step, scale=2.0**16, interval=10, steps=300)
    torchs_step = precision.torchs_step(task, interval=10)
    theirs = precision.train(task, torchs_step, scale=2.0**16, interval=10, steps=300)
    assert plain.losses[0] / plain.losses[-1] < 1.01
    assert ours.losses[0] / ours.losses[-1] > 4
    assert set(np.diff(np.log2(ours.scales))) <= {-1.0, 0.0, 1.0}
    assert ours.scales == theirs.scales
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-2, atol=1e-3)


def test_errors_and_bounds_of_all_ways():
    terms = [10, 100, 1000]
    errors = precision.sum_errors(precision.SUMS, terms)
    names = [name for name in precision.SUMS if name != "kahan"]
    bounds = precision.sum_bounds(names, terms)
    for name in names:
        assert (errors[name][1] <= bounds[name][1]).all()
    assert errors["in_order"][1][-1] > 3 * errors["kahan"][1][-1]
