"""The judges of unit 21 for a long text on many ranks: a puzzle, and what takes the
learner's place until theirs is right."""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from ddl_class.exercises.kit import Attempt, items, several, texts, whole
from ddl_class.exercises.kit.asked import judge_seconds
from ddl_runtime.pictures.words import time_text
from ddl_runtime.records.run import Run
from ddl_teach import Comm, Phantom, simulate
from ddl_teach.comm import Uniform

(LAYOUT,) = texts(__package__, "layout")

SPEEDS = (1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5)  # of each rank; 1 is that of a fast one
CHUNKS, MOST = 64, 12  # of the text; that fit into a rank's memory
PAIR, CHUNK = 50e-6, 8 * 2**20  # seconds of a pair of chunks; bytes of a chunk's keys and values
NETWORK = Uniform(latency=5e-6, bandwidth=100e9)
GOAL = 18e-3  # seconds
Chunks = list[list[int]]


def two_parts(count: int) -> Chunks:
    """The right answer, which takes the learner's place until theirs is right."""
    return [[rank, 2 * count - 1 - rank] for rank in range(count)]


def dealt(parts: int, count: int) -> Chunks:
    """Zigzag: one part from the beginning and one from the end for each rank."""
    size = parts // (2 * count)
    cut = [list(range(first, first + size)) for first in range(0, parts, size)]
    return [cut[early] + cut[late] for early, late in two_parts(count)]


def pairs(mine: Sequence[int], others: Sequence[int]) -> float:
    """Pairs of chunks in which a query sees a key; of a chunk with itself it is one half."""
    return sum((key < query) + 0.5 * (key == query) for query in mine for key in others)


def ring_pass(comm: Comm, layout: Chunks) -> None:
    """One forward pass of ring attention: each rank's own chunks, and those that come by."""
    for step in range(comm.size):
        owner, moving = (comm.rank - step) % comm.size, []
        if step + 1 < comm.size:
            arriving = Phantom(CHUNK * len(layout[owner - 1]))
            moving.append(comm.irecv(arriving, (comm.rank - 1) % comm.size))
            moving.append(
                comm.isend(Phantom(CHUNK * len(layout[owner])), (comm.rank + 1) % comm.size)
            )
        work = pairs(layout[comm.rank], layout[owner])
        comm.work(seconds=PAIR * work / SPEEDS[comm.rank])
        for request in moving:
            request.wait()


def pass_of(layout: Chunks) -> Run:
    """A layout's forward pass on the given ranks, simulated."""
    return simulate(ring_pass, len(SPEEDS), layout=layout, network=NETWORK)


def judge_layout(attempt: Attempt) -> None:
    """The forward pass ends before the goal, and each rank's chunks fit into its memory."""
    wanted, count = LAYOUT("wanted"), len(SPEEDS)
    layout = [items(each, wanted, whole) for each in several(attempt.call(), count, wanted)]
    full = max(layout, key=len)
    LAYOUT.refuse_if(
        {"rank": layout.index(full), "count": len(full)},
        not_once=sorted(chain(*layout)) != list(range(CHUNKS)),
        too_full=len(full) > MOST,
    )
    busy = [
        sum(pairs(mine, others) for others in layout) * PAIR / speed
        for mine, speed in zip(layout, SPEEDS, strict=True)
    ]
    values = {"busy": time_text(max(busy)), "rank": np.argmax(busy), "idle": time_text(min(busy))}
    values |= {"full": layout.index(full), "most": len(full), "room": MOST}
    judge_seconds(attempt, LAYOUT, pass_of(layout).time, GOAL, values)
