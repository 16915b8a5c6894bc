"""The doctor of nodes: do they form one machine, and if not, what is to be done?

Asked are, in this order: the names; the way onto each node; what each node says of itself; what
MPI ranks on all nodes find out together. Who cannot be entered is named once and left out
of the rest. What to look at: the interface that MPI took. Clusters often have two networks, and
the slow one is the one that everybody finds by name.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from ddl_class.clusters import on_ranks
from ddl_class.clusters.asking import NodeAnswers, ask_nodes, ask_ranks
from ddl_class.clusters.grounds import NodeAccess
from ddl_class.doctor.finding import CheckResult

SLOW_CLOCK, WRONG_CLOCK = 1.0, 60.0  # seconds apart; Slurm's MUNGE refuses at 300
MOVED = on_ranks.MESSAGES * on_ranks.NBYTES

KEYS = (
    "ssh-keygen -t ed25519 (once, unless you have a key), then ssh-copy-id {node};\n"
    "try it: ssh -o BatchMode=yes {node} true"
)
UNREACHED = {
    "Permission denied": f"It asks for a password. {KEYS}",
    "Host key verification failed": "Its key is unknown: ssh {node} once by hand, compare the "
    "fingerprint\nwith what the administrator gives, and say yes.",
    "Could not resolve": "Its name is unknown here: mend the hostfile, or add the name to "
    "/etc/hosts\nor ~/.ssh/config.",
    "Connection refused": "No sshd listens there: install and start openssh-server, or name its "
    "port in ~/.ssh/config.",
    "timed out": "It is off, or a firewall lies between: ask for port 22 from here to {node}.",
    "cannot execute": "The Python of the course is missing there: set SITE_PYTHON to one that all "
    "nodes see.",
    "No such file": "The Python of the course is missing there: set SITE_PYTHON to one that all "
    "nodes see.",
}


def examine_nodes(ground: NodeAccess, folder: Path) -> list[CheckResult]:
    """Every finding about these nodes; `folder` should be one that all of them share."""
    answers = ask_nodes(ground, folder)
    findings = [names(ground.nodes, answers), entered(answers)]
    if answers.said:
        findings += [
            alike(answers),
            shared_folder(answers, folder),
            ports(answers, ground.listens_at),
            gpus(answers, ground.site.gpus),
        ]
        together = ask_ranks(ground)
        if isinstance(together, str):
            findings.append(
                CheckResult(
                    "MPI",
                    "fail",
                    f"{len(ground.nodes)} ranks on {len(ground.nodes)} nodes: {together}",
                    "Try by hand: " + shlex.join(ground.on_all(len(ground.nodes), ["hostname"])),
                )
            )
        else:
            said = answers.said
            expected = {said[node]["name"] for node in ground.nodes if node in said}
            findings += [
                world(together, len(ground.nodes), expected),
                network(together, ground.site.interface),
                listening(together),
                clocks(together),
            ]
    return findings


def names(nodes: Sequence[str], answers: NodeAnswers) -> CheckResult:
    """Does every node know every other by a name that leads to it?"""
    wrong = [
        f"{node} takes {name} for {address}"
        for node, said in answers.said.items()
        for name, address in said["addresses"].items()
        if address.startswith("unknown") or (address.startswith("127.") and len(nodes) > 1)
    ]
    if not wrong:
        return CheckResult("names", "ok", f"all {len(nodes)} are known to each other")
    return CheckResult(
        "names",
        "fail",
        _some(wrong),
        "A line 'address name' for each node in /etc/hosts of all of them, and no line that "
        "gives\na node's own name 127.0.1.1, as Debian's installer writes it.",
    )


def entered(answers: NodeAnswers) -> CheckResult:
    """Can a command be run on every node, without anybody typing a password?"""
    count = len(answers.said) + len(answers.failed)
    if not answers.failed:
        return CheckResult("entering", "ok", f"all {count} nodes, without a password")
    node, why = next(iter(answers.failed.items()))
    mend = next((mend for words, mend in UNREACHED.items() if words in why), "Mend that first.")
    return CheckResult(
        "entering",
        "fail",
        _some([f"{node}: {why}" for node, why in answers.failed.items()]),
        mend.format(node=node),
    )


def alike(answers: NodeAnswers) -> CheckResult:
    """The same Python and packages everywhere?"""
    pythons = Counter(said["python"] for said in answers.said.values())
    if len(pythons) > 1:
        usual = pythons.most_common(1)[0][0]
        others = [f"{n}: {s['python']}" for n, s in answers.said.items() if s["python"] != usual]
        return CheckResult(
            "Python",
            "fail",
            f"{usual}; but {_some(others)}",
            "Put the course and its .venv into a folder that all nodes share, and name its Python "
            "in SITE_PYTHON.",
        )
    packages = {name for said in answers.said.values() for name in said["packages"]}
    versions = {
        name: {said["packages"].get(name, "missing") for said in answers.said.values()}
        for name in packages
    }
    differing = [
        f"{name} {' and '.join(sorted(each))}"
        for name, each in sorted(versions.items())
        if len(each) > 1
    ]
    if differing:
        return CheckResult(
            "Python",
            "fail",
            f"packages differ between nodes: {_some(differing)}",
            "Run start.py on the nodes that lag behind, or share one .venv.",
        )
    return CheckResult("Python", "ok", f"{next(iter(pythons))}, {len(packages)} packages alike")


def shared_folder(answers: NodeAnswers, folder: Path) -> CheckResult:
    """Does every node see the same files, there and back?"""
    wrong = [
        f"{node}: {said['mark']}"
        for node, said in answers.said.items()
        if said["mark"] != answers.mark
    ]
    wrong += [
        f"{node}: what it writes does not arrive here"
        for node, said in answers.said.items()
        if said["mark"] == answers.mark and node not in answers.arrived
    ]
    if not wrong:
        return CheckResult("shared folder", "ok", f"{folder} is the same on all nodes")
    return CheckResult(
        "shared folder",
        "fail",
        f"{folder}: {_some(wrong)}",
        "Name one that all nodes mount, with --folder; home folders often are. By hand: mount\n"
        "it by NFS, or without administrator's rights by sshfs.",
    )


def ports(answers: NodeAnswers, address: str) -> CheckResult:
    """Can every node call this side?"""
    wrong = [
        f"{n}: {s['call']}" for n, s in answers.said.items() if s["call"].startswith("failed")
    ]
    if not wrong:
        return CheckResult(
            "ports", "ok", f"all nodes can call {address}; nothing listens elsewhere"
        )
    return CheckResult(
        "ports",
        "fail",
        f"calling {address}: {_some(wrong)}",
        "A firewall: ask for all TCP ports between the nodes and this machine, on the cluster's "
        "own\nnetwork; or name the network they share in SITE_INTERFACE.",
    )


def gpus(answers: NodeAnswers, expected: int) -> CheckResult:
    """The same GPUs on every node, as many as the site's notes say?"""
    counted = {node: len(said["gpus"]) for node, said in answers.said.items()}
    kinds = {kind.partition(": ")[2] for said in answers.said.values() for kind in said["gpus"]}
    if set(counted.values()) == {expected} and len(kinds) <= 1:
        what = f"{expected} x {next(iter(kinds))} on each node" if kinds else "none on any node"
        return CheckResult("GPUs", "ok", what)
    found = ", ".join(f"{node} {count}" for node, count in counted.items())
    return CheckResult(
        "GPUs",
        "warn",
        f"{found}; SITE_GPUS says {expected}"
        + (f"; kinds: {_some(sorted(kinds))}" if kinds else ""),
        "Mend SITE_GPUS, or ask for them (SBATCH_GPUS_PER_NODE); nodes that differ make ranks "
        "wait for the slowest.",
    )


