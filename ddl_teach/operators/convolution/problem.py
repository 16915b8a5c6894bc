"""What a convolution is asked to do: the sizes of the data, and how the kernel walks over them.

    output[n, o, p, q] = sum over c, i, j of  weight[o, c, i, j] * x[n, c, y, z]
                         with y = p * stride + i - padding and z = q * stride + j - padding

for c in o's own group of channels, and x = 0 outside. Every method here computes exactly this sum
(a cross-correlation, as every framework's "convolution" is), in another order. A request that
cannot be met is refused here, before any memory is taken, by the name of the argument.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from ddl_runtime.core.checks import whole_number

Pair = tuple[int, int]

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


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
    def of(cls, x: Tensor, weight: Tensor, *walk: Any, **named: Any) -> Self:
        """The convolution of these two tensors, or an error that names the argument at fault; all
        else is given as to `of_shapes`."""
        for name, tensor, axes in (
            ("x", x, "(batch, in_channels, height, width)"),
            ("weight", weight, "(out_channels, in_channels / groups, height, width)"),
        ):
            if not isinstance(tensor, Tensor):
                raise TypeError(f"{name} is a {type(tensor).__name__}; it must be a torch tensor")
            if tensor.dim() != 4:
                shape = f"{name} has shape {tuple(tensor.shape)}"
                raise ValueError(f"{shape}; it must have 4 axes: {axes}")
            if tensor.dtype not in DTYPES:
                names = ", ".join(str(dtype).removeprefix("torch.") for dtype in DTYPES)
                raise TypeError(f"{name} is of {tensor.dtype}; it must be one of {names}")
        if weight.dtype != x.dtype:
            raise TypeError(f"weight is of {weight.dtype} but x of {x.dtype}: convert one of them")
        if weight.device != x.device:
            raise ValueError(f"weight is on {weight.device} but x on {x.device}: move one of them")
        return cls.of_shapes(x.shape, weight.shape, *walk, **named)

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
        problem = cls(
            batch, in_channels, height, width, out_channels, tuple(kernel), stride, padding, groups
        )  # fmt: skip
        if per_group != in_channels // groups:
            wanted = f"x's {in_channels} in groups={groups} it must have {in_channels // groups}"
            raise ValueError(f"weight has {per_group} input channels; with {wanted}")
        return problem

    @property
    def walk(self) -> dict[str, Any]:
        return {"stride": self.stride, "padding": self.padding, "groups": self.groups}

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
    def x_shape(self) -> tuple[int, int, int, int]:
        return self.batch, self.in_channels, self.height, self.width

    @property
    def weight_shape(self) -> tuple[int, int, int, int]:
        return self.out_channels, self.in_channels // self.groups, *self.kernel

    @property
    def output_shape(self) -> tuple[int, int, int, int]:
        return self.batch, self.out_channels, self.output_height, self.output_width


def refused_by_all(
    dilation: Any, padding_mode: str, padding: Any, kernel: Sequence[int] | None
) -> str:
    """Why none of the methods computes such a convolution of torch's, or nothing."""
    if pair(dilation, "dilation", 1) != (1, 1):
        return f"{dilation=}, and none of the methods leaves gaps in its kernel"
    if padding_mode != "zeros":
        return f"{padding_mode=}, and the methods pad with zeros only"
    if padding == "same" and not (kernel and all(size % 2 for size in kernel)):
        return "padding='same' is not the same on both sides, or its kernel is not known"
    return ""


def border(padding: Any, kernel: Sequence[int] | None) -> Any:
    """The padding in numbers, where torch allows the words "valid" and "same" too."""
    if not isinstance(padding, str):
        return padding
    return tuple(size // 2 for size in kernel) if kernel and padding == "same" else 0


def pair(value: int | Sequence[int], name: str, least: int) -> Pair:
    """One number for both axes, or one for the height and one for the width."""
    both = (value, value) if isinstance(value, int) else value
    if not isinstance(both, Sequence) or isinstance(both, str) or len(both) != 2:
        raise ValueError(f"{name}={value!r} must be a number or a pair (height, width)")
    return whole_number(both[0], name, least), whole_number(both[1], name, least)
