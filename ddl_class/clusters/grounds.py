"""The notes of a site, and four grounds: this laptop, a box, hosts reached by ssh, Slurm's nodes.

An instructor fills in `cluster_setup/site.sh` once, lines NAME=value that a shell and this file
both understand: what differs from site to site. `slurm/submit` gives sbatch partition, account and
the like, so one batch script serves every site. DDL_TEACH_SITE names notes that stand elsewhere.

Each ground says which nodes it has, where this side listens on the network between them, and how
to run words: on one node, and as MPI ranks on all. ssh is never allowed to ask for a password:
what asks in the middle of a class hangs, so it fails instead, and the doctor says what to do.
"""

import contextlib
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ddl_class.commands.mistake import Mistake, noted_lines
from ddl_class.doctor.finding import ROOT, CheckResult
from ddl_runtime.launcher.mpiexec import as_root, mpi_command, mpi_family, mpiexec_path

if TYPE_CHECKING:
    from ddl_class.clusters.box.box import Box

SETUP = ROOT / "cluster_setup"
NOTES = SETUP / "site.sh"
PATIENCE = 30  # seconds for one question to Slurm
LINE = re.compile(r"(SITE_[A-Z]+)=(.*)")
SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
HOST = re.compile(r"(?P<name>[^\s:]+)(?:\s+slots=(?P<slots>\d+)|:(?P<ppn>\d+))?")
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Site:
    """One site; what is empty is left to the scheduler's or the system's own default."""

    partition: str = ""
    account: str = ""
    qos: str = ""
    reservation: str = ""
    constraint: str = ""
    gres: str = ""
    time: str = "00:30:00"
    modules: str = ""
    modulefile: str = ""  # the shell file that defines `module`, where none is known
    python: str = ""  # the Python of the course, on every node
    mpi: str = "mpiexec"  # starts ranks on all nodes of a job
    interface: str = ""  # the network between nodes, as `ip address` calls it
    gpus: int = 0  # a node
    engines: str = ""  # where a notebook's engines run: see `places`
    pernode: int = 0  # of them on each node of a job; 0: as many as Slurm puts there
    hostfile: str = ""
    wait: int = 600  # seconds that a notebook waits for its engines, in the queue too


NUMBERS = {field.name for field in fields(Site) if field.type is int}


def read_site(notes: Path | None = None) -> Site:
    """The site that these notes describe; an error names the line that cannot be understood."""
    elsewhere = os.environ.get("DDL_TEACH_SITE")
    notes = notes or Path(elsewhere or NOTES)
    if not elsewhere and not SETUP.exists():
        return Site()  # an installed course has no notes
    try:
        lines = notes.read_text().splitlines()
    except OSError as error:
        raise Mistake(f"{notes} cannot be read: {error.strerror}") from None
    known = {f"SITE_{field.name.upper()}": field.name for field in fields(Site)}
    values: dict[str, Any] = {}
    for number, line in enumerate(lines, start=1):
        try:
            words = shlex.split(line, comments=True)
            if not words:
                continue
            match = LINE.fullmatch(words[0])
            if match is None or len(words) > 1:
                what = "is not NAME=value; put a value with blanks into quotation marks"
                raise ValueError(f"'{line.strip()}' {what}")
            if match[1] not in known:
                raise ValueError(f"{match[1]} is unknown; there are {', '.join(sorted(known))}")
            if known[match[1]] in NUMBERS and not (match[2] or "0").isdigit():
                raise ValueError(f"{match[1]} is a whole number, not {match[2]!r}")
        except ValueError as error:
            raise Mistake(f"{notes}, line {number}: {error}") from None
        name, value = known[match[1]], match[2]
        if name not in NUMBERS:
            values[name] = value
        elif value:
            values[name] = int(value)
    return Site(**values)


def submission(site: Site) -> list[str]:
    """The words for sbatch with which a job of the course is submitted at this site; the shell's
    are in `slurm/options.sh`."""
    notes = asdict(site) | {"gpus-per-node": site.gpus}
    asked = "partition account qos reservation constraint gres time gpus-per-node".split()
    return [f"--{option}={notes[option]}" for option in asked if notes[option]]


