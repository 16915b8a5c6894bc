"""The sizes of a convolution: of the data, and how the kernel walks over them.

    output[n, o, p, q] = sum over c, i, j of  weight[o, c, i, j] * x[n, c, y, z]
                         with y = p * stride + i - padding and z = q * stride + j - padding

for c in o's own group of channels, and x = 0 outside. Every method computes exactly this sum (a
cross-correlation, as every framework's "convolution" is), in another order. A request that cannot
be met is refused here, before any memory is taken, by the name of the argument.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Self

from ddl_runtime.core.checks import whole_number

Pair = tuple[int, int]


@dataclass(frozen=True)
class Convolution:
    """The sizes of one convolution; `kernel`, `stride` and `padding` are (height, width)."""

    batch: int
    in_channels: int
    height: int
    width: int
    out_channels: int
    kernel: Pair = (3, 3)
    stride: Pair = (1, 1)
    padding: Pair = (0, 0)
    groups: int = 1

    def __post_init__(self) -> None:
        for name, least in (("kernel", 1), ("stride", 1), ("padding", 0)):
            object.__setattr__(self, name, pair(getattr(self, name), name, least))
        for name in ("batch", "in_channels", "height", "width", "out_channels", "groups"):
            whole_number(getattr(self, name), name, least=1)
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % self.groups:
                channels = f"{name}={getattr(self, name)}"
                raise ValueError(f"{channels} cannot be divided into groups={self.groups}")
        for axis, (name, size) in enumerate((("height", self.height), ("width", self.width))):
            padded = size + 2 * self.padding[axis]
            if self.kernel[axis] > padded:
                fit = f"the {name} is {size}, with padding {padded}"
                raise ValueError(f"kernel={self.kernel} does not fit: {fit}; pad more")

    @classmethod
    def of_shapes(
        cls,
        x_shape: Sequence[int],
        weight_shape: Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        groups: int = 1,
    ) -> Self:
        batch, in_channels, height, width = x_shape
        out_channels, per_group, *kernel = weight_shape
        walk = pair(kernel, "kernel", 1), pair(stride, "stride", 1), pair(padding, "padding", 0)
        problem = cls(batch, in_channels, height, width, out_channels, *walk, groups)
        if per_group != in_channels // groups:
            wanted = f"x's {in_channels} in groups={groups} it must have {in_channels // groups}"
            raise ValueError(f"weight has {per_group} input channels, but with {wanted}")
        return problem

    @property
    def padded(self) -> Pair:
        return self.height + 2 * self.padding[0], self.width + 2 * self.padding[1]

    @property
    def output_height(self) -> int:
        return (self.padded[0] - self.kernel[0]) // self.stride[0] + 1

    @property
    def output_width(self) -> int:
        return (self.padded[1] - self.kernel[1]) // self.stride[1] + 1

    @property
    def phases(self) -> Pair:
        """How many remainders by the stride the rows, and the columns, of the kernel have."""
        return min(self.kernel[0], self.stride[0]), min(self.kernel[1], self.stride[1])

    @property
    def at_stride_one(self) -> "Convolution":
        """The same sums as a convolution at stride one, whose channels are the phases of these."""
        if self.stride == (1, 1):
            return self
        (high, wide), (down, across) = self.kernel, self.stride
        kernel = -(-high // down), -(-wide // across)
        size = self.output_height + kernel[0] - 1, self.output_width + kernel[1] - 1
        channels = self.in_channels * prod(self.phases)
        sizes = (self.batch, channels, *size, self.out_channels, kernel)
        return Convolution(*sizes, groups=self.groups)

    @property
    def x_shape(self) -> tuple[int, int, int, int]:
        return self.batch, self.in_channels, self.height, self.width

    @property
    def weight_shape(self) -> tuple[int, int, int, int]:
        return self.out_channels, self.in_channels // self.groups, *self.kernel

    @property
    def output_shape(self) -> tuple[int, int, int, int]:
        return self.batch, self.out_channels, self.output_height, self.output_width


def pair(value: int | Sequence[int], name: str, least: int) -> Pair:
    """One number for both axes, or one for the height and one for the width."""
    both = (value, value) if isinstance(value, int) else value
    if not isinstance(both, Sequence) or isinstance(both, str) or len(both) != 2:
        raise ValueError(f"{name}={value!r} must be a number or a pair (height, width)")
    return whole_number(both[0], name, least), whole_number(both[1], name, least)
