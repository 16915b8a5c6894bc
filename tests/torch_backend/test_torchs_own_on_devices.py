"""torch's FSDP2 and its pipelines over our messages, with tensors on a device: as one process."""

from copy import deepcopy

import pytest
import torch
from places import TENSORS

from benchmarks.gpu import torchs_own
from benchmarks.pipelines import meet
from ddl_class.notebook.device_places import tensors
from ddl_measure.device_run import GPU, STAND_IN
from ddl_teach.networks.models.descent import Descent
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.mlp import mlp

pytest.importorskip("ddl_runtime.devices.stand_in_torch", exc_type=ImportError)
DEVICES = {"standin": STAND_IN, "cuda": GPU}
STEPS, MICRO_BATCHES = 2, 4


def group_of(comm, device, folder):
    meet(comm, folder)
    comm.device = tensors(device)[0]
    return torchs_own.groups(comm, device)["our messages"]


def alone(network, batch, optimizer):
    for _ in range(STEPS):
        optimizer.zero_grad()
        mean_loss(network(batch[0]), batch[1]).backward()
        optimizer.step()


def apart(mine, right):
    return max((own.cpu() - its).abs().max().item() for own, its in zip(mine, right, strict=True))


def sharded(comm, device, folder):
    """How far this rank's parts of the weights are from those of one process, and from before."""
    group = group_of(comm, device, folder)
    torch.manual_seed(0)
    network = gpt(width=16, heads=2, blocks=2, length=16).double()
    texts = torch.randint(20, (2, 17))
    batch = [part.contiguous() for part in (texts[:, :-1], texts[:, 1:])]
    twin, before = deepcopy(network), [weight.clone() for weight in network.parameters()]
    alone(twin, batch, torch.optim.Adam(twin.parameters(), 1e-4))
    network.to(comm.device)
    step = torchs_own.sharded(network, group, device, [part.to(comm.device) for part in batch])
    for _ in range(STEPS):
        step()
    mine = [weight.to_local().detach() for weight in network.parameters()]
    right, old = (
        [weight.detach().chunk(comm.size)[comm.rank] for weight in weights]
        for weights in (twin.parameters(), before)
    )
    return apart(mine, right), apart(mine, old)


@pytest.mark.parametrize("where", TENSORS)
def test_fsdp_on_a_device_makes_the_step_of_one_process(real, where, tmp_path):
    given = {"device": DEVICES[where], "folder": str(tmp_path)}
    for wrong, moved in real(sharded, 2, **given, timeout=120).results:
        assert wrong < 1e-7 < moved


def pipelined(comm, device, folder, name):
    """The same of this rank's layers."""
    group = group_of(comm, device, folder)
    torch.manual_seed(0)
    network, x, y = mlp((16, 32, 32, 10)), torch.randn(8, 16), torch.randint(10, (8,))
    twin = deepcopy(network)
    alone(twin, (x, y), Descent([*twin.parameters()], 0.01))
    cut = slice(0, 2) if comm.rank == 0 else slice(2, None)
    layers, batch = network[cut].to(comm.device), (x.to(comm.device), y.to(comm.device))
    given = comm, name, group, device, layers, batch, MICRO_BATCHES
    own, step = torchs_own.pipelined(*given)
    for _ in range(STEPS):
        step()
    old = [weight.detach().cpu() for weight in layers.parameters()]
    mine = [weight.detach() for weight in own.parameters()]
    return apart(mine, [*map(torch.Tensor.detach, twin[cut].parameters())]), apart(mine, old)


@pytest.mark.parametrize("where", TENSORS)
@pytest.mark.parametrize("name", torchs_own.SCHEDULES)
def test_torchs_schedules_on_a_device_make_the_step_of_one_process(real, name, where, tmp_path):
    given = {"device": DEVICES[where], "folder": str(tmp_path), "name": name}
    for wrong, moved in real(pipelined, 2, **given, timeout=120).results:
        assert wrong < 1e-5 < moved
