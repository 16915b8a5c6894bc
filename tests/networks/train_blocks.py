"""Training in four dimensions: layers split along x, y and z, and replicas of all of that.

Samples are dealt out along data and z, a sample's numbers along y. Scores are gathered before the
loss, which each rank takes of its samples. What to look at: no sum of gradients stands here. Those
along x, y and z belong to the layers, that along data hangs on the weights.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from ddl_teach.collectives.ring import allreduce
from ddl_teach.comm import Comm
from ddl_teach.networks import twin
from ddl_teach.networks.autograd_collectives import gather_out
from ddl_teach.networks.data_parallel.shards import own_part, weighted_loss
from ddl_teach.networks.loss_reduction import CheckedLoss
from ddl_teach.networks.models.descent import Descent
from ddl_teach.networks.models.loss import Batch, Loss, Optimizer, mean_loss
from ddl_teach.networks.shares import own_slice
from ddl_teach.networks.tensor.product_3d import product_axes, split_blocks
from ddl_teach.networks.tensor.split import full_parameters
from ddl_teach.theory.product_3d import ProductGrid


def train(
    comm: Comm, network: nn.Sequential, batches: Iterable[Batch], grid: ProductGrid, *,
    loss: Loss = mean_loss, optimizer: Optimizer = Descent,
) -> twin.Trained:  # fmt: skip
    """One step a batch, split in place; all ranks are given the whole network and whole batches.

    Samples are dealt out along data and z. The losses are those of whole batches.
    """
    axes = product_axes(comm, grid)
    network.to(comm.device)
    classes = [child for child in network if isinstance(child, nn.Linear)][-1].out_features
    at_end = split_blocks(network, axes)
    checked = CheckedLoss(loss, axes.data.size * axes.z.size)

    def mine(batch: Batch) -> Batch:
        return own_part(axes.z, own_part(axes.data, batch))

    def own_loss(part: Tensor, targets: Tensor) -> Tensor:
        scores, [_, right] = gather_out(at_end.y, part, 1, classes), mine((targets, targets))
        error = weighted_loss(checked, scores, right, targets.numel(), 1)
        checked.agree(comm)
        return error

    shared = [(mine((x, y))[0][:, own_slice(x.shape[1], axes.y)], y) for x, y in batches]
    losses = twin.train(network, shared, loss=own_loss, optimizer=optimizer).losses
    everybodys = torch.tensor(losses, dtype=torch.float64) / (axes.x.size * axes.y.size)
    allreduce(comm, everybodys)
    named = {}
    for name, block in full_parameters(network).items():
        layer = name.removesuffix("block")
        named[f"{layer}weight"], named[f"{layer}bias"] = block[:, :-1], block[:, -1]
    return twin.Trained(named, {}, everybodys.tolist())