def login_node(site: Site) -> list[CheckResult]:
    """What can be said from a login node: is Slurm there, and do the notes fit it?"""
    if shutil.which("sbatch") is None:
        mend = "Go to a login node, or load Slurm's module."
        return [CheckResult("Slurm", "fail", "no sbatch here", mend)]
    ask = {"capture_output": True, "text": True, "timeout": PATIENCE}
    try:
        there = subprocess.run(["sinfo", "--noheader", "--format=%R %a %D %T"], check=True, **ask)
    except (OSError, subprocess.SubprocessError):
        mend = "'scontrol ping' says more; the administrators know."
        return [CheckResult("Slurm", "fail", "its controller does not answer", mend)]
    known = ", ".join(dict.fromkeys(line.split()[0] for line in there.stdout.splitlines()))
    findings = [CheckResult("Slurm", "ok", f"partitions: {known}")]
    if site.partition and site.partition not in known.split(", "):
        missing = f"SITE_PARTITION={site.partition} does not exist here"
        mend = f"Name one of {known} in {NOTES}."
        findings.append(CheckResult("partition", "fail", missing, mend))
    # Slurm itself says whether it would take such a job: nothing is started.
    status, answer = 1, "nothing"
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        words = ["sbatch", "--test-only", *submission(site), "--nodes=1", "--wrap=true"]
        tried = subprocess.run(words, **ask)
        status, answer = tried.returncode, (tried.stderr.strip().splitlines() or [answer])[-1]
    if status == 0:
        return [*findings, CheckResult("a job", "ok", answer.removeprefix("sbatch: "))]
    mend = (
        f"Mend SITE_ACCOUNT, SITE_QOS, SITE_TIME, SITE_GPUS and the like in {NOTES};\n"
        "'sacctmgr show assoc user=$USER' lists what you may use, 'scontrol show reservation' "
        "what is reserved."
    )
    return [*findings, CheckResult("a job", "fail", f"would be refused: {answer}", mend)]


class NodeAccess(ABC):
    """Nodes, and the ways onto them."""

    name: str
    nodes: tuple[str, ...]
    listens_at: str  # where this side listens for the nodes
    site: Site
    engines: str = "mpi"  # how ipyparallel starts its engines here

    @abstractmethod
    def words(self, node: str, command: Sequence[str]) -> list[str]:
        """What to run here so that `command` runs on that node."""

    @abstractmethod
    def mpi_words(self, ranks: int, mpiexec: str, family: str) -> list[str]:
        """The words before `python` that start `ranks` ranks, spread over all nodes."""

    def on_all(self, ranks: int, command: Sequence[str]) -> list[str]:
        """What to run here so that `ranks` MPI ranks run `command`, spread over all nodes."""
        mpiexec = mpiexec_path()
        return [*self.mpi_words(ranks, str(mpiexec), mpi_family(mpiexec)), *command]

    @property
    def python(self) -> str:
        """The Python of the course, on every node."""
        return self.site.python or sys.executable


class Laptop(NodeAccess):
    """One node, this one; nothing listens beyond it."""

    def __init__(self, site: Site) -> None:
        self.name, self.nodes, self.site = "laptop", ("localhost",), site
        self.listens_at = LOOPBACK

    def words(self, node: str, command: Sequence[str]) -> list[str]:
        return list(command)

    def mpi_words(self, ranks: int, mpiexec: str, family: str) -> list[str]:
        return mpi_command(ranks)


class InBox(NodeAccess):
    """The cluster in a box, from its head."""

    def __init__(self, site: Site, box: "Box") -> None:
        self.name, self.nodes, self.site = "box", box.nodes, replace(site, python=box.python)
        self.listens_at = address_of("", self.nodes)
        self._box = box

    def words(self, node: str, command: Sequence[str]) -> list[str]:
        return self._box.hosts.words(node, command)

    def mpi_words(self, ranks: int, mpiexec: str, family: str) -> list[str]:
        return self._box.mpi_words(ranks, mpiexec, family)


