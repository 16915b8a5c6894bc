"""A multi-layer perceptron over tensor-parallel ranks: its layers in pairs, columns then rows.

A sum forwards after each pair, a sum backwards before each: for the batch of N rows of d numbers
2 (P-1)/P N d numbers a rank; the wide middle of a pair never travels. A last layer without a
partner stays whole on every rank.
"""

from torch import nn

from ddl_teach.networks.partitions import Region
from ddl_teach.networks.tensor.linear import ColumnLinear, RowLinear


def split_pairs(network: nn.Sequential, region: Region) -> None:
    """Split the fully connected layers of a network in place, first with second, and so on.
    Between the two of a pair there may only be what works number by number, as a ReLU does."""
    layers = [name for name, child in network.named_children() if isinstance(child, nn.Linear)]
    for column, row in zip(layers[0::2], layers[1::2], strict=False):
        network.set_submodule(column, ColumnLinear(region, network.get_submodule(column)))
        network.set_submodule(row, RowLinear(region, network.get_submodule(row)))
    if len(layers) % 2:
        region.complete(network.get_submodule(layers[-1]).parameters())
