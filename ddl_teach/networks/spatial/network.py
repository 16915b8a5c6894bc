"""A network on tiles: windows reach into the neighbours' tiles, all else runs as it did.

Convolutions and poolings get a halo in place of their padding. Where the image ends, at a Flatten
or a pooling of everything, the tiles are put together, and then every rank does the same. Each
rank has seen a part of each image, so gradients of the weights are summed. Bytes, and which
strides and paddings: `theory.halo`. Dryden et al. 2019. Layers and names of parameters stay.
"""

import copy
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from ddl_teach.networks.autograd_collectives import gather_out
from ddl_teach.networks.both_ways import sum_gradients
from ddl_teach.networks.spatial.halo import with_halo
from ddl_teach.networks.spatial.overlapped import WindowReach, overlapped
from ddl_teach.networks.spatial.tiles import Tiles
from ddl_teach.theory.halo import halo

WINDOWS = (nn.Conv2d, nn.MaxPool2d, nn.AvgPool2d)
ENDS = (nn.Flatten, nn.AdaptiveAvgPool2d)
POINT_BY_POINT = (
    nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.SiLU, nn.Identity, nn.Sequential,
)  # fmt: skip


def split_images(
    network: nn.Sequential, tiles: Tiles, image: tuple[int, int, int], *, overlap: bool = False
) -> Callable[[Tensor], Tensor]:
    """Change a whole network in place so that each rank runs it on its tile of an `image`
    (channels, height, width); with `overlap` layers compute what needs no neighbour meanwhile.
    Returns what cuts a rank's tile out of a batch of images."""
    end = next((k for k, layer in enumerate(network) if isinstance(layer, ENDS)), None)
    if end is None:
        raise ValueError("tiles are put together before a Flatten or AdaptiveAvgPool2d: add one")
    on_tiles = network[:end]
    # On the meta device only shapes are computed.
    whole = copy.deepcopy(on_tiles).to("meta", torch.float32)
    units = tuple(whole(torch.empty(1, *image, device="meta")).shape[2:])
    for name, layer in on_tiles.named_modules():
        _check(name, layer)
        if isinstance(layer, WINDOWS):
            split_windows(layer, tiles, overlap=overlap)
    sum_gradients(tiles.everybody, on_tiles.parameters())
    network[end].register_forward_pre_hook(lambda _, x: put_together(tiles, x[0], units))
    return lambda images: tiles.cut(images, units)


def split_windows(layer: nn.Module, tiles: Tiles, *, overlap: bool = False) -> None:
    """Let a convolution or a pooling get its border from the neighbours' tiles, in place."""
    defaults = {"kernel_size": 1, "stride": 1, "padding": 0, "dilation": 1}
    kernel, stride, padding, dilation = (
        _pair(getattr(layer, name, default), name) for name, default in defaults.items()
    )
    reach = [spread * (size - 1) + 1 for size, spread in zip(kernel, dilation, strict=True)]
    rows, columns = map(halo, reach, stride, padding)
    fill = -torch.inf if isinstance(layer, nn.MaxPool2d) else 0.0

    def check(_: nn.Module, arguments: tuple[Tensor]) -> None:
        [x] = arguments
        for axis, step in ((2, stride[0]), (3, stride[1])):
            if x.shape[axis] % step:
                points = f"its tile has {x.shape[axis]} points along axis {axis}"
                advice = f"{layer} takes steps of {step}: cut images between larger units"
                raise ValueError(f"rank {tiles.everybody.rank}: {points}, and {advice}")

    def surround(_: nn.Module, arguments: tuple[Tensor]) -> Tensor:
        [x] = arguments
        return with_halo(tiles.across, with_halo(tiles.down, x, 2, *rows, fill), 3, *columns, fill)

    layer.padding = (0, 0)
    layer.register_forward_pre_hook(check)
    if overlap:
        down = WindowReach(tiles.down, 2, reach[0], stride[0], *rows)
        across = WindowReach(tiles.across, 3, reach[1], stride[1], *columns)
        layer.forward = partial(overlapped, layer.forward, down, across, fill)
    else:
        layer.register_forward_pre_hook(surround)


def put_together(tiles: Tiles, x: Tensor, points: tuple[int, int]) -> Tensor:
    """The whole image, of `points` rows and columns, on every rank; `x` is this rank's tile."""
    return gather_out(tiles.down, gather_out(tiles.across, x, 3, points[1]), 2, points[0])


def _pair(value: int | tuple[int, int] | str, name: str) -> tuple[int, int]:
    if isinstance(value, str):
        raise TypeError(f"{name}={value!r}: give a number of points; on a tile words cannot work")
    return (value, value) if isinstance(value, int) else tuple(value)


def _check(name: str, layer: nn.Module) -> None:
    """Refuse a layer that would compute something else on a tile than on the whole image."""
    if isinstance(layer, nn.BatchNorm2d):
        whole = "batch normalisation takes means over whole images"
        raise TypeError(f"{name}: {whole}; put a synchronised one in its place, over all tiles")
    if getattr(layer, "padding_mode", "zeros") != "zeros":
        raise ValueError(f"{name}: on tiles padding_mode is zeros, not {layer.padding_mode!r}")
    if getattr(layer, "ceil_mode", False):
        raise ValueError(f"{name}: ceil_mode rounds up, and tiles would overlap; turn it off")
    if not getattr(layer, "count_include_pad", True) and layer.padding not in (0, (0, 0)):
        raise ValueError(f"{name}: on a tile padding counts: take count_include_pad=True")
    if not isinstance(layer, (*WINDOWS, *POINT_BY_POINT)) and not list(layer.children()):
        kind = type(layer).__name__
        raise TypeError(f"{name}: what a {kind} needs from other tiles is not known: leave it out")
