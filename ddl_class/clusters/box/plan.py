"""Whether there can be a box here; the files that its nodes share, and how MPI finds the nodes.

MPI starts a helper on each node through an *agent*, on a real cluster ssh; here a shell script
that enters the node's namespaces. Each of MPI's settings cures something that was measured:

- every node sees all cores of the machine: bound to cores, all ranks would sit on the first one;
- more ranks than cores: a rank that waits must give way (4 KiB on a ring: 0.8 ms instead of 19);
- Open MPI's TCP: with its default protocol, messages both ways at once take twice as long.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddl_class.clusters.box import links
from ddl_class.commands.mistake import Mistake

PACKAGE = Path(__file__).resolve().parents[3]
NETWORK = "10.77.0."
USUAL = "box"  # the name of a box that is given none
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


def address(number: int) -> str:
    """Of node `number`."""
    return f"{NETWORK}{10 + number}"


def path_of(name: str, course: Path = PACKAGE) -> Path:
    """The folder of this checkout's box of that name: two checkouts have a folder each."""
    if not re.fullmatch(r"[\w-]{1,20}", name):
        raise Mistake(f"a box cannot be called {name!r}: letters, digits, - and _, 20 at most")
    # Short, for sockets must stand in it; in /tmp, for nodes see another one there.
    checkout = hashlib.sha256(str(course).encode()).hexdigest()[:6]
    return Path("/tmp") / f"ddl-box-{os.getuid()}" / checkout / name


