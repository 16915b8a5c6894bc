"""The layer of spread experts without its numbers: how long its ranks work, send and wait.

Rows are phantoms, so that thousands of ranks and rows of any width fit into one process. Given is
who has how many rows for which expert; what happens is what `spread` does forwards: counts, rows
to their experts, the experts' work, answers back.
What to look at: the layer takes as long as its most liked rank. A capacity cuts that off, and so
does a balance loss; the even step is what both aim at.
"""

from collections.abc import Sequence

from ddl_teach.collectives import ring
from ddl_teach.comm import Comm, Phantom
from ddl_teach.theory.experts import COUNT


def only_time(
    comm: Comm, rows: Sequence[Sequence[int]], owners: Sequence[int], width: int, hidden: int
) -> int:
    """One forward pass in numbers of 4 bytes; returns how many rows this rank's experts had.

    `rows[r][e]` is how many rows rank r has for expert e, which lies on rank `owners[e]`.
    """
    experts = range(len(owners))
    with comm.span("counts"):
        ring.allgather(comm, Phantom(comm.size * len(owners) * COUNT, len(owners) * COUNT))
    leaving = [0] * comm.size
    for expert in experts:
        leaving[owners[expert]] += rows[comm.rank][expert]
    mine = [expert for expert in experts if owners[expert] == comm.rank]
    coming = [sum(own[expert] for expert in mine) for own in rows]
    with comm.span("dispatch"):
        _exchange(comm, leaving, coming, 4 * width)
    with comm.span("experts"):
        comm.work(flops=4 * width * hidden * sum(coming))  # two products of 2 operations each
    with comm.span("return"):
        _exchange(comm, coming, leaving, 4 * width)
    return sum(coming)


def _exchange(comm: Comm, leaving: Sequence[int], coming: Sequence[int], nbytes: int) -> None:
    """As in `training.exchange_rows`: in step k to the rank k above, from the rank k below."""
    for step in range(1, comm.size):
        above, below = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        requests = []
        if coming[below]:
            requests.append(comm.irecv(Phantom(coming[below] * nbytes), below))
        if leaving[above]:
            requests.append(comm.isend(Phantom(leaving[above] * nbytes), above))
        for request in requests:
            request.wait()
