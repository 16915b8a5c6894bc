"""The usual mistakes of the notebook beside unit 06, and words of the message that names each."""

from functools import partial

import numpy as np

from ddl_teach import Comm
from ddl_teach.collectives import pairwise, ring


def sign(
    comm: Comm, x: np.ndarray, add: bool = False, new: bool = False, replace: bool = False,
    grow: int = 2, reach: float = 1.0,
) -> None:  # fmt: skip
    """Right, but for what the arguments say."""
    distance, heard = 1, np.empty_like(x)
    while distance < reach * comm.size:
        above, below = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
        comm.sendrecv(x, above, heard, below)
        if add:
            x += heard
        elif replace:
            x[:] = heard
        else:
            np.maximum(x, heard, out=None if new else x)
        distance = distance + 1 if grow == 1 else distance * grow


def signs_for_all(comm: Comm, x: np.ndarray) -> None:
    sign(comm, x)
    x[x == 0] = 1
    x += 0.5


def receives_first(comm: Comm, x: np.ndarray) -> None:
    comm.recv(x, (comm.rank - 1) % comm.size)
    comm.send(x, (comm.rank + 1) % comm.size)


def gather(
    comm: Comm, x: np.ndarray, up: bool = False, whole: bool = False, into: bool = True,
    uneven: bool = False, reach: int = 1,
) -> None:  # fmt: skip
    """Right, but for what the arguments say."""
    rank, size, n = comm.rank, comm.size, len(x) // comm.size
    turned, distance = np.zeros(2 * len(x)), 1
    turned[:n] = x[rank * n : (rank + 1) * n]
    while distance * reach < size:
        end = n * (distance if whole else min(distance, size - distance))
        above, below = (rank + distance) % size, (rank - distance) % size
        if up:
            above, below = below, above
        room = turned[n * distance : n * distance + end - uneven] if into else np.empty(end)
        comm.sendrecv(turned[:end], below, room, above)
        distance *= 2
    x[:] = np.roll(turned[: n * size], rank * n)


def exchange(
    comm: Comm, x: np.ndarray, out: np.ndarray, places: str = "same", every: bool = False,
    down: bool = False, spoil: bool = False, stay: bool = False,
) -> None:  # fmt: skip
    """Right, but for what the arguments say."""
    rank, size, stride = comm.rank, comm.size, 1
    blocks = np.roll(x.reshape(size, -1), -rank, axis=0)
    while stride < size and not stay:
        moving = [d for d in range(size) if d & stride or every]
        leaving = blocks[moving]
        arriving = np.empty_like(leaving)
        to, source = (rank + stride) % size, (rank - stride) % size
        comm.sendrecv(leaving, source if down else to, arriving, to if down else source)
        for place, block in zip(moving, arriving, strict=True):
            if place & stride:
                blocks[place] = block
        stride *= 2
    order = np.arange(size) if places == "other" else (rank - np.arange(size)) % size
    out.reshape(size, -1)[order] = blocks
    if spoil:
        x[:] = out


def short_room(comm: Comm, x: np.ndarray, out: np.ndarray) -> None:
    comm.sendrecv(x, (comm.rank + 1) % comm.size, out[1:].copy(), (comm.rank - 1) % comm.size)


MISTAKES = [
    ("06.dissemination", partial(sign, new=True), "alone makes a new array"),
    ("06.dissemination", partial(sign, replace=True), "has lost its own number"),
    ("06.dissemination", partial(sign, reach=0.5), "the distance must double"),
    ("06.dissemination", partial(sign, add=True), "more than once"),
    ("06.dissemination", partial(sign, grow=1), "double the distance in each step"),
    ("06.dissemination", signs_for_all, "that no rank has written"),
    ("06.dissemination", receives_first, "every rank receives before any rank sends"),
    ("06.bruck", partial(gather, into=False), "Receive the others into `turned`"),
    ("06.bruck", partial(gather, up=True), "but at wrong places"),
    ("06.bruck", partial(gather, reach=2), "does not have all blocks"),
    ("06.bruck", ring.allgather, "with each step a rank has twice as many"),
    ("06.bruck", partial(gather, whole=True), "only the blocks that are missing"),
    ("06.bruck", partial(gather, uneven=True), "both take min(distance, size - distance)"),
    ("06.all_to_all", partial(exchange, stay=True), "They must travel"),
    ("06.all_to_all", partial(exchange, places="other"), "but at wrong places"),
    ("06.all_to_all", partial(exchange, down=True), "blocks that are not for it"),
    ("06.all_to_all", partial(exchange, spoil=True), "has changed x"),
    ("06.all_to_all", partial(exchange, every=True), "only the blocks with d & stride travel"),
    ("06.all_to_all", pairwise.alltoall, "travel in one message"),
    ("06.all_to_all", short_room, "receives as much from below"),
]
