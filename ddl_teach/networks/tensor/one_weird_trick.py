"""AlexNet's split: convolutions by data, classifier by neurons.

The convolutions do nearly all the work: every rank has them whole and takes 1/P of the images, and
the gradients are summed. The classifier holds nearly all weights: split by neurons they never
travel, but each rank needs the activations of all images, a region parted along the batch. For a
batch of B images, W_c weights of convolutions and features of f numbers

    2 (P-1)/P (W_c + B (f + what the classifier's layers hand on))    instead of    2 (P-1)/P W

numbers a rank and step. Krizhevsky, "One weird trick for parallelizing convolutional neural
networks", 2014, its scheme (a): all images at once. What to look at: the loss is that of the whole
batch, on every rank, so gradients of convolutions are summed, not averaged.
"""

from collections.abc import Callable, Sequence
from functools import partial

from torch import Tensor, nn

from ddl_teach.comm import Comm
from ddl_teach.networks import twin
from ddl_teach.networks.models.loss import Batch
from ddl_teach.networks.partitions import Parted
from ddl_teach.networks.shares import own_slice
from ddl_teach.networks.tensor.linear import ColumnLinear
from ddl_teach.networks.tensor.mlp import split_pairs
from ddl_teach.networks.tensor.split import full_parameters
from ddl_teach.networks.tensor.vocabulary import vocabulary_loss


def split_alexnet(
    network: nn.Sequential, comm: Comm, batch: int
) -> Callable[[Tensor, Tensor], Tensor]:
    """Split a whole network of convolutions and three fully connected layers in place. Give each
    rank its share of the `batch` images, and all answers: the loss returned is the batch's."""
    images = Parted(comm, 0, batch)
    linears = [
        (name, layer) for name, layer in network.named_children() if isinstance(layer, nn.Linear)
    ]
    if len(linears) != 3:
        raise ValueError(f"the network has {len(linears)} fully connected layers, AlexNet three")
    for child in network.children():
        if not isinstance(child, nn.Linear):
            images.complete(child.parameters())
    split_pairs(network, images)
    name, scores = linears[-1]
    network.set_submodule(name, ColumnLinear(images, scores))
    return partial(vocabulary_loss, comm, scores.out_features)


def train(
    comm: Comm, network: nn.Sequential, batches: Sequence[Batch]
) -> tuple[int, dict[str, Tensor]]:
    """Split a network and train it on whole batches, of which each rank takes its images. Returns
    the bytes that this rank sent in a step, and all parameters, whole."""
    if not batches:
        raise ValueError("train: there is no batch, so nothing was sent: give at least one batch")
    network.to(comm.device)
    batch = len(batches[0][0])
    loss, own = split_alexnet(network, comm, batch), own_slice(batch, comm)
    twin.train(network, [(x[own], y) for x, y in batches], loss=loss)
    return comm.ledger.bytes_sent // len(batches), full_parameters(network)
