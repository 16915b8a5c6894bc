"""Work in blocks that stay in the caches: some whole images, or some rows of one.

A method that lays a whole batch out anew writes it to main memory and reads it back, at a few
numbers per nanosecond; a block of some megabytes is still in a cache when the next step reads it.
What to look at: the workspace of a method that works in blocks stops growing with the batch.
"""

from collections.abc import Iterator

from torch import Tensor
from torch.nn.functional import pad

BLOCK = 2 << 20
"""Bytes that one block lays out: about as much as a core's own cache and its share of the common
one hold."""

MOST = 128 << 20
"""Bytes beyond which a block does not grow, whatever it has to read."""


def room(filters: int) -> int:
    """Bytes for a block that needs so many bytes of filters: not fewer than those.

    Each block reads all filters; in one that is smaller than they are they would be all it reads.
    """
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
            yield (
                slice(first, min(first + together, images)),
                slice(top, min(top + high, rows)),
            )


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
    (first, last, above, below), (start, stop, before, after) = (
        (
            min(max(low, 0), size),
            min(max(high, 0), size),
            min(high, 0) - min(low, 0),
            max(high, size) - max(low, size),
        )
        for low, high, size in ((top, bottom, x.shape[2]), (left, right, x.shape[3]))
    )
    return pad(x[:, :, first:last, start:stop], (before, after, above, below))
