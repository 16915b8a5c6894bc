"""How MPI finds the nodes of the box: the environment on its head, and the words for one start.

MPI starts a helper on each node through an *agent*, on a real cluster ssh; here a shell script
that enters the node's namespaces. Each setting cures something that was measured:

- every node sees all cores of the machine: bound to cores, all ranks would sit on the first one;
- more ranks than cores: a rank that waits must give way (4 KiB on a ring: 0.8 ms instead of 19);
- Open MPI's TCP: with its default protocol, messages both ways at once take twice as long.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

PYTHON = "/run/python"  # where every node sees the folder of this Python, whatever its name
OPENMPI_HOSTS, MPICH_HOSTS = "hosts.openmpi", "hosts.mpich"
SLURM_CONF = "slurm.conf"  # in the folder of a box with Slurm

# Enters a node as ssh would: HOST and then a command, its words put together to one line.
AGENT = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done      # options for ssh
node=$1
shift
enter='cd "$0" 2>/dev/null || cd /; eval "$1"'
[ "$node" != head ] || exec /bin/sh -c "$enter" "$PWD" "$*"
pid=$(cat "{folder}/nodes/$node") || exit 255
inside="--pid=/proc/$pid/ns/pid_for_children"
exec nsenter -t "$pid" -n -m -u -i "$inside" -- /bin/sh -c "$enter" "$PWD" "$*"
"""


def seen_there(program: str) -> str:
    """The path of a program of this Python's folder, as every node sees it."""
    inside = Path(program).is_relative_to(sys.prefix)
    return f"{PYTHON}/{Path(program).relative_to(sys.prefix)}" if inside else program


def environment(agent: str, folder: Path) -> dict[str, str]:
    """For whatever runs on the head: mpiexec, ipyparallel, a notebook, commands of Slurm."""
    conf = folder / SLURM_CONF
    return {
        # Open MPI
        "PRTE_MCA_plm_ssh_agent": agent,
        "PRTE_MCA_prte_default_hostfile": str(folder / OPENMPI_HOSTS),
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        "PRTE_MCA_rmaps_default_mapping_policy": "slot:oversubscribe",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",  # whoever enters the box is root there, and only there
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "self,sm,tcp",
        "OMPI_MCA_btl_tcp_flags": "send",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_osc": "^ucx",
        # MPICH
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXEC": agent,
        "HYDRA_HOST_FILE": str(folder / MPICH_HOSTS),
        **({"SLURM_CONF": str(conf)} if conf.exists() else {}),
    }


def write_hosts(folder: Path, nodes: Sequence[str]) -> None:
    """The nodes, as each MPI reads them: one rank on each before any has two."""
    (folder / OPENMPI_HOSTS).write_text("".join(f"{node} slots=1\n" for node in nodes))
    (folder / MPICH_HOSTS).write_text("".join(f"{node}:1\n" for node in nodes))


def mpi_words(mpiexec: str, family: str, nodes: Sequence[str], ranks: int) -> list[str]:
    """The words before `python`: neighbouring ranks on one node, as evenly as it goes."""
    each, more = divmod(ranks, len(nodes))
    slots = [each + (at < more) for at in range(len(nodes))]
    hosts = ",".join(f"{node}:{count}" for node, count in zip(nodes, slots, strict=True) if count)
    if family == "openmpi":
        options = ["--host", hosts, "--map-by", "slot", "--bind-to", "none"]
    else:
        options = ["-hosts", hosts]
    return [seen_there(mpiexec), *options, "-n", str(ranks)]
