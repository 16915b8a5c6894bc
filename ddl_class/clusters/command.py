"""`ddl-teach cluster`: start, stop and check engines on many nodes."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ddl_class.commands.mistake import Mistake

if TYPE_CHECKING:
    from ddl_class.clusters.grounds import NodeAccess

GROUNDS = ("laptop", "box", "hosts", "slurm")
EXAMPLES = """grounds:
  laptop   this machine, as one node
  box      the cluster in a box ('ddl-teach box up' makes it)
  hosts    machines reached by ssh, listed in a hostfile
  slurm    a cluster with Slurm; what differs from site to site stands in cluster_setup/site.sh

examples:
  ddl-teach cluster check hosts --hostfile cluster_setup/hosts/hostfile
  ddl-teach cluster start slurm --ranks 8 --nodes 4
  ddl-teach cluster stop slurm

In a notebook:
  from ddl_class.clusters.engines import connect
  client = connect("slurm")        # then %%px cells; comm is there on every rank
"""


def add_cluster(commands: argparse._SubParsersAction) -> None:
    """The command with its three actions."""
    cluster = commands.add_parser(
        "cluster",
        help="engines on many nodes: start, stop, check",
        description="Engines of ipyparallel on many nodes, as MPI ranks; and the nodes' doctor.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = cluster.add_subparsers(metavar="ACTION", required=True)
    for name, act, text in (
        ("start", _start, "start a controller here and engines on all nodes"),
        ("stop", _stop, "end them"),
        ("check", _check, "examine the nodes; 1 means a failure"),
    ):
        action = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        action.add_argument("ground", choices=GROUNDS)
        action.add_argument(
            "--name", default="box", metavar="BOX", help="of the box (default: box)"
        )
        if name != "stop":
            action.add_argument(
                "--hostfile", type=Path, metavar="FILE", help="of hosts: a line for each host"
            )
        if name == "start":
            action.add_argument("--ranks", type=int, default=4, help="engines (default: 4)")
            action.add_argument(
                "--nodes", type=int, help="of a job of Slurm (default: one a rank)"
            )
            action.add_argument(
                "--limit",
                type=int,
                default=120,
                metavar="SECONDS",
                help="until all engines must be there; a queue may need more (default: 120)",
            )
        if name == "check":
            action.add_argument(
                "--folder",
                type=Path,
                default=Path.home(),
                help="one that all nodes should share (default: your home folder)",
            )
        action.set_defaults(act=act)


def _start(options: argparse.Namespace) -> int:
    from ddl_class.clusters import engines

    if (elsewhere := _on_the_head(options)) is not None:
        return elsewhere
    ranks, nodes = options.ranks, options.nodes or options.ranks
    if not 1 <= nodes <= ranks:
        raise Mistake(f"{ranks} ranks on {nodes} nodes: each node has at least one rank")
    engines.start(_ground(options), ranks, nodes, options.limit)
    print(f"{ranks} engines run. In a notebook:")
    print("  from ddl_class.clusters.engines import connect")
    print(f'  client = connect("{options.ground}")')
    print(f"To end them: ddl-teach cluster stop {options.ground}")
    return 0


def _stop(options: argparse.Namespace) -> int:
    from ddl_class.clusters import engines

    if (elsewhere := _on_the_head(options)) is not None:
        return elsewhere
    print("They are gone." if engines.stop(options.ground) else "There were none.")
    return 0


def _check(options: argparse.Namespace) -> int:
    from ddl_class.clusters import engines, node_checks, slurm
    from ddl_class.clusters.site import read_site
    from ddl_class.doctor import doctor

    if (elsewhere := _on_the_head(options)) is not None:
        return elsewhere
    findings = slurm.login_node(read_site()) if options.ground == "slurm" else []
    ground = _ground(options)
    if ground.nodes:
        findings += node_checks.examine_nodes(ground, options.folder)
    findings.append(engines.secrets_kept(options.ground))
    print(doctor.report(findings, "This cluster"))
    if not ground.nodes:
        print("The nodes themselves are examined from inside a job:")
        print("  cluster_setup/slurm/submit --nodes=4 cluster_setup/slurm/check.sbatch")
    return int(any(finding.status == "fail" for finding in findings))


def _ground(options: argparse.Namespace) -> NodeAccess:
    from ddl_class.clusters import grounds
    from ddl_class.clusters.site import read_site

    if options.ground == "laptop":
        return grounds.Laptop(read_site())
    if options.ground == "box":
        from ddl_class.clusters.box.box import Box

        return grounds.InBox(read_site(), Box.own(options.name))
    if options.ground == "slurm":
        return grounds.Slurm(read_site())
    if options.hostfile is None:
        raise Mistake("hosts: name the file that lists them, --hostfile FILE")
    return grounds.Hosts(read_site(), options.hostfile)


def _on_the_head(options: argparse.Namespace) -> int | None:
    """Do the same on the head of the box, where its nodes can be called; None if this is there."""
    if options.ground != "box":
        return None
    from ddl_class.clusters.box.box import Box

    box = Box.own(options.name)
    if box.hosts.on_head:
        return None
    words = [sys.executable, "-m", "ddl_teach", *sys.argv[1:]]
    return subprocess.run(box.hosts.words("head", words)).returncode
