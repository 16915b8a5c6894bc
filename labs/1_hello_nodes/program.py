"""Lab 1: who is where, and what a message costs within a node and between two.

mpiexec -n 4 python labs/1_hello_nodes/program.py                                # here
ddl-teach box exec head mpiexec -n 4 python labs/1_hello_nodes/program.py        # in a box
cluster_setup/slurm/submit --nodes=2 --ntasks-per-node=2 labs/1_hello_nodes/job.sbatch
"""

from __future__ import annotations

import socket
from typing import Any

import numpy as np

from ddl_class.commands.program_file import load_program
from ddl_class.labs.hand_in import Lab, Question, main
from ddl_measure.near_and_far import ENDS, near_and_far, nodes_of
from ddl_measure.ping_pong import ping_pong
from ddl_teach import Comm


def hello(
    comm: Comm, *, repetitions: int, sizes: list[int], play: str = ""
) -> dict[str, Any] | None:
    """Every rank says where it is; then rank 0 plays ping-pong near and far.

    `play` names a ping-pong of your own, FILE.py:FUNCTION, that takes the place of ours.
    """
    print(f"rank {comm.rank} of {comm.size} is on {socket.gethostname()}", flush=True)
    nodes = nodes_of(comm)
    player = load_program(play) if play else ping_pong
    pings = near_and_far(comm, sizes, repetitions, player)
    if comm.rank:
        return None
    print(f"\nnode of each rank, 0 to {comm.size - 1}: {nodes}\n")
    print(f"{'bytes':>10}" + "".join(f"{way + ', us':>16}" for way in pings))
    for nbytes in sizes:
        medians = [middle(found, nbytes) for found in pings.values()]
        print(f"{nbytes:>10,}" + "".join(f"{seconds * 1e6:>16,.1f}" for seconds in medians))
    return {"nodes": nodes, **pings}


def middle(found: dict[str, list] | None, nbytes: int) -> float:
    """The median time of the messages of this size; not a number where nobody could play."""
    if found is None:
        return float("nan")
    times = zip(found["bytes"], found["seconds"], strict=True)
    return float(np.median([seconds for size, seconds in times if size == nbytes]))


LAB = Lab(
    "1_hello_nodes",
    hello,
    full={"repetitions": 15, "sizes": list(ENDS), "play": ""},
    short={"repetitions": 3, "sizes": [1, 16, 256, 2**16], "play": ""},
    predictions=(
        Question("node_of_rank_2", "On which node is rank 2? Nodes are counted from 0."),
        Question("latency_between", "A message of one byte between two nodes takes ... us."),
        Question("latency_ratio", "Within a node it takes so many times less (a number)."),
        Question("rate_between", "Long messages between two nodes go at ... Mbit/s."),
    ),
    answers=(
        Question("latency_within", "Latency within a node, from your fit, in us."),
        Question("latency_between", "Latency between nodes, from your fit, in us."),
        Question("rate_within", "Bandwidth within a node, from your fit, in Mbit/s."),
        Question("rate_between", "Bandwidth between nodes, from your fit, in Mbit/s."),
        Question("half_between", "Between nodes, how many bytes take as long as the latency?"),
        Question(
            "ring_filled",
            "Every rank sends a message to the next, the last one to rank 0. How many of them "
            "leave their node, if your ranks fill one of your nodes after the other?",
        ),
        Question("ring_dealt", "And if they are dealt out, one to each node in turn?"),
    ),
)

if __name__ == "__main__":
    main(LAB)
