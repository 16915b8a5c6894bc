"""The doctor of nodes: do they form one machine, and if not, what is to be done?

Asked are, in this order: the names; the way onto each node; what each node says of itself; what
MPI ranks on all nodes find out together, each of which runs `python -m
ddl_class.clusters.node_checks`. They say where they are, compare their clocks (`measure.clocks`),
and pass a few MiB to the next node: the interface whose count grew by those bytes is the one that
MPI takes. What to look at: that interface. Clusters often have two networks, and the slow one is
the one that everybody finds by name.
"""

import json
import secrets
import shlex
import socket
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from ddl_class.clusters import on_node
from ddl_class.clusters.grounds import NodeAccess
from ddl_class.doctor.finding import CheckResult, ask, check, fail, warn
from ddl_measure.clocks import compare_clocks
from ddl_runtime.launcher.join import join
from ddl_teach.collectives import tree
from ddl_teach.comm import Comm

MESSAGES, NBYTES = 4, 2**20
LISTEN = psutil.CONN_LISTEN


def crossing(comm: Comm) -> dict:
    """What a rank finds of clocks, cards and messages between nodes; all call it together."""
    reading = compare_clocks(comm)
    # How far the time of day here is ahead of rank 0's, at one moment.
    day = np.array([time.time() - comm.now() + reading.ahead])
    first = day.copy()
    tree.broadcast(comm, first)
    before = psutil.net_io_counters(pernic=True)
    onward, back = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    x, y = np.zeros(NBYTES, np.uint8), np.empty(NBYTES, np.uint8)
    for _ in range(MESSAGES):
        comm.sendrecv(x, onward, y, back)
    comm.barrier()
    after = psutil.net_io_counters(pernic=True)
    return {
        "node": socket.gethostname(),
        "ahead": float(day[0] - first[0]),
        "bound": reading.bound,
        "listens": sorted(
            {line.laddr.ip for line in psutil.Process().net_connections() if line.status == LISTEN}
        ),
        "interfaces": [
            name
            for name, state in psutil.net_if_stats().items()
            if state.isup and "loopback" not in state.flags and name in psutil.net_if_addrs()
        ],
        "sent": {
            name: count.bytes_sent - before[name].bytes_sent
            for name, count in after.items()
            if name in before
        },
    }


SLOW_CLOCK, WRONG_CLOCK = 1.0, 60.0  # seconds apart; Slurm's MUNGE refuses at 300
MOVED = MESSAGES * NBYTES

KEYS = (
    "ssh-keygen -t ed25519 (once, unless you have a key), then ssh-copy-id {node};\n"
    "try it: ssh -o BatchMode=yes {node} true"
)
NO_PYTHON = "The Python of the course is missing there: set SITE_PYTHON to one that all nodes see."
UNREACHED = {
    "Permission denied": f"It asks for a password. {KEYS}",
    "Host key verification failed": "Its key is unknown: ssh {node} once by hand, compare the "
    "fingerprint\nwith what the administrator gives, and say yes.",
    "Could not resolve": "Its name is unknown here: mend the hostfile, or add the name to "
    "/etc/hosts\nor ~/.ssh/config.",
    "Connection refused": "No sshd listens there: install and start openssh-server, or name its "
    "port in ~/.ssh/config.",
    "timed out": "It is off, or a firewall lies between: ask for port 22 from here to {node}.",
    "cannot execute": NO_PYTHON,
    "No such file": NO_PYTHON,
    "": "Mend that first.",
}
MEND = {
    "names": "A line 'address name' for each node in /etc/hosts of all of them, and no line that "
    "gives\na node's own name 127.0.1.1, as Debian's installer writes it.",
    "pythons": "Put the course and its .venv into a folder that all nodes share, and name its "
    "Python in SITE_PYTHON.",
    "packages": "Run start.py on the nodes that lag behind, or share one .venv.",
    "shared folder": "Name one that all nodes mount, with --folder; home folders often are. By "
    "hand: mount\nit by NFS, or without administrator's rights by sshfs.",
    "ports": "A firewall: ask for all TCP ports between the nodes and this machine, on the "
    "cluster's own\nnetwork; or name the network they share in SITE_INTERFACE.",
    "GPUs": "Mend SITE_GPUS, or ask for them (SBATCH_GPUS_PER_NODE); nodes that differ make ranks "
    "wait for the slowest.",
    "starter": "The starter and the library do not fit: SITE_MPI names what starts ranks here\n"
    "(mpiexec, 'srun --mpi=pmix' or 'srun --mpi=pmi2'; 'srun --mpi=list' shows all).",
    "MPI": "Ask for one rank a node: --nodes and --ntasks-per-node, or slots=1 in the hostfile.",
    "network": "Name the network in SITE_INTERFACE; by hand for Open MPI: "
    "OMPI_MCA_btl_tcp_if_include=NAME\nPRTE_MCA_prte_if_include=NAME; for MPICH: "
    "-iface NAME; for UCX: UCX_NET_DEVICES=NAME.",
    "listening": "Open MPI cannot be told otherwise: let a firewall close the networks that are "
    "not the cluster's own.\nMPICH listens where SITE_INTERFACE says.",
    "clocks": "Start a time service on all nodes (chrony, systemd-timesyncd): Slurm refuses at "
    "300 s.\nTimelines do not depend on it: measure.clocks corrects them.",
}
Ranks = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class NodeAnswers:
    """What came back from the nodes: of each its own facts, or why there is none."""

    said: Mapping[str, Mapping[str, Any]]
    failed: Mapping[str, str]
    mark: str  # what a node must have read in the shared folder
    arrived: tuple[str, ...]  # the nodes whose own marks arrived there


