"""A backward pass fails, then one goes in pieces: it sends nothing, and no gradient is lost."""

import pytest
import torch
from torch import nn

from ddl_teach import simulate
from ddl_teach.networks.any_module.wrap import wrap


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
