"""Where the engines of a notebook run. The notebook says it, or once for a class the site's notes.

    Engines(8, on="slurm")      a job of Slurm's, which ends with the engines
    Engines(8, on="job")        the nodes of the batch job that the notebook itself runs in
    Engines(8, on="hosts")      those that SITE_HOSTFILE lists, reached by ssh
    Engines(8, on="box")        the cluster in a box that is up
    Engines(8, on="laptop")     this machine, whatever the notes say
    Engines(8)                  what DDL_TEACH_ENGINES says, else SITE_ENGINES, else this machine

Ranks on other machines call the notebook back by TCP, on the network between the nodes. They prove
with a key that they are its own. Then they are engines as any: cells, `check`, diagnoses, time
limits and recovery are the same.
"""

import contextlib
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ddl_class.clusters.box.box import Box
from ddl_class.clusters.grounds import SETUP, Hosts, NodeAccess, Slurm, read_site
from ddl_class.commands.mistake import Mistake
from ddl_runtime.launcher.mpiexec import STARTED_FOR, SharedHosts

VARIABLE = "DDL_TEACH_ENGINES"  # names a place for all notebooks of this session
SCRIPTS = SETUP / "slurm"
SMALL_TALK = 50_000  # bytes that nodes send in a moment without any message of MPI's
STILL_FOR = 1.5  # seconds without more than that: nothing is under way
CALL_LIMIT = 15  # seconds for a command on a node
CHECK_SLURM = "ddl-teach cluster check slurm"
# Ends what has this in its environment, on the node where it runs.
SWEEP = (
    'for own in /proc/[0-9]*; do if grep -qsF "$0" "$own/environ"; then kill -9 "${own#/proc/}"; '
    "fi; done"
)


@dataclass
class FarNodes:
    """Nodes that are machines of their own; equal are those on which ranks would be the same."""

    name: str
    nodes: tuple[str, ...]
    cure: str  # the command that says what is wrong with them
    start_limit: float
    ground: NodeAccess = field(compare=False, repr=False)
    folder: None = field(default=None, compare=False, repr=False)
    cut_cable: None = field(default=None, compare=False, repr=False)
    _sent: int = field(default=-SMALL_TALK, compare=False, repr=False)
    _still_since: float = field(default=0.0, compare=False, repr=False)

    @property
    def listens_at(self) -> str:
        return self.ground.listens_at

    @property
    def python(self) -> str:
        return self.ground.python

    def mpi_words(self, ranks: int, mpiexec: str, family: str) -> list[str]:
        return self.ground.mpi_words(ranks, mpiexec, family)

    def passing_on(self, names: list[str], family: str) -> list[str]:
        """Open MPI's helpers beyond ssh know nothing of our variables."""
        return [word for name in names for word in ("-x", name)] if family == "openmpi" else []

    def moving(self, sent: int) -> bool:
        """Whether the cards of the nodes have sent more than small talk, a moment ago or now."""
        now = time.monotonic()
        if abs(sent - self._sent) > SMALL_TALK:
            self._still_since = now
        self._sent = sent
        return now < self._still_since + STILL_FOR

    def end(self, folder: Path) -> None:
        self._on_nodes(["sh", "-c", SWEEP, f"{STARTED_FOR}={folder}"])

    def troubles(self) -> list[str]:
        """The nodes that do not answer."""
        silent = self._on_nodes(["true"])
        return [f"{node} does not answer" for node in silent]

    def _on_nodes(self, command: list[str]) -> list[str]:
        """Run a command on all nodes; returns those on which it failed, or took too long."""
        null = subprocess.DEVNULL
        started = {
            node: subprocess.Popen(
                self.ground.words(node, command), stdin=null, stdout=null, stderr=null
            )
            for node in self.nodes
        }
        until, failed = time.monotonic() + CALL_LIMIT, []
        for node, process in started.items():
            try:
                status = process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                status = process.wait()
            if status:
                failed.append(node)
        return failed


class OwnNodes(FarNodes):
    """The nodes of the batch job that this process runs in."""

    def mpi_words(self, ranks: int, mpiexec: str, family: str) -> list[str]:
        return ["sh", str(SCRIPTS / "ranks"), str(ranks)]

    def passing_on(self, names: list[str], family: str) -> list[str]:
        """Nothing: Slurm takes all variables along."""
        return []


class NewJob(OwnNodes):
    """A job that begins and ends with the engines; its name is that of the folder which they are
    started for. Nothing is known about its nodes before."""

    def mpi_words(self, ranks: int, mpiexec: str, family: str) -> list[str]:
        site = self.ground.site
        each = min(site.pernode or ranks, ranks)
        words = [f"--ntasks={ranks}"]
        if site.pernode:
            words += [f"--nodes={-(-ranks // each)}", f"--ntasks-per-node={each}"]
        within = super().mpi_words(ranks, mpiexec, family)
        return ["sh", str(SCRIPTS / "allocate"), *words, *within]

    def end(self, folder: Path) -> None:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            cancel = ["scancel", "--quiet", f"--name={folder.name}"]
            subprocess.run(cancel, timeout=CALL_LIMIT, capture_output=True)

    def troubles(self) -> list[str]:
        return []


def _new_job() -> FarNodes:
    ground = Slurm(site := read_site())
    return NewJob("slurm", (), CHECK_SLURM, site.wait, ground)


def _own_nodes() -> FarNodes:
    ground = Slurm(site := read_site())
    if not ground.nodes:
        raise Mistake('Engines(on="job") are for a notebook that runs in a batch job of Slurm\'s, '
                      'and this one does not. on="slurm" asks for a job.')  # fmt: skip
    return OwnNodes("job", ground.nodes, CHECK_SLURM, site.wait, ground)


def _hosts() -> FarNodes:
    if not (site := read_site()).hostfile:
        raise Mistake('Engines(on="hosts"): name the file that lists them as SITE_HOSTFILE in '
                      "cluster_setup/site.sh")  # fmt: skip
    ground = Hosts(site, Path(site.hostfile).expanduser())
    check = f"ddl-teach cluster check hosts --hostfile {ground.hostfile}"
    return FarNodes("hosts", ground.nodes, check, site.wait, ground)


PLACES: dict[str, Callable[[], SharedHosts | None]] = {
    "laptop": lambda: None,
    "box": Box.find,
    "hosts": _hosts,
    "slurm": _new_job,
    "job": _own_nodes,
}


def chosen(on: str | None = None) -> str:
    """The name of a place: as the notebook says, or the session, or the site's notes."""
    sources = {'Engines(on="...")': on, VARIABLE: os.environ.get(VARIABLE)}
    source, name = next(((key, value) for key, value in sources.items() if value), ("", ""))
    if not name:
        source, name = "SITE_ENGINES", read_site().engines or "laptop"
    if name not in PLACES:
        raise Mistake(f"{source} is {name!r}: it must be one of {', '.join(PLACES)}")
    return name


def find_place(on: str | None = None) -> SharedHosts | None:
    """Where engines are to run; None on this machine."""
    return PLACES[chosen(on)]()
