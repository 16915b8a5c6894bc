"""Every grid that these ranks can be, measured in turns: which one trains a small GPT fastest?

    mpiexec -n 4 python labs/5_grids/program.py

First the machine: what a message costs inside a node and between two, and how fast a rank computes
while all others do. Then one step on each grid, and another, the grids taking turns; each time the
slowest rank counts. The ledger tells what was sent along which axis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from ddl_class.commands.mistake import Mistake
from ddl_class.labs.hand_in import Lab, Question, main
from ddl_measure.interval import interval
from ddl_measure.near_and_far import near_and_far, nodes_of
from ddl_teach import Comm
from ddl_teach.collectives import ring
from ddl_teach.theory.fit import fit
from ddl_teach.theory.grids.grid import Grid
from ddl_teach.theory.grids.layers import LayerStack, transformer
from ddl_teach.theory.grids.search import in_order
from ddl_teach.theory.machine import Cluster

ALONE = Grid()
BALLS = [2**power for power in (4, 14, 16, 17, 18)]  # bytes
VOCABULARY = 100


def grids(
    comm: Comm, *, blocks: int, width: int, heads: int, length: int, batch: int,
    micro_batches: int, repetitions: int, accelerator: float,
) -> dict | None:  # fmt: skip
    """What rank 0 knows of the machine, and the seconds of each step on each grid."""
    if comm.size == 1:
        raise Mistake("one rank is one grid, and the best: start this with mpiexec -n 4")
    if batch % comm.size:
        raise Mistake(
            f"--set batch=...: {batch} samples are no equal shares for {comm.size} ranks"
        )
    import torch

    from ddl_measure.experiments.grids import in_turns

    torch.set_num_threads(1)
    # As the model has it: neighbours are on one node, however the ranks were dealt out.
    comm, own_name = comm.split(0, comm.node), comm.rank
    known_as = np.zeros(comm.size, np.int64)
    known_as[comm.rank] = own_name
    ring.allgather(comm, known_as)
    sizes = {"blocks": blocks, "width": width, "heads": heads, "length": length, "batch": batch}
    network = paper(sizes)
    pings, nodes = near_and_far(comm, BALLS, max(3, repetitions // 2)), nodes_of(comm)
    known = in_order(
        network, Cluster(comm.size, 1), batch=batch, micro_batches=micro_batches
    )  # only to see which can be
    possible = {one.grid: one.micro_batches for one in known if not one.refused}
    times, sent = in_turns(
        comm, {ALONE: 1, **possible}, repetitions=repetitions, known_as=known_as.tolist(),
        accelerator=accelerator, **sizes,
    )  # fmt: skip
    rows = []
    for grid, parts in possible.items():
        most = np.array([getattr(sent[grid], axis) for axis in asdict(grid)], np.int64)
        ring.allreduce(comm, most, "max")
        rows.append({
            "grid": asdict(grid), "micro batches": parts, "seconds": times[grid].tolist(),
            "sent": dict(zip(asdict(grid), most.tolist(), strict=True)),
        })  # fmt: skip
    if comm.rank:
        return None
    found = {
        "nodes": nodes, "pings": pings, "alone": times[ALONE].tolist(), "grids": rows,
        "refused": {str(one.grid): one.refused for one in known if one.refused},
    }  # fmt: skip
    if accelerator:
        print(f"computing is slept through, at {accelerator:g} operations a second;", end=" ")
        print("messages are as real as ever")
    print(told(found, sizes))
    return found


def paper(sizes: Mapping[str, int]) -> LayerStack:
    """The network as the model sees it."""
    names = ("blocks", "width", "heads", "length")
    return transformer(**{name: sizes[name] for name in names}, vocabulary=VOCABULARY)


def machine(found: Mapping, sizes: Mapping[str, int]) -> Cluster:
    """What the formulas must know, out of what was measured before any grid was. Where nodes have
    unlike numbers of ranks no axis can count on staying inside one."""
    nodes, pings = found["nodes"], found["pings"]
    flops = 3 * sizes["batch"] / len(nodes) * paper(sizes).work / np.median(found["alone"])
    counts = set(Counter(nodes).values())
    each = counts.pop() if len(counts) == 1 else 1
    within, between = pings["within"] or pings["between"], pings["between"] or pings["within"]
    inside, outside = (fit(way["bytes"], way["seconds"]).link for way in (within, between))
    links = {"inside": inside, "between": outside}
    return Cluster(len(nodes) // each, each, flops=float(flops), **links)


def told(found: Mapping, sizes: Mapping[str, int]) -> str:
    """The machine in three numbers, and the grids in the order of their names."""
    here = machine(found, sizes)
    links = {
        "between": ("between two nodes", here.between),
        "within": ("within a node", here.inside),
    }
    lines = [
        f"a rank computes {here.flops / 1e9:.3g} Gflop/s",
        *(
            f"a message {where} takes {link.latency * 1e6:.1f} us "
            f"and {link.per_byte * 1e9:.2f} ns a byte"
            for way, (where, link) in links.items()
            if found["pings"][way]
        ),
        "",
        f"{'a step, ms':<40}{'median':>9}{'95% interval':>18}{'MB sent along':>16}",
    ]
    for row in found["grids"]:
        middle, low, high = (1e3 * one for one in interval(row["seconds"]))
        sent = " ".join(f"{axis} {n / 1e6:.2f}" for axis, n in row["sent"].items() if n)
        lines.append(f"{Grid(**row['grid'])!s:<40}{middle:9.1f}{low:9.1f} -{high:7.1f}   {sent}")
    return "\n".join([*lines, *(f"{name}: {why}" for name, why in found["refused"].items())])


LAB = Lab(
    "5_grids",
    grids,
    full={
        "blocks": 4, "width": 48, "heads": 4, "length": 32, "batch": 16, "micro_batches": 2,
        "repetitions": 11, "accelerator": 0.0,
    },
    short={
        "blocks": 1, "width": 16, "heads": 4, "length": 8, "batch": 4, "micro_batches": 2,
        "repetitions": 2, "accelerator": 0.0,
    },
    predictions=(
        Question("best", "Which grid will be fastest? Write it as in 'data 2 x pipeline 2'.", str),
        Question("worst", "Which will be slowest?", str),
        Question("ratio", "How many times as long as on the fastest will a step take there?"),
    ),
    answers=(
        Question("model_best", "By the model with your own machine's numbers: the best?", str),
        Question("model_ratio", "By that model: how many times as long is its slowest grid's?"),
        Question("price", "By that model: what costs most on its slowest grid, beside computing: "
                 "bubble, pipeline, tensor, context or data?", str),
        Question("measured_best", "And by the clock: the grid with the least median?", str),
        Question("measured_ratio", "By the clock: the largest median over the least?"),
        Question("tied", "How many grids have an interval that overlaps that of the fastest, "
                 "itself included?"),
        Question("sent", "How many MB does the rank that sends most send along data in a step of "
                 "the pure data grid?"),
        Question("wrong", "Two grids that the clock tells apart and that the model has in the "
                 "other order, with a comma between them; 'none' if there are no two such.", str),
    ),
)  # fmt: skip

if __name__ == "__main__":
    main(LAB)
