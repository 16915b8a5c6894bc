"""Does the MPI library read a GPU's memory by itself? Asked, and tried where it can do no harm.

A *CUDA-aware* library recognises a pointer into device memory, and lets the network card, or
another GPU, read the memory itself. Any other reads it as if it were the host's, and the process
dies (signal 11). So the library is asked (MPIX_Query_cuda_support, MPIX_GPU_query_support, memory
kinds), and then a child process tries it, within a time limit. Both must say yes: libraries have
said yes and crashed, because one of their parts had been built without. The answer costs seconds,
so it is kept in a file. MPI Forum, "Memory allocation kinds", 2024.
What to look at: `why`, or `ddl-teach doctor`.
"""

import contextlib
import ctypes
import functools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ddl_runtime.records.whole_file import write_whole

PROBE = (sys.executable, "-m", "ddl_runtime.devices.probe")
BELIEVED = "DDL_TEACH_CUDA_AWARE"  # "yes" or "no": believed as it stands, the library is not asked
TIME_LIMIT = 60  # seconds; the first use of a GPU alone takes several
KEPT_IN = Path("~/.cache/ddl_teach/awareness.json")
MPICH_CUDA = 0  # the number of CUDA among the kinds that MPICH can be asked about
# Set by a launcher for a rank: a child that has it would take itself for this rank.
FROM_LAUNCHERS = ("PMIX_", "PMI_", "PRTE_", "HYDRA_", "MPIR_", "MPI_LOCAL", "OMPI_COMM_", "SLURM_")
# What people set, and what the answer depends on.
SETTINGS = ("OMPI_MCA_", "UCX_", "MPICH_", "MPIR_CVAR_", "CUDA_", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class Awareness:
    """What is known about the loaded library; None where it cannot be found out."""

    library: str
    library_says: bool | None
    probe_says: bool | None
    why: str

    @property
    def direct(self) -> bool:
        """Whether messages may go straight from and to device memory."""
        return self.library_says is not False and self.probe_says is True


@functools.cache
def awareness() -> Awareness:
    """Whether this rank's MPI library is CUDA-aware; it never stops or crashes the rank."""
    mpi = sys.modules.get("ddl_runtime.mpi.wire")
    if mpi is None:
        return Awareness("none", None, None, "this process is no MPI process")
    path = _loaded_library()
    version = mpi.MPI.Get_library_version().splitlines()[0].split(",")[0].strip("\0 ")
    library = f"{version} ({path or 'unknown file'})"
    believed = os.environ.get(BELIEVED)
    if believed in ("yes", "no"):
        return Awareness(library, None, believed == "yes", f"{BELIEVED}={believed} says so")
    answers = dict(_answers(ctypes.CDLL(path), mpi.MPI))
    listed = ", ".join(f"{question} says {answer}" for question, answer in answers.items())
    if not answers:
        return Awareness(library, None, None, "the library cannot be asked")
    if not any(answers.values()):
        return Awareness(library, False, None, f"the library is not CUDA-aware: {listed}")
    built = os.path.getmtime(path) if path else 0.0
    settings = sorted(item for item in os.environ.items() if item[0].startswith(SETTINGS))
    key = json.dumps([library, built, sys.executable, settings])
    known = _remembered(KEPT_IN.expanduser(), key)
    if known is None:
        works, why, certain = try_it(PROBE, TIME_LIMIT)
        known = Awareness(library, True, works, f"{listed}; {why}")
        if certain:
            _remember(KEPT_IN.expanduser(), key, known)
    return known


def try_it(words: Sequence[str], time_limit: float) -> tuple[bool, str, bool]:
    """Run a child that says "direct" if it can; whether it did, why, and whether that is certain
    (a machine may have been too busy)."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(FROM_LAUNCHERS)
    }
    try:
        child = subprocess.run(
            words,
            env=environment | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=time_limit,
        )
    except subprocess.TimeoutExpired:
        return False, f"a message on device memory was not through after {time_limit:g} s", False
    except OSError as error:
        return False, f"no child process could try it: {error}", False
    if child.returncode < 0:
        name = signal.strsignal(-child.returncode) or "unknown"
        return False, f"a child that tried it died of signal {-child.returncode} ({name})", True
    if child.returncode == 0 and child.stdout.split()[-1:] == ["direct"]:
        return True, "a child process sent a message from device memory to itself", True
    last = [line for line in (child.stdout + child.stderr).splitlines() if line.strip()][-1:]
    return False, f"a child that tried it failed: {''.join(last)}", True


def _loaded_library() -> str | None:
    """The file of the MPI library in this process."""
    with contextlib.suppress(OSError), open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split(maxsplit=5)[-1].strip()
            if os.path.basename(path).startswith("libmpi") and ".so" in path:
                return path
    return None  # then the symbols of the whole process are searched


def _answers(library: ctypes.CDLL, mpi: Any) -> Iterator[tuple[str, bool]]:
    """What the library says of itself, by the way it was asked."""
    with contextlib.suppress(AttributeError):
        yield "MPIX_Query_cuda_support", bool(library.MPIX_Query_cuda_support())
    with contextlib.suppress(AttributeError):
        flag = ctypes.c_int(0)
        if library.MPIX_GPU_query_support(ctypes.c_int(MPICH_CUDA), ctypes.byref(flag)) == 0:
            yield "MPIX_GPU_query_support", bool(flag.value)
    kinds = mpi.COMM_WORLD.Get_info().Get("mpi_memory_alloc_kinds")
    if kinds is not None:
        yield "mpi_memory_alloc_kinds", "cuda" in kinds


def _remembered(file: Path, key: str) -> Awareness | None:
    with contextlib.suppress(OSError, ValueError, TypeError):
        kept = json.loads(file.read_text())
        if kept["key"] == key:
            return Awareness(**kept["awareness"])
    return None


def _remember(file: Path, key: str, known: Awareness) -> None:
    """Keep the answer; where no file can be written, the next process tries again."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps({"key": key, "awareness": asdict(known)}))