def world(together: Sequence[Mapping[str, Any]], ranks: int, expected: set[str]) -> CheckResult:
    """Are all ranks in one world, one on each node?"""
    where = [rank["node"] for rank in together]
    if len(together) != ranks:
        return CheckResult(
            "MPI",
            "fail",
            f"{ranks} ranks were started, and one believes to be in a world of {len(together)}",
            "The starter and the library do not fit: SITE_MPI names what starts ranks here\n"
            "(mpiexec, 'srun --mpi=pmix' or 'srun --mpi=pmi2'; 'srun --mpi=list' shows all).",
        )
    if set(where) != expected:
        return CheckResult(
            "MPI",
            "fail",
            f"{ranks} ranks, but on {_some(sorted(set(where)))} only",
            "Ask for one rank a node: --nodes and --ntasks-per-node, or slots=1 in the hostfile.",
        )
    return CheckResult(
        "MPI", "ok", f"{ranks} ranks know of each other, on {len(set(where))} nodes"
    )


def network(together: Sequence[Mapping[str, Any]], wanted: str) -> CheckResult:
    """Over which interface do messages of MPI cross?"""
    if len({rank["node"] for rank in together}) == 1:
        return CheckResult("network", "ok", "one node: messages cross memory")
    carriers = Counter(
        name for rank in together for name, sent in rank["sent"].items() if sent >= 0.8 * MOVED
    )
    mend = (
        "Name the network in SITE_INTERFACE; by hand for Open MPI: "
        "OMPI_MCA_btl_tcp_if_include=NAME\nPRTE_MCA_prte_if_include=NAME; for MPICH: "
        "-iface NAME; for UCX: UCX_NET_DEVICES=NAME."
    )
    if not carriers:
        return CheckResult(
            "network", "ok", "no interface counted the messages: they pass the system by (RDMA)"
        )
    found = ", ".join(carriers)
    if wanted and set(carriers) != {wanted}:
        return CheckResult("network", "fail", f"MPI crosses by {found}, not by {wanted}", mend)
    if len(carriers) > 1:
        return CheckResult("network", "warn", f"MPI crosses by {found}: nodes differ", mend)
    there = sorted(set(psutil.net_if_addrs()) - {"lo"})
    choice = f" (here are {', '.join(there)})" if len(there) > 1 and not wanted else ""
    return CheckResult("network", "ok", f"MPI crosses by {found}{choice}")


