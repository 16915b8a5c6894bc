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
from ddl_teach.networks.autograd_collectives import gather_out
from ddl_teach.networks.data_parallel.shards import own_part, weighted_loss
from ddl_teach.networks.loss_reduction import CheckedLoss
from ddl_teach.networks.models.descent import Descent
from ddl_teach.networks.models.loss import Batch, Loss, Optimizer, beside, mean_loss
from ddl_teach.networks.shares import own_slice
from ddl_teach.networks.tensor.product_3d import product_axes, split_blocks
from ddl_teach.networks.tensor.split import full_parameters
from ddl_teach.networks.twin import Trained
from ddl_teach.theory.product_3d import ProductGrid


def train(
    comm: Comm, network: nn.Sequential, batches: Iterable[Batch], grid: ProductGrid, *,
    loss: Loss = mean_loss, optimizer: Optimizer = Descent,
) -> Trained:  # fmt: skip
    """One step a batch, split in place; all ranks are given the whole network and whole batches.

    Samples are dealt out along data and z. The losses are those of whole batches.
    """
    axes = product_axes(comm, grid)
    network.to(comm.device)
    classes = [child for child in network if isinstance(child, nn.Linear)][-1].out_features
    at_end = split_blocks(network, axes)
    checked = CheckedLoss(loss, axes.data.size * axes.z.size)
    steps = optimizer(network.parameters())
    losses = []
    for inputs, targets in batches:
        steps.zero_grad()
        mine = own_part(axes.z, own_part(axes.data, (inputs, targets)))
        some, right = beside(network, mine)
        own = some[:, own_slice(inputs.shape[1], axes.y)]
        scores = gather_out(at_end.y, network(own), 1, classes)
        error = weighted_loss(checked, scores, right, targets.numel(), 1)
        checked.agree(comm)
        error.backward()
        steps.step()
        losses.append(error.item())
    everybodys = torch.tensor(losses, dtype=torch.float64) / (axes.x.size * axes.y.size)
    allreduce(comm, everybodys)
    return Trained(weights_and_biases(full_parameters(network)), {}, everybodys.tolist())


def weights_and_biases(blocks: dict[str, Tensor]) -> dict[str, Tensor]:
    """Whole parameters under the names that the whole network gives them."""
    named = {}
    for name, block in blocks.items():
        layer = name.removesuffix("block")
        named[f"{layer}weight"], named[f"{layer}bias"] = block[:, :-1], block[:, -1]
    return named
