"""PyTorch's own sharding beside ours: fully_shard over gloo against stage 3."""

import numpy as np
import torch

from ddl_class.notebook import gloo
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.memory.sharded_parameters import ShardedParameters
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.training.optimizers.momentum import Momentum


def both_gradients(comm, x, y):
    """The largest difference of the own gradients, and the bytes of weights that each holds."""
    from torch.distributed import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    torch.set_num_threads(1)
    gloo.allreduce(comm, np.zeros(1))  # here torch's ranks meet
    rows = slice(len(x) * comm.rank // comm.size, len(x) * (comm.rank + 1) // comm.size)
    theirs, mesh = mlp((64, 32, 10)).double(), init_device_mesh("cpu", (comm.size,))
    for child in (theirs.linear1, theirs.linear2, theirs):
        fully_shard(child, mesh=mesh)
    mean_loss(theirs(x[rows]), y[rows]).backward()
    whole = {name: p.grad.full_tensor() for name, p in theirs.named_parameters()}
    ours = ShardedParameters(comm, mlp((64, 32, 10)).double(), resident(Momentum()))
    (mean_loss(ours(x[rows]), y[rows]) / comm.size).backward()
    difference = 0.0
    for name, gradient in ours.gradients.items():
        flat = torch.cat([whole[f"{name}.{part}"].reshape(-1) for part in ("weight", "bias")])
        own = flat[len(flat) * comm.rank // comm.size : len(flat) * (comm.rank + 1) // comm.size]
        difference = max(difference, (own - gradient).abs().max().item())
    theirs_held = sum(p.to_local().nbytes for p in theirs.parameters())
    return difference, theirs_held, sum(own.nbytes for own in ours.own.values())


def test_fully_sharded_gradients_and_bytes_are_torchs(real):
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(12, 64, generator=generator).double()
    y = torch.randint(10, (12,), generator=generator)
    # torch loads its compiler before it shards anything: that alone can take a minute.
    for difference, theirs, ours in real(both_gradients, 2, x=x, y=y, timeout=250).results:
        assert difference < 1e-12
        assert theirs == ours  # two ranks divide every shape of this network
