"""`ddl-teach cluster`: start, stop and check engines on many nodes."""

from __future__ import annotations

import argparse
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
    start, stop, check = (
        actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        for name, text in (
            ("start", "start a controller here and engines on all nodes"),
            ("stop", "end them"),
            ("check", "examine the nodes; 1 means a failure"),
        )
    )
    for action, act in (start, _start), (stop, _stop), (check, _check):
        action.set_defaults(act=_on_the_head, really=act)
        action.add_argument("ground", choices=GROUNDS)
        text = "of the box (default: box)"
        action.add_argument("--name", default="box", metavar="BOX", help=text)
    for action in start, check:
        text = "of hosts: a line for each host"
        action.add_argument("--hostfile", type=Path, metavar="FILE", help=text)
    start.add_argument("--ranks", type=int, default=4, help="engines (default: 4)")
    start.add_argument("--nodes", type=int, help="of a job of Slurm (default: one a rank)")
    text = "until all engines must be there; a queue may need more (default: 120)"
    start.add_argument("--limit", type=int, default=120, metavar="SECONDS", help=text)
    text = "one that all nodes should share (default: your home folder)"
    check.add_argument("--folder", type=Path, default=Path.home(), help=text)


def _on_the_head(options: argparse.Namespace) -> int:
    """In a box the command runs on its head, where the nodes can be called; else here."""
    if options.ground == "box":
        from ddl_class.clusters.box.box import Box

        hosts = Box.own(options.name).hosts
        if not hosts.on_head:
            words = [sys.executable, "-m", "ddl_teach", *sys.argv[1:]]
            return hosts.run("head", words).returncode
    status: int = options.really(options)
    return status


def _start(options: argparse.Namespace) -> int:
    from ddl_class.clusters import engines

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

    print("They are gone." if engines.stop(options.ground) else "There were none.")
    return 0


def _check(options: argparse.Namespace) -> int:
    from ddl_class.clusters import engines, node_checks
    from ddl_class.clusters.site import login_node, read_site
    from ddl_class.doctor import doctor

    findings = login_node(read_site()) if options.ground == "slurm" else []
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

    site = read_site()
    if options.ground == "laptop":
        return grounds.Laptop(site)
    if options.ground == "box":
        from ddl_class.clusters.box.box import Box

        return grounds.InBox(site, Box.own(options.name))
    if options.ground == "slurm":
        return grounds.Slurm(site)
    if options.hostfile is None:
        raise Mistake("hosts: name the file that lists them, --hostfile FILE")
    return grounds.Hosts(site, options.hostfile)
