"""The puzzle of unit 04: cells of a recurrent network in blocks on ranks, and a plan carried out.

A block is a part of one layer: `(layer, first, last)` has its steps from `first` up to, not
including, `last`. Each rank does its blocks in order, and sends each that others need.
"""

from collections.abc import Sequence

import numpy as np

from ddl_teach import Comm, Run, simulate
from ddl_teach.comm import Uniform

LAYERS, STEPS, RANKS, CELL = 6, 64, 4, 100e-6
NETWORK = Uniform(latency=50e-6, bandwidth=1e9, overhead=40e-6)

Block = tuple[int, int, int]
Plan = Sequence[Sequence[Block]]


def needs(plan: Plan) -> dict[Block, list[Block]]:
    """For each block the blocks that hold its inputs: to the left of it, and below it."""
    holds: dict[tuple[int, int], Block] = {}
    for layer, first, last in (block for row in plan for block in row):
        holds |= {(layer, step): (layer, first, last) for step in range(first, last)}
    wanted = {}
    for row in plan:
        for layer, first, last in row:
            left = [holds[layer, first - 1]] if first else []
            below = [holds[layer - 1, step] for step in range(first, last)] if layer else []
            wanted[layer, first, last] = list(dict.fromkeys(left + below))
    return wanted


def work_through(comm: Comm, plan: Plan) -> None:
    """The rank program: receive what a block needs, compute it, send it to the ranks that wait."""
    wanted, own = needs(plan), set(plan[comm.rank])
    used = {block for mine in own for block in wanted[mine]}
    arrivals = {
        block: comm.irecv(np.empty(1), rank)
        for rank, row in enumerate(plan)
        for block in row
        if rank != comm.rank and block in used
    }
    sends, done = [], set[Block]()
    for block in plan[comm.rank]:
        for before in wanted[block]:
            if before in own and before not in done:
                raise ValueError(f"block {block} stands before {before}, which it needs")
            if before in arrivals:
                arrivals.pop(before).wait()
        done.add(block)
        comm.work(CELL * (block[2] - block[1]))
        for rank, row in enumerate(plan):
            if rank != comm.rank and any(block in wanted[other] for other in row):
                sends.append(comm.isend(np.zeros(1), rank))
    for request in sends:
        request.wait()


def carried_out(plan: Plan) -> Run:
    """The plan on simulated ranks; each cell must stand in it once."""
    return simulate(work_through, len(plan), network=NETWORK, plan=plan, strict=True)
