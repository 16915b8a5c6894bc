"""Fully connected layers split in three dimensions, and data parallelism as the fourth.

    y = x W^T      inputs cut along y, outputs along x; samples and each block's rows along z

    forward     gather the block of W along z, multiply, sum the product along y
    backward    gradient of x: multiply, sum along x; of W: multiply, reduce-scatter along z

A rank keeps 1 / (X Y Z) of the weights and of no activation more than 1 / (Z max(X, Y)). In every
other layer x and y change places: the outputs of one lie as the inputs of the next must. The five
sums are those of `theory.product_3d`. Singh, Singhania, Ranjan, Sating and Bhatele, "A 4D hybrid
algorithm to scale parallel training to thousands of GPUs", 2023; the product itself is that of
Agarwal et al., 1995.
What to look at: nothing here is new but the arrangement. Each operator of `autograd_collectives`
does the right sum backwards by itself.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from ddl_teach.comm import Comm
from ddl_teach.networks.autograd_collectives import copy_in, gather_in, sum_out
from ddl_teach.networks.axis_collectives import all_gather
from ddl_teach.networks.both_ways import sum_gradients
from ddl_teach.networks.shares import own_slice
from ddl_teach.networks.tensor.split import SplitModule
from ddl_teach.theory.product_3d import ProductGrid


@dataclass(frozen=True)
class ProductAxes:
    """The communicators of this rank's row of the grid along each axis."""

    x: Comm
    y: Comm
    z: Comm
    data: Comm

    def turned(self) -> "ProductAxes":
        """The axes for the next layer, where x and y change places."""
        return ProductAxes(self.y, self.x, self.z, self.data)


def product_axes(comm: Comm, grid: ProductGrid) -> ProductAxes:
    """Arrange the ranks of `comm` in a grid. All of them must call it."""
    if comm.size != grid.ranks:
        raise ValueError(f"{grid} has {grid.ranks} ranks, but there are {comm.size}")
    axes, stride = {}, 1
    for axis, place in vars(grid.place(comm.rank)).items():
        # Those of one group differ along this axis alone; the first of them names it.
        axes[axis] = comm.split(comm.rank - place * stride, comm.rank)
        stride *= getattr(grid, axis)
    return ProductAxes(**axes)


class BlockLinear(SplitModule):
    """A layer of which this rank keeps some rows of a block: those of its place along z."""

    def __init__(self, axes: ProductAxes, whole: nn.Linear) -> None:
        super().__init__(axes.z)
        self.axes, self.shape = axes, (whole.out_features, whole.in_features)
        if whole.bias is None:
            raise ValueError("a layer without a bias cannot be split here: give it one of zeros")
        parts = axes.x.size * axes.z.size
        if whole.out_features < parts or whole.in_features < axes.y.size:
            raise ValueError(
                f"{whole.out_features} outputs and {whole.in_features} inputs cannot be cut into "
                f"{parts} (along x and z) and {axes.y.size} parts (along y): each rank needs one"
            )
        rows = own_slice(whole.out_features, axes.x)
        columns = own_slice(whole.in_features, axes.y)
        block = torch.cat([whole.weight[rows, columns], whole.bias[rows, None]], 1).detach()
        self.rows = len(block)
        self.block = nn.Parameter(block[own_slice(self.rows, axes.z)].clone())

    def forward(self, x: Tensor) -> Tensor:
        """This rank's outputs for its samples, from its part of the inputs."""
        block = gather_in(self.axes.z, self.block, 0, self.rows)
        product = linear(copy_in(self.axes.x, x), block[:, :-1])
        return sum_out(self.axes.y, product) + block[:, -1]

    def full(self, name: str) -> Tensor:
        """The whole layer, its bias as the last column, on every rank."""
        block = all_gather(self.axes.z, self.block.detach(), 0, self.rows)
        weight = all_gather(self.axes.y, block[:, :-1].contiguous(), 1, self.shape[1])
        return all_gather(self.axes.x, torch.cat([weight, block[:, -1:]], 1), 0, self.shape[0])


def split_blocks(network: nn.Sequential, axes: ProductAxes) -> ProductAxes:
    """Split all fully connected layers in place; the axes as its scores lie in them.

    Between them there may only be what works number by number, as a ReLU does.
    """
    for name, child in list(network.named_children()):
        if isinstance(child, nn.Linear):
            network.set_submodule(name, layer := BlockLinear(axes, child))
            sum_gradients(axes.data, [layer.block])
            axes = axes.turned()
    return axes
