"""The schedule with the fewest steps on given cables, as an integer program.

Every rank has a chunk, in the end all ranks have all. In a step a link from u to v carries only
chunks that u has already, and at most as many as it is wide. One variable for each chunk c, link
and step t, x = 1 if it is sent then:

    least  sum x    sum over links to v and steps of x[c] = 1 for each v but c's owner
                    x[c, u to v, t] <= sum over links to u and steps before t of x[c],
                    sum over c of x[c, u to v, t] <= width of the link

We ask for 1 step, 2, ..., and take the first that is possible. Backwards, with adding, the same
schedule is a reduce-scatter. Cost: steps * (latency + n/P per_byte) for n bytes in all.
Cai et al., "Synthesizing optimal collective algorithms", PPoPP 2021 (SCCL, by an SMT solver); Shah
et al., "TACCL: guiding collective algorithm synthesis using communication sketches", NSDI 2023.
What to look at: with links of unequal width the best schedule has no shape that one would draw.
"""

from collections.abc import Mapping

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from ddl_runtime.core.arrays import Array, Operation, empty_like, split_evenly
from ddl_teach.comm import Comm, collective

Links = Mapping[tuple[int, int], int]
"""How many chunks a link (from, to) carries in a step."""

Schedule = list[list[tuple[int, int, int]]]
"""For each step the messages: (chunk, from, to); chunk r is that of rank r."""


def schedule_of(links: Links, steps: int) -> Schedule | None:
    """An all-gather's schedule of `steps` steps over these links; None if no such one exists."""
    ranks = 1 + max(rank for link in links for rank in link)
    sends = [(t, c, *link) for t in range(steps) for c in range(ranks) for link in links]
    t, c, u, v = np.array(sends).T
    # What is added up, and its least and its largest value.
    rows: list[tuple[np.ndarray, float, float]] = []
    for rank in range(ranks):
        for chunk in range(ranks):
            arrives = (c == chunk) & (v == rank)
            rows.append((arrives, rank != chunk, rank != chunk))
            if rank != chunk:
                for place in np.flatnonzero((c == chunk) & (u == rank)):
                    row = -1.0 * (arrives & (t < t[place]))
                    row[place] = 1
                    rows.append((row, -np.inf, 0))
    for (start, end), width in links.items():
        on_link = (u == start) & (v == end)
        rows += [(on_link & (t == step), 0, width) for step in range(steps)]
    matrix, low, high = zip(*rows, strict=True)
    solution = milp(
        np.ones(len(sends)), integrality=np.ones(len(sends)), bounds=Bounds(0, 1),
        constraints=LinearConstraint(np.array(matrix, float), low, high),
    )  # fmt: skip
    if solution.x is None:
        return None
    chosen = [send for send, taken in zip(sends, solution.x, strict=True) if taken > 0.5]
    return [[send[1:] for send in chosen if send[0] == step] for step in range(steps)]


def fewest_steps(links: Links) -> Schedule:
    """The schedule with the fewest steps."""
    ranks = 1 + max(rank for link in links for rank in link)
    for steps in range(1, ranks):
        if (schedule := schedule_of(links, steps)) is not None:
            return schedule
    raise ValueError("no schedule: a rank is out of reach of another, or links carry too little")


@collective
def allgather(comm: Comm, x: Array, *, schedule: Schedule) -> None:
    """Every rank contributes its own chunk of `x` and gets those of all others."""
    chunks = split_evenly(x, comm.size)
    for step in schedule:
        arriving = [comm.irecv(chunks[c], u, c) for c, u, v in step if v == comm.rank]
        leaving = [comm.isend(chunks[c], v, c) for c, u, v in step if u == comm.rank]
        for request in arriving + leaving:
            request.wait()


@collective
def reduce_scatter(comm: Comm, x: Array, op: Operation = "sum", *, schedule: Schedule) -> Array:
    """Return this rank's chunk of the combination of all `x`: the all-gather, backwards."""
    chunks = split_evenly(x, comm.size)
    for step in reversed(schedule):
        came = [(c, empty_like(chunks[c]), v) for c, u, v in step if u == comm.rank]
        arriving = [comm.irecv(buffer, v, c) for c, buffer, v in came]
        leaving = [comm.isend(chunks[c], u, c) for c, u, v in step if v == comm.rank]
        for request in arriving + leaving:
            request.wait()
        for c, buffer, _ in came:
            comm.combine(buffer, chunks[c], out=chunks[c], op=op)
    return chunks[comm.rank]


@collective
def allreduce(comm: Comm, x: Array, op: Operation = "sum", *, schedule: Schedule) -> None:
    """Combine the `x` of all ranks, in place."""
    reduce_scatter(comm, x, op, schedule=schedule)
    allgather(comm, x, schedule=schedule)
