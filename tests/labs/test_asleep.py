"""Layers that sleep change the clock and nothing else."""

import numpy as np
import torch

from ddl_class.commands.program_file import import_file
from ddl_class.doctor.finding import ROOT
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.mlp import mlp

put_to_sleep = import_file(ROOT / "labs/3_scaling/program.py").put_to_sleep


def test_the_same_numbers_and_gradients_come_one_after_another():
    naps, events = [], []

    def work(seconds):
        naps.append(seconds)
        events.append("nap")

    awake, sleeping = mlp((6, 5, 4, 3)), put_to_sleep(mlp((6, 5, 4, 3)), work, 0.03)
    inputs, answers = torch.rand(7, 6), torch.arange(7) % 3
    for parameter in sleeping.parameters():
        parameter.register_post_accumulate_grad_hook(lambda _: events.append("gradient"))
    errors = [mean_loss(network(inputs), answers) for network in (awake, sleeping)]
    assert errors[0] == errors[1]
    assert events == ["nap"] * 3
    for error in errors:
        error.backward()
    pairs = zip(awake.parameters(), sleeping.parameters(), strict=True)
    assert all(torch.equal(one.grad, other.grad) for one, other in pairs)
    # Each layer's nap stands before its gradients, so that those of later layers can leave.
    assert events[3:] == ["nap", "gradient", "gradient"] * 3
    assert np.isclose(sum(naps), 7 * 0.03)
    assert np.isclose(sum(naps[3:]), 2 * sum(naps[:3]))
