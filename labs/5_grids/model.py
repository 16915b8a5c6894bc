"""All grids on paper: the seconds of a step, and what they are spent on.

    python labs/5_grids/model.py --latency 300e-6 --per-byte 85e-9 --flops 4e9

Times of a message between two nodes; within a node they are the same unless they are given. The
network and the batch are those of the lab's full form, unless told.
"""

from __future__ import annotations

import argparse
from dataclasses import astuple, fields

from program import LAB, paper

from ddl_teach.theory.grids.search import in_order
from ddl_teach.theory.grids.seconds import Seconds
from ddl_teach.theory.machine import Cluster, Link


def main() -> None:
    """Print them, the fastest first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latency", type=float, required=True, help="seconds of a message")
    parser.add_argument("--per-byte", type=float, required=True, help="and of each of its bytes")
    parser.add_argument("--flops", type=float, required=True, help="operations a second of a rank")
    parser.add_argument(
        "--inside", type=float, nargs=2, metavar=("LATENCY", "PER_BYTE"), help="both, in a node"
    )
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--ranks-per-node", type=int, default=1)
    for name in ("blocks", "width", "heads", "length", "batch", "micro_batches"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=LAB.full[name])
    asked = parser.parse_args()
    between = Link(asked.latency, asked.per_byte)
    inside = Link(*asked.inside) if asked.inside else between
    here = Cluster(asked.nodes, asked.ranks_per_node, 1, inside, between, flops=asked.flops)
    split = {"batch": asked.batch, "micro_batches": asked.micro_batches}
    parts = [one.name for one in fields(Seconds)]
    print(f"{'ms a step':<40}{'total':>9}" + "".join(f"{part:>10}" for part in parts))
    for one in in_order(paper(vars(asked)), here, **split):
        if one.refused:
            print(f"{one.grid!s:<40} cannot be: {one.refused}")
            continue
        spent = "".join(f"{1e3 * seconds:10.1f}" for seconds in astuple(one.seconds))
        print(f"{one.grid!s:<40}{1e3 * one.seconds.total:9.1f}{spent}")


if __name__ == "__main__":
    main()
