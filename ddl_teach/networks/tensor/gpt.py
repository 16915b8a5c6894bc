"""A GPT over tensor-parallel ranks, and if wanted sequence-parallel between the split layers.

A block has two sums forwards and two backwards, each over all activations between two layers; so
has what stands around the blocks, one after the embedding forwards, one before the scores
backwards (`theory.split_layers.gpt_step`). With `sequence` the norms and sums of residuals hold
1/P of the sequence. Shoeybi et al., "Megatron-LM", 2019; Korthikanti et al. 2022.
"""

from collections.abc import Callable, Iterable
from functools import partial

from torch import Tensor, nn

from ddl_teach.comm import Comm
from ddl_teach.networks import twin
from ddl_teach.networks.models.gpt import Block, Embedding
from ddl_teach.networks.models.loss import Batch
from ddl_teach.networks.partitions import Parted, Region, Replicated
from ddl_teach.networks.shares import own_slice
from ddl_teach.networks.tensor.attention import HeadsAttention
from ddl_teach.networks.tensor.linear import ColumnLinear, RowLinear
from ddl_teach.networks.tensor.split import full_parameters
from ddl_teach.networks.tensor.vocabulary import VocabularyEmbedding, vocabulary_loss

SEQUENCE = -2  # the axis of positions, in (batch, positions, width) and in (positions, width)


def split_gpt(
    network: nn.Sequential, comm: Comm, *, sequence: bool = False
) -> Callable[[Tensor, Tensor], Tensor]:
    """Split a whole `gpt` in place; returns the loss to train it with, as its scores are split."""
    words = network.head.out_features
    tied = network.head.weight is network.embedding.words.weight
    length = network.embedding.places.num_embeddings
    region = Parted(comm, SEQUENCE, length) if sequence else Replicated(comm)
    for name, child in network.named_children():
        network.set_submodule(name, split_gpt_child(child, region))
    if tied:
        network.head.weight = network.embedding.words.weight
    return partial(vocabulary_loss, comm, words)


def train_split(
    comm: Comm, network: nn.Sequential, batches: Iterable[Batch], sequence: bool = False
) -> dict[str, Tensor]:
    """Split a whole `gpt`, train it, and return all parameters, whole."""
    loss = split_gpt(network.to(comm.device), comm, sequence=sequence)
    twin.train(network, batches, loss=loss)
    return full_parameters(network)


def split_gpt_child(child: nn.Module, region: Region) -> nn.Module:
    """One child of a `gpt` split over the region's ranks: changed in place, or its replacement."""
    if isinstance(child, Embedding):
        child.words = VocabularyEmbedding(region, child.words)
        if isinstance(region, Parted):
            child.positions = child.positions[own_slice(region.total, region.comm)]
        region.complete(child.places.parameters())
    elif isinstance(child, Block):
        child.attention = HeadsAttention(region, child.attention)
        child.wide = ColumnLinear(region, child.wide)
        child.narrow = RowLinear(region, child.narrow)
        region.complete([*child.norm1.parameters(), *child.norm2.parameters()])
    elif isinstance(child, nn.LayerNorm):
        region.complete(child.parameters())
    elif isinstance(child, nn.Linear):
        return ColumnLinear(region, child)
    else:
        raise TypeError(f"a {type(child).__name__} is no part of a gpt")
    return child
