"""Shared-memory all-reduce: the ranks of a node read each other's numbers instead of sending them.

Every rank lays its vector open, a fence makes sure that all have, and then each adds up what it
needs: of short vectors all P of them, of long ones its own P-th part, which it shows to all. A
vector in ordinary memory passes block by block through a window that stays in the cache; one that
lives in shared memory is reduced in place, or written once if all read the same copy. Between
nodes the first ranks swap their sums by the ring, and show the result to their nodes.

Cost, for c seconds per byte read or written and f per fence: short f + 2 (P+1) n c; long 2 f + 6 n
c; in place 2 f + 2 n c; once 2 f + (1 + 1/P) n c. On one node the network costs nothing. Hoefler
et al., "MPI + MPI: a new hybrid approach to parallel programming", 2013.
What to look at: on one node the ledger holds no bytes, because nothing was sent.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ddl_runtime.core.arrays import (
    Array,
    Operation,
    as_elements,
    copy_into,
    flat,
    on_host,
)
from ddl_runtime.core.element_types import NUMPY_CODES
from ddl_runtime.core.window import SharedMemory
from ddl_teach.collectives import ring
from ddl_teach.collectives.blocks import chunk_start
from ddl_teach.collectives.leaders import split_by_node
from ddl_teach.comm import Comm, collective

BLOCK = 1 << 19  # bytes of a vector in the window at once, so that both turns stay in a cache
ALL_ADD_ALL = 1 << 16  # bytes up to which a second fence costs more than adding everything
TILE = 1 << 18  # bytes added up at once when a vector is reduced in place
KEPT = 64  # so many views of the window are kept, since making one costs as much as a short sum


class SharedBlocks:
    """Two blocks per rank in shared memory, used in turn. The fast ranks can fill one while a slow
    rank still reads the other, so no third fence is needed."""

    def __init__(self, memory: SharedMemory) -> None:
        self.fence = memory.fence
        self._memory = memory
        self._turn = 0
        self._views: dict[Any, list[list[Array]]] = {}

    def next_block(self, like: Array) -> list[Array]:
        """Room for a block of every rank."""
        kind = like.dtype, len(like)
        if kind not in self._views:
            if len(self._views) == KEPT:
                self._views.clear()
            size, parts = like.nbytes, self._memory.parts
            self._views[kind] = [
                [as_elements(part[start : start + size], like) for part in parts]
                for start in (0, len(parts[0]) // 2)
            ]
        self._turn = 1 - self._turn
        return self._views[kind][self._turn]


@collective
def allreduce(comm: Comm, x: Array, op: Operation = "sum") -> None:
    """Combine the `x` of all ranks, in place; through a window, block by block."""
    if SharedBlocks not in comm.attributes:
        inside, leaders = split_by_node(comm)
        window = SharedBlocks(inside.shared_memory(2 * BLOCK))
        comm.attributes[SharedBlocks] = inside, leaders, window, inside.size < comm.size
    inside, leaders, window, several_nodes = comm.attributes[SharedBlocks]
    # At once where this may be: each question takes about as long as a short sum.
    flat_row = x.__class__ is np.ndarray and x.ndim == 1 and x.flags.c_contiguous
    if flat_row and x.nbytes <= ALL_ADD_ALL and x.dtype in NUMPY_CODES and not several_nodes:
        _add_all(inside, window, x, op)
        return
    with on_host(x) as here:
        for block in _blocks(here):
            if block.nbytes <= ALL_ADD_ALL:
                _add_all(inside, window, block, op)
            else:
                _add_up_by_parts(inside, window, block, op)
        if several_nodes:
            if leaders is not None:
                ring.allreduce(leaders, here, op)
            for block in _blocks(here):  # which all get from this node's first rank
                shown = window.next_block(block)[0]
                if inside.rank == 0:
                    copy_into(shown, block)
                window.fence()
                if inside.rank != 0:
                    copy_into(block, shown)


def _blocks(x: Array) -> list[Array]:
    row = flat(x)
    width = BLOCK // row.itemsize
    if len(row) <= width:
        return [row]
    return [row[start : start + width] for start in range(0, len(row), width)]


def _add_all(comm: Comm, window: SharedBlocks, block: Array, op: Operation) -> None:
    shown = window.next_block(block)
    copy_into(shown[comm.rank], block)
    window.fence()
    _add_up(comm, shown, block, op)


def _add_up_by_parts(comm: Comm, window: SharedBlocks, block: Array, op: Operation) -> None:
    """Rank r adds up part r of all blocks and shows the result in its own part r."""
    mine, size = comm.rank, comm.size
    shown = window.next_block(block)
    edges = [chunk_start(len(block), rank, size) for rank in range(size + 1)]
    part = [slice(*pair) for pair in pairwise(edges)]
    own, others = block[part[mine]], [rank for rank in range(size) if rank != mine]
    for rank in others:
        copy_into(shown[mine][part[rank]], block[part[rank]])
    window.fence()
    _add_up(comm, [own, *(shown[rank][part[mine]] for rank in others)], own, op)
    copy_into(shown[mine][part[mine]], own)
    window.fence()
    for rank in others:
        copy_into(block[part[rank]], shown[rank][part[rank]])


@collective
def allreduce_in_place(
    comm: Comm, memory: SharedMemory, vectors: list[Array], op: Operation = "sum"
) -> None:
    """Combine vectors that live in shared memory: `vectors[r]`, rank r's, for every r."""
    mine = vectors[comm.rank]
    others = [vector for rank, vector in enumerate(vectors) if rank != comm.rank]
    memory.fence()
    for tile in _tiles(comm, mine):
        total = mine[tile]
        for other in others:
            comm.combine(total, other[tile], out=total, op=op)
        for other in others:
            copy_into(other[tile], total)
    memory.fence()


@collective
def allreduce_once(
    comm: Comm, memory: SharedMemory, vectors: list[Array], op: Operation = "sum"
) -> Array:
    """Combine `vectors[r]`, rank r's, into `vectors[0]`, and return it on all ranks.

    Rank 0 must not write into `vectors[0]` again before all ranks have read it: call
    `memory.fence()` in between.
    """
    result = vectors[0]
    memory.fence()
    for tile in _tiles(comm, result):
        _add_up(comm, [vector[tile] for vector in vectors], result[tile], op)
    memory.fence()
    return result


def _tiles(comm: Comm, vector: Array) -> Iterator[slice]:
    """This rank's part of a vector, in pieces that stay in the cache."""
    width = TILE // vector.itemsize
    end = chunk_start(len(vector), comm.rank + 1, comm.size)
    for start in range(chunk_start(len(vector), comm.rank, comm.size), end, width):
        yield slice(start, min(start + width, end))


def _add_up(comm: Comm, vectors: list[Array], out: Array, op: Operation) -> None:
    """Combine from left to right; `out` may be one of the first two vectors."""
    if len(vectors) == 1:
        copy_into(out, vectors[0])
        return
    comm.combine(vectors[0], vectors[1], out=out, op=op)
    for vector in vectors[2:]:
        comm.combine(out, vector, out=out, op=op)
