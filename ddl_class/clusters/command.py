"""`ddl-teach cluster`: start, stop and check engines on many nodes."""

import argparse
import sys
from pathlib import Path

from ddl_class.clusters import engines, grounds, node_checks
from ddl_class.clusters.box.box import Box
from ddl_class.clusters.grounds import login_node, read_site
from ddl_class.commands.mistake import Mistake
from ddl_class.doctor.finding import report


def _on_the_head(options: argparse.Namespace) -> int | None:
    """The status of the same command on a box's head, where the nodes can be called; None where
    it is to be done here."""
    if options.ground != "box" or (hosts := Box.find(options.name).hosts).on_head:
        return None
    return hosts.run("head", [sys.executable, "-m", "ddl_teach", *sys.argv[1:]]).returncode


def start(options: argparse.Namespace) -> int:
    """Start a controller here and engines on all nodes."""
    if (status := _on_the_head(options)) is not None:
        return status
    ranks, nodes = options.ranks, options.nodes or options.ranks
    if nodes > ranks:
        raise Mistake(f"{ranks} ranks on {nodes} nodes: each node has at least one rank")
    engines.start(_ground(options), ranks, nodes, options.limit)
    print(f"{ranks} engines run. In a notebook:")
    print("  from ddl_class.clusters.engines import connect")
    print(f'  client = connect("{options.ground}")')
    print(f"To end them: ddl-teach cluster stop {options.ground}")
    return 0


def stop(options: argparse.Namespace) -> int:
    """End them."""
    if (status := _on_the_head(options)) is not None:
        return status
    print("They are gone." if engines.stop(options.ground) else "There were none.")
    return 0


def check(options: argparse.Namespace) -> int:
    """Examine the nodes."""
    if (status := _on_the_head(options)) is not None:
        return status
    findings = login_node(read_site()) if options.ground == "slurm" else []
    ground = _ground(options)
    if ground.nodes:
        findings += node_checks.examine_nodes(ground, options.folder or Path.home())
    findings.append(engines.secrets_kept(options.ground))
    print(report(findings, "This cluster"))
    if not ground.nodes:
        print("The nodes themselves are examined from inside a job:")
        print("  cluster_setup/slurm/submit --nodes=4 cluster_setup/slurm/check.sbatch")
    return int(any(finding.status == "fail" for finding in findings))


def _ground(options: argparse.Namespace) -> grounds.NodeAccess:
    site = read_site()
    if options.ground == "laptop":
        return grounds.Laptop(site)
    if options.ground == "box":
        return grounds.InBox(site, Box.find(options.name))
    if options.ground == "slurm":
        return grounds.Slurm(site)
    if options.hostfile is None:
        raise Mistake("hosts: name the file that lists them, --hostfile FILE")
    return grounds.Hosts(site, options.hostfile)
