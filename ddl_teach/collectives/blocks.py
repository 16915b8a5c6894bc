"""Roots and blocks: what gather, scatter and all-to-all refuse before any rank sends.

A vector of P blocks is any contiguous array with P times the elements of one block.
"""

import numpy as np

from ddl_runtime.core.arrays import Array, as_bytes, describe, flat, split_evenly, type_name
from ddl_runtime.core.checks import whole_number
from ddl_runtime.devices import device_of
from ddl_teach.comm import Comm, Phantom


def check_root(comm: Comm, root: int) -> None:
    """Refuse a root that is no rank: a receive from rank -1 would mean ANY."""
    whole_number(root, f"rank {comm.rank}: a root")
    if not 0 <= root < comm.size:
        raise ValueError(
            f"rank {comm.rank}: the root {root} does not exist; the ranks are 0 to {comm.size - 1}"
        )


def blocks_on_root(comm: Comm, whole: Array | None, block: Array) -> list[Array]:
    """The root's array as one block per rank, each of the size of `block`."""
    if whole is None:
        raise TypeError(
            f"rank {comm.rank} is the root: it needs an array of {comm.size} blocks, not None"
        )
    row, length = flat(whole), len(flat(block))
    if len(row) != comm.size * length:
        raise ValueError(
            f"rank {comm.rank} is the root: {comm.size} blocks of {length} elements need an array "
            f"of {comm.size * length} elements, but this one holds {len(row)}"
        )
    check_types(comm, whole, block)
    return split_evenly(row, comm.size)


def blocks_to_exchange(comm: Comm, x: Array, out: Array) -> tuple[list[Array], list[Array]]:
    """A block of `x` for each rank, and the place in `out` for the block that comes from it."""
    length = len(flat(x))
    if len(flat(out)) != length or length % comm.size:
        raise ValueError(
            f"rank {comm.rank}: x and out must hold {comm.size} blocks each, all equal, but x "
            f"holds {length} elements and out {len(flat(out))}"
        )
    check_types(comm, x, out)
    if share_memory(x, out):
        raise ValueError(f"rank {comm.rank}: out must not share memory with x; give it its own")
    return split_evenly(x, comm.size), split_evenly(out, comm.size)


def share_memory(x: Array, y: Array) -> bool:
    """Whether bytes of one are bytes of the other, on the host or on one device."""
    device = device_of(x)
    if x.__class__ is Phantom or device is not device_of(y):
        return False
    if device is None:
        return np.may_share_memory(as_bytes(x), as_bytes(y))
    first, second = device.address(x), device.address(y)
    return bool(first < second + y.nbytes and second < first + x.nbytes)


def check_types(comm: Comm, first: Array, other: Array) -> None:
    """Refuse two arrays of which one cannot be copied into the other."""
    names = type_name(first), type_name(other)
    if names[0] != names[1]:
        raise TypeError(
            f"rank {comm.rank}: both arrays must have one element type, not {' and '.join(names)}"
        )


def chunk_start(length: int, chunk: int, chunks: int) -> int:
    """Where a chunk of `split_evenly` begins in a row of `length` elements, without splitting it.

    Chunks beyond the last one are counted on, as if the row were followed by itself.
    """
    return length * chunk // chunks


def room_for(count: int, like: Array) -> Array:
    """A flat array with room for `count` elements of the type of `like`."""
    describe(like)
    if like.__class__ is Phantom:
        return Phantom(count * like.itemsize, like.itemsize)
    if like.__class__ is np.ndarray:
        return np.empty(count, like.dtype)
    return flat(like).new_empty(count)