def search_path() -> str:
    """Where programs are: this Python's first; `tc` often lies where only root's PATH leads."""
    own = str(Path(sys.prefix) / "bin")
    return os.pathsep.join([own, os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def check_ours(path: Path) -> None:
    """Refuse a box's folder if it, or one that it lies in, is what somebody else put there. A
    link is refused, too: it could lead to what must not be removed."""
    for folder in (path.parent.parent, path.parent, path):
        with contextlib.suppress(FileNotFoundError):
            about = folder.lstat()  # of the link itself, if it is one
            if not stat.S_ISDIR(about.st_mode):
                raise Mistake(f"{folder} is no folder: ask its owner to remove it")
            if about.st_uid != os.getuid():
                raise Mistake(f"{folder} belongs to another user: ask them to remove it")


def new_folder(name: str) -> Path:
    """For a box that does not exist yet; nobody else can look into it."""
    path = path_of(name)
    for folder in (path.parent.parent, path.parent):
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        check_ours(path)  # before anything is made in it
        folder.chmod(0o700)  # also one that was there before
    shutil.rmtree(path, ignore_errors=True)  # of one that ended in the middle
    path.mkdir(mode=0o700)
    return path


def write(
    folder: Path,
    nodes: Sequence[str],
    switch: str,
    rate: float,
    share: Sequence[str],
    over: Path | None = None,
) -> Path:
    """Write all of it; returns the file for the head. What is `over` is to lie over /usr."""
    addresses = {node: address(number) for number, node in enumerate(nodes)}
    hosts = ["127.0.0.1 localhost", f"{NETWORK}1 head"]
    hosts += [f"{place} {node}" for node, place in addresses.items()]
    (folder / "nodes").mkdir()
    (folder / "hosts").write_text("\n".join(hosts) + "\n")
    # As each MPI reads them: one rank on each node before any has two.
    (folder / OPENMPI_HOSTS).write_text("".join(f"{node} slots=1\n" for node in nodes))
    (folder / MPICH_HOSTS).write_text("".join(f"{node}:1\n" for node in nodes))
    agent = folder / "agent"
    agent.write_text(AGENT.format(folder=folder))
    agent.chmod(0o700)
    shown = [folder, PACKAGE, Path.cwd(), Path.home(), sys.prefix, sys.base_prefix, *share]
    paths = sorted(
        {str(Path(path)) for path in shown} | {os.path.realpath(path) for path in shown}
    )
    kept = [path for path in paths if path.startswith("/tmp/")]
    plan = {
        "folder": str(folder),
        "hosts": str(folder / "hosts"),
        "python": sys.prefix,
        "over": str(over or ""),
        "control": str(folder / "switch"),
        "switch": switch,
        "address": f"{NETWORK}1",
        "nodes": addresses,
        "largest": links.largest_packet(rate, switch),
        "kept": [path for path in kept if not any(path.startswith(f"{other}/") for other in kept)],
    }
    file = folder / "plan.json"
    file.write_text(json.dumps(plan))
    return file


@dataclass(frozen=True)
class Change:
    """What was done to a node last: to its "cable" or its "power", when, and by which process."""

    what: str
    when: float  # seconds since 1970
    process: int
    command: str

    def __str__(self) -> str:
        when = time.strftime("%H:%M:%S", time.localtime(self.when))
        return f"since {when}, by process {self.process} ({self.command})"


def others(name: str) -> list[str]:
    """The other checkouts of this user's that have a box of that name which is up or was."""
    home = path_of(name).parent.parent
    states = (read_state(folder / name) for folder in home.glob("*"))
    return sorted({state["owner"] for state in states if state} - {str(PACKAGE)})


def read_state(folder: Path) -> dict[str, Any] | None:
    """The fields of the box in that folder as they were last saved, if they can be read."""
    try:
        state: dict[str, Any] = json.loads((folder / "state.json").read_text())
        state |= {"folder": Path(state["folder"]), "nodes": tuple(state["nodes"])}
        state |= {"asked": links.Cable(**state["asked"])}
        state |= {"links": {node: links.Cable(**link) for node, link in state["links"].items()}}
        state |= {"changes": {node: Change(**each) for node, each in state["changes"].items()}}
    except (OSError, ValueError, KeyError, TypeError):  # gone, or half of it, or of another age
        return None
    return state


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


TOOLS = {"unshare": "util-linux", "nsenter": "util-linux", "mount": "util-linux"}
TOOLS |= {"ip": "iproute2", "tc": "iproute2"}
SYSTEM = Path("/proc/sys")
# What a file says when ordinary users may make no namespaces, and what allows them to.
FORBIDDEN = {
    "kernel/apparmor_restrict_unprivileged_userns": ("1", "0"),  # Ubuntu 24.04 and later
    "kernel/unprivileged_userns_clone": ("0", "1"),  # older Debian
    "user/max_user_namespaces": ("0", "10000"),
}
OTHERWISE = (
    "Without a box, the same rank programs run on this machine's processes (`launch`) and on "
    "simulated ranks with links of any speed (`simulate`)."
)


def check_system() -> None:
    """Refuse where a box cannot even be tried."""
    if sys.platform != "linux":
        raise Mistake(
            "Only the Linux kernel can make a box, and this system is another one. On macOS use "
            "a Linux machine or a virtual one (Lima, UTM, Multipass); on Windows use WSL2.\n"
            + OTHERWISE
        )
    missing = [tool for tool in TOOLS if shutil.which(tool, path=search_path()) is None]
    if missing:
        packages = " and ".join(sorted({TOOLS[tool] for tool in missing}))
        raise Mistake(
            f"The box needs what is not on PATH: {', '.join(missing)}. Install {packages} with "
            f"this system's package manager.\n{OTHERWISE}"
        )


def refusal(message: str, root: bool, system: Path = SYSTEM) -> Mistake:
    """The explanation of why no box came to be; `message` is in the tools' own words."""
    closed = {
        name: allowed
        for name, (forbidden, allowed) in FORBIDDEN.items()
        if (system / name).is_file() and (system / name).read_text().strip() == forbidden
    }
    if closed and not root:
        settings = [f"{name.replace('/', '.')}={allowed}" for name, allowed in closed.items()]
        cure = "".join(f"\n  sudo sysctl {setting}" for setting in settings)
        why = f"This system does not let ordinary users make namespaces. Allow it once:{cure}"
    elif Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        why = (
            "This is a container that may not make namespaces of its own. Start it with "
            "`--privileged`, or make the box outside of it."
        )
    else:
        why = "What the system said stands below."
    return Mistake(f"No box could be made. {why}\n{OTHERWISE}\n\n{message.strip()}".strip())


def can_delay(root: bool) -> bool:
    """Whether this kernel's own switch can delay and lose packets."""
    probe = "ip link set lo up; tc qdisc add dev lo root netem delay 1ms"
    words = ["unshare", *as_root(root), "--net", "sh", "-c", probe]
    path = os.environ | {"PATH": search_path()}
    return subprocess.run(words, capture_output=True, env=path).returncode == 0


def as_root(root: bool) -> list[str]:
    """The words of `unshare` for being root in a namespace of one's own."""
    return [] if root else ["--user", "--map-root-user"]