def ask_nodes(ground: NodeAccess, folder: Path) -> NodeAnswers:
    """Ask all nodes at the same time, and see what they can write into `folder`."""
    mark, text = folder / f"mark-{secrets.token_hex(4)}", secrets.token_hex(8)
    # They exist before a node writes them: opened again, also NFS shows what is in them now.
    marks = {node: mark.with_name(f"{mark.name}.{node}") for node in ground.nodes}
    source = Path(on_node.__file__).read_text()  # a node need not have the course to answer
    try:
        for path, what in ((mark, text), *((path, "") for path in marks.values())):
            path.write_text(what)
        # Nobody need open the door: a call has come through once the system has noted it.
        address = ground.listens_at, 0
        with (
            socket.create_server(address, backlog=len(marks) + 16) as door,
            ThreadPoolExecutor(16) as crowd,
        ):
            port = door.getsockname()[1]

            def ask_one(node: str) -> list[dict] | str:
                place = [str(mark), node, ground.listens_at, str(port)]
                words = [ground.python, "-", *place, *ground.nodes]
                return ask(ground.words(node, words), source)

            replies = dict(zip(ground.nodes, crowd.map(ask_one, ground.nodes), strict=True))
        arrived = tuple(node for node, path in marks.items() if path.read_text() == text)
    finally:
        for path in (mark, *marks.values()):
            path.unlink(missing_ok=True)
    return NodeAnswers(
        {node: reply[0] for node, reply in replies.items() if not isinstance(reply, str)},
        {node: reply for node, reply in replies.items() if isinstance(reply, str)},
        text,
        arrived,
    )


def examine_nodes(ground: NodeAccess, folder: Path) -> list[CheckResult]:
    """Every finding about these nodes; `folder` should be one that all of them share."""
    answers, count = ask_nodes(ground, folder), len(ground.nodes)
    findings = [names(ground.nodes, answers), entered(answers)]
    if not answers.said:
        return findings
    findings += [
        alike(answers),
        shared_folder(answers, folder),
        ports(answers, ground.listens_at),
        gpus(answers, ground.site.gpus),
    ]
    command = [ground.python, "-m", "ddl_class.clusters.node_checks"]
    together = ask(ground.on_all(count, command))
    if isinstance(together, str):
        by_hand = "Try by hand: " + shlex.join(ground.on_all(count, ["hostname"]))
        failed = f"{count} ranks on {count} nodes: {together}"
        return [*findings, CheckResult("MPI", "fail", failed, by_hand)]
    return [
        *findings,
        world(together, count, {facts["name"] for facts in answers.said.values()}),
        network(together, ground.site.interface),
        listening(together),
        clocks(together),
    ]


@check("names")
def names(nodes: Sequence[str], answers: NodeAnswers) -> str | CheckResult:
    """Does every node know every other by a name that leads to it?"""
    wrong = [
        f"{node} takes {name} for {address}"
        for node, facts in answers.said.items()
        for name, address in facts["addresses"].items()
        if address.startswith("unknown") or (address.startswith("127.") and len(nodes) > 1)
    ]
    return _none_of(wrong, "names", f"all {len(nodes)} are known to each other")


@check("entering")
def entered(answers: NodeAnswers) -> str | CheckResult:
    """Can a command be run on every node, without anybody typing a password?"""
    if not answers.failed:
        return f"all {len(answers.said)} nodes, without a password"
    node, why = next(iter(answers.failed.items()))
    mend = next(mend for words, mend in UNREACHED.items() if words in why)
    failed = _some([f"{node}: {why}" for node, why in answers.failed.items()])
    return fail(failed, mend.format(node=node))


@check("Python")
def alike(answers: NodeAnswers) -> str | CheckResult:
    """The same Python and packages everywhere?"""
    pythons = Counter(facts["python"] for facts in answers.said.values())
    if len(pythons) > 1:
        usual = pythons.most_common(1)[0][0]
        others = [f"{n}: {s['python']}" for n, s in answers.said.items() if s["python"] != usual]
        return fail(f"{usual}; but {_some(others)}", MEND["pythons"])
    packages = {name for facts in answers.said.values() for name in facts["packages"]}
    differing = []
    for name in sorted(packages):
        versions = {facts["packages"].get(name, "missing") for facts in answers.said.values()}
        if len(versions) > 1:
            differing.append(f"{name} {' and '.join(sorted(versions))}")
    if differing:
        return fail(f"packages differ between nodes: {_some(differing)}", MEND["packages"])
    return f"{next(iter(pythons))}, {len(packages)} packages alike"