class Hosts(NodeAccess):
    """Hosts that a hostfile lists, reached by ssh."""

    def __init__(self, site: Site, hostfile: Path) -> None:
        self.name, self.site, self.hostfile = "hosts", site, hostfile.absolute()
        self.nodes = tuple(read_hostfile(hostfile))
        self.listens_at = address_of(site.interface, self.nodes)

    def words(self, node: str, command: Sequence[str]) -> list[str]:
        return [*SSH, node, shlex.join(command)]  # at ssh's other end is a shell

    def mpi_words(self, ranks: int, mpiexec: str, family: str) -> list[str]:
        interface = self.site.interface
        each = -(-ranks // len(self.nodes))  # on a node, and they are neighbours
        if family == "openmpi":
            options = ["--hostfile", str(self.hostfile)]
            options += ["--map-by", f"ppr:{each}:node:OVERSUBSCRIBE"]
            options += ["--bind-to", "none", "--prtemca", "plm_ssh_agent", shlex.join(SSH)]
            if interface:
                options += ["--prtemca", "prte_if_include", interface]
                options += ["--mca", "btl_tcp_if_include", interface]
            options += as_root()
        else:
            options = ["-launcher", "ssh", "-hosts", ",".join(self.nodes), "-ppn", str(each)]
            options += ["-iface", interface] if interface else []
        return [mpiexec, *options, "-n", str(ranks)]


class Slurm(NodeAccess):
    """The allocation of the Slurm job that this runs in."""

    engines = "slurm"

    def __init__(self, site: Site) -> None:
        listed = os.environ.get("SLURM_JOB_NODELIST")
        self.name, self.site = "slurm", site
        self.nodes = tuple(_said(["scontrol", "show", "hostnames", listed])) if listed else ()

    @cached_property
    def listens_at(self) -> str:  # on a login node only who starts engines needs to know
        nodes = self.nodes or _said(["sinfo", "--noheader", "--Node", "--format=%N"])
        return address_of(self.site.interface, nodes)

    def words(self, node: str, command: Sequence[str]) -> list[str]:
        # --overlap: the job's processors may be busy with the very step that asks.
        place = ["--overlap", "--nodes=1", "--ntasks=1", f"--nodelist={node}", "--mpi=none"]
        return ["srun", *place, *command]

    def mpi_words(self, ranks: int, mpiexec: str, family: str) -> list[str]:
        starter = shlex.split(self.site.mpi or "mpiexec")
        if starter[0] != "srun":
            return [*starter, "-n", str(ranks)]
        each = -(-ranks // len(self.nodes))
        return [*starter, "--overlap", "-n", str(ranks), f"--ntasks-per-node={each}"]


def read_hostfile(hostfile: Path) -> dict[str, int]:
    """The hosts of a hostfile and their slots: lines `name slots=N`, or `name:N` for Hydra."""
    slots: dict[str, int] = {}
    for number, host in noted_lines(hostfile, "host").items():
        match = HOST.fullmatch(host)
        if match is None:
            raise Mistake(f"{hostfile}, line {number}: '{host}' is not 'name slots=N'")
        if match["name"] in slots:
            raise Mistake(f"{hostfile}, line {number}: {match['name']} stands there twice")
        slots[match["name"]] = int(match["slots"] or match["ppn"] or 1)
    if not slots:
        raise Mistake(f"{hostfile} lists no host: write one a line, as 'name slots=N'")
    return slots


def address_of(interface: str, nodes: Sequence[str]) -> str:
    """Our address on that interface; without one, that from which the first node is reached.

    A name that leads nowhere leaves us with an address that nobody else can call.
    """
    if interface:
        import psutil

        for each in psutil.net_if_addrs().get(interface, []):
            if each.family == socket.AF_INET:
                return each.address
        there = ", ".join(psutil.net_if_addrs())
        raise Mistake(f"SITE_INTERFACE={interface} has no address here: take one of {there}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((nodes[0], 9))  # sends nothing
        except OSError:
            return LOOPBACK
        return probe.getsockname()[0]


def _said(words: list[str]) -> list[str]:
    if shutil.which(words[0]) is None:
        raise Mistake(f"there is no {words[0]} here: load Slurm's module, or go to a login node")
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise Mistake(f"Slurm's {words[0]} does not work here. It said: {done.stderr.strip()}")
    return done.stdout.split()
