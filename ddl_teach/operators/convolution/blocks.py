"""Work in blocks that stay in the caches: some whole images, or some rows of one.

A whole batch that is laid out anew goes to main memory and back; a block of some megabytes is
still in a cache when the next step reads it. What to look at: the workspace of a method that works
in blocks stops growing with the batch.
"""

from collections.abc import Iterator

from torch import Tensor
from torch.nn.functional import pad

BLOCK = 2 << 20  # bytes of a block: about as much as a core's caches hold
MOST = 128 << 20  # bytes beyond which a block does not grow, whatever it has to read


def room(filters: int) -> int:
    """Bytes for a block, not fewer than those of the filters, which each block reads."""
    return min(max(BLOCK, filters), MOST)


def blocks(images: int, rows: int, row_bytes: int, room: int) -> Iterator[tuple[slice, slice]]:
    """Cut `rows` rows of each of `images` images, `row_bytes` each, into blocks of equal size.

    No block is larger than `room` bytes, if a row is not.

    >>> [(images.stop, rows.stop) for images, rows in blocks(5, 10, 300_000, room=8 << 20)]
    [(2, 10), (4, 10), (5, 10)]
    """
    together, high = block_size(images, rows, row_bytes, room)
    for first in range(0, images, together):
        for top in range(0, rows, high):
            last, bottom = min(first + together, images), min(top + high, rows)
            yield slice(first, last), slice(top, bottom)


def block_size(images: int, rows: int, row_bytes: int, room: int) -> tuple[int, int]:
    """How many images, and how many rows of each, the largest block has."""
    together = evenly(images, room // (rows * row_bytes))
    return together, rows if together > 1 else evenly(rows, room // row_bytes)


def evenly(count: int, most: int) -> int:
    """The size of the parts when `count` is cut into the fewest equal parts of at most `most`."""
    parts = -(-count // max(1, most))
    return -(-count // parts)


def window(x: Tensor, top: int, bottom: int, left: int, right: int) -> Tensor:
    """Rows `top` to `bottom` and columns `left` to `right` of images; zeros where outside."""
    border: list[int] = []
    for axis, low, high in ((2, top, bottom), (3, left, right)):
        size = x.shape[axis]
        first, last = min(max(low, 0), size), min(max(high, 0), size)
        border[:0] = min(high, 0) - min(low, 0), max(high, size) - max(low, size)
        x = x.narrow(axis, first, last - first)
    return pad(x, border) if any(border) else x  # at most one copy: a second is not counted
