"""Lab 2: all-reduces on nodes that several ranks share: flat, by leaders and by parts.

mpiexec -n 8 python labs/2_collectives/program.py                                # here
ddl-teach box exec head mpiexec -n 8 python labs/2_collectives/program.py        # in a box
cluster_setup/slurm/submit --nodes=4 --ntasks-per-node=2 labs/2_collectives/job.sbatch
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ddl_class.commands.mistake import Mistake
from ddl_class.commands.program_file import load_program
from ddl_class.labs.hand_in import Lab, Question, main
from ddl_measure.cables import received, received_since
from ddl_measure.near_and_far import ENDS, near_and_far, nodes_of
from ddl_measure.repetitions import side_by_side, slowest_of_all
from ddl_teach import Comm
from ddl_teach.collectives import hierarchical, leaders, recursive_doubling, ring
from ddl_teach.collectives.leaders import split_by_node

Way = Callable[[np.ndarray], None]


def collectives(
    comm: Comm, *, repetitions: int, sizes: list[int], yours: str = ""
) -> dict[str, Any] | None:
    """All ways take turns at each size; then each once more, for ledgers and cards to count.

    `yours` names an all-reduce of your own, FILE.py:FUNCTION, that runs beside ours.
    """
    if any(nbytes < 4 or nbytes % 4 for nbytes in sizes):
        raise Mistake(f"--set sizes={sizes}: each number of a vector has 4 bytes")
    pings = near_and_far(comm, ENDS, repetitions)
    ways = contestants(comm, yours)
    rows = []
    for nbytes in sizes:
        x = np.zeros(nbytes // 4, np.float32)
        turns = {name: partial(way, x) for name, way in ways.items()}
        times = side_by_side(turns, repetitions=repetitions, before=comm.barrier, clock=comm.now)
        for name, way in ways.items():
            seconds = slowest_of_all(comm, times[name]).tolist()
            rows.append({"way": name, "bytes": nbytes, "seconds": seconds})
            rows[-1] |= counted(comm, name, way, np.full_like(x, comm.rank + 1))
    nodes = nodes_of(comm)
    if comm.rank:
        return None
    print(f"\nnode of each rank, 0 to {comm.size - 1}: {nodes}\n\nat the busiest node:")
    print(f"{'':<22}{'bytes':>10}{'median, ms':>12}{'ledger says out':>17}{'card says in':>14}")
    for row in rows:
        print(
            f"{row['way']:<22}{row['bytes']:>10,}{np.median(row['seconds']) * 1e3:>12.2f}"
            f"{max(row['left']):>17,}{max(row['card']):>14,}"
        )
    return {"nodes": nodes, **pings, "rows": rows}


def contestants(comm: Comm, yours: str) -> dict[str, Way]:
    """By name: an all-reduce of all ranks."""
    levels = split_by_node(comm)
    # The same ranks in another order: one node after the other, or dealt out like cards.
    filled = comm.split(0, key=comm.node)
    dealt = comm.split(0, key=levels.inside.rank)
    doubling = recursive_doubling.allreduce
    ways = {
        "ring": partial(ring.allreduce, filled),
        "ring, dealt out": partial(ring.allreduce, dealt),
        "doubling": partial(doubling, filled),
        "leaders": partial(leaders.allreduce, comm, levels=levels),
        "leaders, doubling": partial(leaders.allreduce, comm, levels=levels, between=doubling),
        "by parts": partial(hierarchical.allreduce, comm, groups=hierarchical.form_groups(comm)),
        "MPI's own": filled.native.blocking_allreduce,
    }
    return ways | ({"yours": partial(load_program(yours), filled)} if yours else {})


def counted(comm: Comm, name: str, way: Way, x: np.ndarray) -> dict[str, list[int]]:
    """What one call sent: by rank; out of each node, by the ledgers; into it, by its card."""
    nodes = np.array(nodes_of(comm))
    before = received()
    comm.barrier()  # nobody's card counts before all have read theirs
    known = len(comm.ledger.messages)
    way(x)
    new = [one for one in comm.ledger.messages[known:] if one.kind != "native"]
    if not (x == comm.size * (comm.size + 1) // 2).all():
        raise Mistake(f"rank {comm.rank}: '{name}' has not made the sum of all ranks' vectors")
    comm.barrier()
    far = sum(one.bytes for one in new if nodes[one.peer] != comm.node)
    table = np.zeros((comm.size, 3), np.int64)
    table[comm.rank] = sum(one.bytes for one in new), far, received_since(before)
    ring.allgather(comm, table)
    sent, left, card = table.T
    each = range(nodes.max() + 1)
    return {
        "sent": sent.tolist(),
        "left": [int(left[nodes == node].sum()) for node in each],
        "card": [int(card[nodes == node].max()) for node in each],
    }


ALL = "of 1 MiB on your ranks, in ms"
LAB = Lab(
    "2_collectives",
    collectives,
    full={"repetitions": 11, "sizes": [1024, 2**20], "yours": ""},
    short={"repetitions": 3, "sizes": [1024, 2**16], "yours": ""},
    predictions=(
        Question("ring", f"A ring all-reduce {ALL}, with nodes filled one after the other."),
        Question("ring_dealt", f"A ring all-reduce {ALL}, with ranks dealt out to nodes."),
        Question("doubling", f"An all-reduce by recursive doubling {ALL}."),
        Question("leaders", f"An all-reduce {ALL}, with a ring of leaders."),
        Question("parts", f"An all-reduce by parts {ALL}."),
        Question("fastest_of_1_KiB", "Which of them wins at 1 KiB?", str),
    ),
    answers=(
        Question("bytes_ring", "Bytes out of the busiest node for the long ring all-reduce."),
        Question("bytes_ring_dealt", "The same, with ranks dealt out."),
        Question("bytes_doubling", "The same by recursive doubling."),
        Question("bytes_leaders", "The same by a ring of leaders."),
        Question("bytes_parts", "The same by parts."),
        Question("model_ring", "Long ring all-reduce by the model with your fits, in ms."),
        Question("model_ring_dealt", "The same, with ranks dealt out, in ms."),
        Question("model_doubling", "The same by recursive doubling, in ms."),
        Question("model_leaders", "The same by a ring of leaders, in ms."),
        Question("model_parts", "The same by parts, in ms."),
        Question(
            "headers", "Ring, long: the card's bytes are so many percent above the ledger's."
        ),
        Question("bytes_mpi", "Bytes of MPI's own long all-reduce at the busiest card."),
        Question(
            "fastest_short", "Which was fastest at the small size? As the table calls it.", str
        ),
        Question("fastest_long", "Which was fastest at the large size?", str),
    ),
)

if __name__ == "__main__":
    main(LAB)