@check("shared folder")
def shared_folder(answers: NodeAnswers, folder: Path) -> str | CheckResult:
    """Does every node see the same files, there and back?"""
    seen = {node: facts["mark"] for node, facts in answers.said.items()}
    wrong = [f"{node}: {mark}" for node, mark in seen.items() if mark != answers.mark]
    wrong += [
        f"{node}: what it writes does not arrive here"
        for node, mark in seen.items()
        if mark == answers.mark and node not in answers.arrived
    ]
    return _none_of(wrong, "shared folder", f"{folder} is the same on all nodes", f"{folder}: ")


@check("ports")
def ports(answers: NodeAnswers, address: str) -> str | CheckResult:
    """Can every node call this side?"""
    calls = {node: facts["call"] for node, facts in answers.said.items()}
    wrong = [f"{node}: {call}" for node, call in calls.items() if call.startswith("failed")]
    well = f"all nodes can call {address}; nothing listens elsewhere"
    return _none_of(wrong, "ports", well, f"calling {address}: ")


@check("GPUs")
def gpus(answers: NodeAnswers, expected: int) -> str | CheckResult:
    """The same GPUs on every node, as many as the site's notes say?"""
    counted = {node: len(facts["gpus"]) for node, facts in answers.said.items()}
    kinds = {kind.partition(": ")[2] for facts in answers.said.values() for kind in facts["gpus"]}
    if set(counted.values()) == {expected} and len(kinds) <= 1:
        return f"{expected} x {next(iter(kinds))} on each node" if kinds else "none on any node"
    counts = ", ".join(f"{node} {count}" for node, count in counted.items())
    shown = f"; kinds: {_some(sorted(kinds))}" if kinds else ""
    return warn(f"{counts}; SITE_GPUS says {expected}{shown}", MEND["GPUs"])


@check("MPI")
def world(together: Ranks, ranks: int, expected: set[str]) -> str | CheckResult:
    """Are all ranks in one world, one on each node?"""
    where = {rank["node"] for rank in together}
    if len(together) != ranks:
        alone = f"{ranks} ranks were started, and one believes to be in a world of {len(together)}"
        return fail(alone, MEND["starter"])
    if where != expected:
        return fail(f"{ranks} ranks, but on {_some(sorted(where))} only", MEND["MPI"])
    return f"{ranks} ranks know of each other, on {len(where)} nodes"


@check("network")
def network(together: Ranks, wanted: str) -> str | CheckResult:
    """Over which interface do messages of MPI cross?"""
    if len({rank["node"] for rank in together}) == 1:
        return "one node: messages cross memory"
    carriers = Counter(
        name for rank in together for name, sent in rank["sent"].items() if sent >= 0.8 * MOVED
    )
    if not carriers:
        return "no interface counted the messages: they pass the system by (RDMA)"
    crossed = f"MPI crosses by {', '.join(carriers)}"
    if wanted and set(carriers) != {wanted}:
        return fail(f"{crossed}, not by {wanted}", MEND["network"])
    if len(carriers) > 1:
        return warn(f"{crossed}: nodes differ", MEND["network"])
    there = sorted(set(psutil.net_if_addrs()) - {"lo"})
    choice = f" (here are {', '.join(there)})" if len(there) > 1 and not wanted else ""
    return f"{crossed}{choice}"


@check("listening")
def listening(together: Ranks) -> str | CheckResult:
    """Can ranks be called from networks that are not the cluster's own?"""
    everywhere = [
        f"{rank['node']} at {', '.join(rank['interfaces'])}"
        for rank in together
        if {"0.0.0.0", "::"} & set(rank["listens"]) and len(rank["interfaces"]) > 1
    ]
    if everywhere:
        open_ranks = f"this MPI's ranks listen on every network: {_some(everywhere)}"
        return warn(open_ranks, MEND["listening"])
    return "ranks listen on the network between the nodes alone"


@check("clocks")
def clocks(together: Ranks) -> str | CheckResult:
    """Do the nodes agree what time it is?"""
    worst = max(together, key=lambda rank: abs(rank["ahead"]))
    apart, bound = abs(worst["ahead"]), max(rank["bound"] for rank in together)
    measured = f"at most {apart:.3g} s apart ({worst['node']}), known to {bound:.2g} s"
    if apart <= SLOW_CLOCK + bound:
        return measured
    return (fail if apart > WRONG_CLOCK else warn)(measured, MEND["clocks"])


def _none_of(wrong: Sequence[str], cure: str, well: str, place: str = "") -> str | CheckResult:
    return fail(place + _some(wrong), MEND[cure]) if wrong else well


def _some(wrong: Sequence[str], most: int = 3) -> str:
    more = f" and {len(wrong) - most} more" if len(wrong) > most else ""
    return "; ".join(wrong[:most]) + more


if __name__ == "__main__":
    run = join(crossing)
    for result in run.results if run else ():
        print(json.dumps(result), flush=True)