def listening(together: Sequence[Mapping[str, Any]]) -> CheckResult:
    """Can ranks be called from networks that are not the cluster's own?"""
    everywhere = [
        f"{rank['node']} at {', '.join(rank['interfaces'])}"
        for rank in together
        if {"0.0.0.0", "::"} & set(rank["listens"]) and len(rank["interfaces"]) > 1
    ]
    if not everywhere:
        return CheckResult(
            "listening", "ok", "ranks listen on the network between the nodes alone"
        )
    return CheckResult(
        "listening",
        "warn",
        f"this MPI's ranks listen on every network: {_some(everywhere)}",
        "Open MPI cannot be told otherwise: let a firewall close the networks that are not the "
        "cluster's own.\nMPICH listens where SITE_INTERFACE says.",
    )


def clocks(together: Sequence[Mapping[str, Any]]) -> CheckResult:
    """Do the nodes agree what time it is?"""
    worst = max(together, key=lambda rank: abs(rank["ahead"]))
    apart, bound = abs(worst["ahead"]), max(rank["bound"] for rank in together)
    found = f"at most {apart:.3g} s apart ({worst['node']}), known to {bound:.2g} s"
    if apart <= SLOW_CLOCK + bound:
        return CheckResult("clocks", "ok", found)
    return CheckResult(
        "clocks",
        "fail" if apart > WRONG_CLOCK else "warn",
        found,
        "Start a time service on all nodes (chrony, systemd-timesyncd): Slurm refuses at 300 s.\n"
        "Timelines do not depend on it: measure.clocks corrects them.",
    )


def _some(found: Sequence[str], most: int = 3) -> str:
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return "; ".join(found[:most]) + more
