"""When the gradients of a wrapped module's units travel: as early as they may, and not before."""

import pytest
import torch
from torch import nn

from ddl_teach import simulate
from ddl_teach.networks.any_module.wrap import wrap


def before_the_first_layers_gradient(comm, stage):
    """The bytes that the second layer's gradients have taken by then."""
    torch.manual_seed(0)
    parallel = wrap(comm, nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).double(), stage=stage)
    scores, sent = parallel(torch.ones(2, 4).double()), []
    parallel.module[0].weight.register_hook(lambda _: sent.append(comm.ledger.bytes_sent))
    before = comm.ledger.bytes_sent
    scores.sum().backward()
    return sent[0] - before


@pytest.mark.parametrize(("stage", "sent"), [(1, 0), (2, 5 * 8)])
def test_in_stage_2_a_layers_gradients_travel_before_those_of_earlier_layers(stage, sent):
    """Of ten numbers, four for each of two outputs and two biases, a rank sends half."""
    run = simulate(before_the_first_layers_gradient, 2, stage=stage, threads=True)
    assert run.results == [sent] * 2


class Scaled(nn.Module):
    """A unit, and a factor that is of no unit."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 2)
        self.factor = nn.Parameter(torch.ones(()))

    def forward(self, x):
        return self.factor * self.inner(x)


def send_the_rest(comm):
    """Wait until what travels in the background has come."""
    comm.barrier()
    comm.work(seconds=1.0)
    comm.barrier()


def fails_before_a_batch_in_pieces(comm, stage):
    """The pass after the broken one is a quiet one. What it sends, and the norm in the end."""
    torch.manual_seed(0)
    parallel = wrap(comm, Scaled().double(), stage=stage, rest_whole=True)
    x = torch.ones(2, 4).double()
    hook = parallel.module.inner.weight.register_hook(lambda gradient: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        parallel(x).sum().backward()
    hook.remove()
    parallel.zero_grad()
    parallel.module.zero_grad()
    send_the_rest(comm)
    with parallel.no_sync():
        before = comm.ledger.bytes_sent
        parallel(x).sum().backward()
    send_the_rest(comm)
    quiet = comm.ledger.bytes_sent - before
    parallel(x).sum().backward()
    return quiet, parallel.clip(1e9)


@pytest.mark.parametrize("stage", [1, 2])
def test_after_an_error_a_quiet_pass_sends_nothing(stage):
    run = simulate(fails_before_a_batch_in_pieces, 2, stage=stage, threads=True)
    torch.manual_seed(0)
    model = Scaled().double()
    (2 * model(torch.ones(2, 4).double()).sum()).backward()
    right = nn.utils.clip_grad_norm_(model.parameters(), 1e9).item()
    assert run.results == [(0, pytest.approx(right, rel=1e-12))] * 2
