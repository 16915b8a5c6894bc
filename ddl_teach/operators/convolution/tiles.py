"""Images cut into overlapping tiles, and results put together from tiles that do not overlap.

A tile begins every `steps` pixels and has `sizes` of them; its results are `steps` pixels each
way. With the channels innermost, whatever is copied is long and in order, and the matrix of one
place in the tile over all tiles and channels is one piece of memory, as products want it.
What to look at: only two copies turn channels outwards or inwards; they are what tiles cost.
"""

from __future__ import annotations

from torch import Tensor

from ddl_teach.operators.convolution.problem import Pair


def cut_out(
    images: Tensor, rows: slice, wide: int, steps: Pair, sizes: Pair, padding: Pair, groups: int
) -> Tensor:
    """These rows of `wide` tiles: (height, width of a tile, groups, images, rows, wide, channels).

    A view, in which pixels appear in each tile that has them. What lies outside is zero.
    """
    count, channels, height, width = images.shape
    top, left = rows.start * steps[0] - padding[0], -padding[1]
    high = (rows.stop - rows.start - 1) * steps[0] + sizes[0]
    whole = images.new_zeros(count, high, (wide - 1) * steps[1] + sizes[1], channels)
    first, last = max(top, 0), min(top + high, height)
    stop = min(left + whole.shape[2], width)
    inside = images[:, :, first : max(first, last), :stop].permute(0, 2, 3, 1)
    whole[:, first - top : max(first, last) - top, -left : stop - left] = inside
    apart = whole.unflatten(3, (groups, -1)).unfold(1, sizes[0], steps[0])
    return apart.unfold(2, sizes[1], steps[1]).permute(5, 6, 3, 0, 1, 2, 4)


def assemble(tiles: Tensor, output: Tensor, top: int) -> None:
    """Put results (height, width, groups, images, rows, wide, channels) to the output's row `top`.

    What hangs over the edge is dropped.
    """
    whole = tiles.permute(3, 4, 0, 5, 1, 2, 6).flatten(5, 6).flatten(3, 4).flatten(1, 2)
    part = output[:, :, top : top + whole.shape[1]]
    for image, result in zip(part, whole[:, : part.shape[2], : part.shape[3]], strict=True):
        # Of two axes torch turns a block at a time, of more it would go through memory in steps.
        image.copy_(result.flatten(0, 1).T.contiguous().view(image.shape))
