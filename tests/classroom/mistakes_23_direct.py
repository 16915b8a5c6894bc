"""The usual mistakes with a direct all-reduce and with shared trees in unit 23."""

import numpy as np

from ddl_teach.collectives import one_shot, ring


def half(comm, x):
    """Adds up, and hands nothing out."""
    chunks = np.array_split(x, comm.size)
    mine = chunks[comm.rank]
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    sends = [comm.isend(chunks[other], other) for other in others]
    arriving = np.empty_like(mine)
    for other in others:
        comm.recv(arriving, other)
        mine += arriving
    for send in sends:
        send.wait()


def far_first(ranks, grow=2):
    steps, distance, chunks = [], ranks // 2, 1
    while distance:
        steps.append((distance, chunks))
        distance, chunks = distance // 2, grow * chunks
    return steps


MISTAKES = [
    ("23.direct", lambda comm, x: None, "x is as it was"),
    ("23.direct", half, "Only the own chunk is added up"),
    ("23.direct", lambda comm, x: x.fill(0), "send it to all and receive theirs"),
    ("23.direct", one_shot.allreduce, "one chunk to each other rank"),
    ("23.direct", ring.allreduce, "straight to its owner"),
    ("23.pat", lambda ranks: None, "yours returns None"),
    ("23.pat", lambda ranks: far_first(ranks)[::-1], "in the other order"),
    ("23.pat", lambda ranks: [(n, n) for _, n in far_first(ranks)], "Bruck's order"),
    ("23.pat", lambda ranks: far_first(ranks, grow=1), "they double with each step"),
    ("23.pat", lambda ranks: [(1, 1)] * 9, "the chunks begin at 1"),
]
