"""What a layer split in three dimensions sends, in five terms.

Weights of k inputs and n outputs, m samples on a replica; ranks X x Y x Z x data. Inputs are cut
into Y, outputs into X, samples and the rows of each block of weights into Z parts. A rank sends,
in numbers,

    forwards    (Z-1)/Z      k n / (X Y)     all-gather of a block of weights, along z
                2 (Y-1)/Y    m n / (X Z)     all-reduce of the outputs, along y
    backwards   2 (X-1)/X    m k / (Y Z)     all-reduce of the inputs' gradient, along x
                (Z-1)/Z      k n / (X Y)     reduce-scatter of the weights' gradient, along z
                2 (D-1)/D    k n / (X Y Z)   all-reduce of what is left of it, along data

The first layer of a network needs no gradient of its inputs. In every other layer x and y change
places, so that outputs lie as the next inputs must. Singh, Singhania, Ranjan, Sating and Bhatele,
"A 4D hybrid algorithm to scale parallel training to thousands of GPUs", 2023, section V.
What to look at: Z alone is data parallelism with sharded weights, X and Y in turns are
Megatron-LM's pair; each term gets smaller along two of the other axes.
"""

from dataclasses import dataclass, replace

from ddl_teach.theory.inputs import count
from ddl_teach.theory.ring_bytes import allgather, allreduce, even, reduce_scatter


@dataclass(frozen=True)
class ProductGrid:
    """How many ranks there are along each axis; x runs fastest, so it sits closest together."""

    x: int = 1
    y: int = 1
    z: int = 1
    data: int = 1

    def __post_init__(self) -> None:
        for axis in ("x", "y", "z", "data"):
            count(axis, getattr(self, axis))

    @property
    def ranks(self) -> int:
        return self.x * self.y * self.z * self.data

    def place(self, rank: int) -> "ProductPlace":
        """The place of this rank in the grid."""
        rest, x = divmod(rank, self.x)
        rest, y = divmod(rest, self.y)
        data, z = divmod(rest, self.z)
        return ProductPlace(x, y, z, data)

    def turned(self) -> "ProductGrid":
        """The grid for the next layer, where x and y change places."""
        return replace(self, x=self.y, y=self.x)


@dataclass(frozen=True)
class ProductPlace:
    """A rank's coordinates."""

    x: int
    y: int
    z: int
    data: int

    def turned(self) -> "ProductPlace":
        """The place for the next layer, where x and y change places."""
        return replace(self, x=self.y, y=self.x)


@dataclass(frozen=True)
class ProductBytes:
    """What one rank sends for one layer in one step, by the five terms."""

    weights: int
    outputs: int
    inputs: int
    gradients: int
    average: int

    @property
    def total(self) -> int:
        return self.weights + self.outputs + self.inputs + self.gradients + self.average


def layer_bytes(
    grid: ProductGrid, place: ProductPlace, *, rows: int, inputs: int, outputs: int,
    itemsize: int, first: bool = False,
) -> ProductBytes:  # fmt: skip
    """One layer with a bias, for `rows` samples on all replicas, to the byte."""
    own_rows = even(even(rows, grid.data)[place.data], grid.z)[place.z]
    own_inputs, own_outputs = even(inputs, grid.y)[place.y], even(outputs, grid.x)[place.x]
    # The bias is one more column of the block.
    shares = [part * (own_inputs + 1) for part in even(own_outputs, grid.z)]
    summed_outputs = allreduce(own_rows * own_outputs, grid.y, place.y, itemsize)
    summed_inputs = allreduce(own_rows * own_inputs, grid.x, place.x, itemsize)
    return ProductBytes(
        weights=allgather(shares, place.z, itemsize),
        outputs=summed_outputs,
        inputs=0 if first else summed_inputs,
        gradients=reduce_scatter(shares, place.z, itemsize),
        average=allreduce(shares[place.z], grid.data, place.data, itemsize),
    )
