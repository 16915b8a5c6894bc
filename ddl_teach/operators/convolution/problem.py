"""Which convolutions the methods compute, of torch's tensors and of torch's settings.

Sizes are checked in `theory.convolution_sizes`; here types, devices and what torch allows besides.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ddl_teach.theory.convolution_sizes import Convolution, pair

__all__ = ["DTYPES", "Convolution", "border", "refused_by_all", "sizes_of"]

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def sizes_of(x: Tensor, weight: Tensor, *walk: Any, **named: Any) -> Convolution:
    """The convolution of these two tensors, or an error that names the argument at fault; all
    else is given as to `Convolution.of_shapes`."""
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
    return Convolution.of_shapes(x.shape, weight.shape, *walk, **named)


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
