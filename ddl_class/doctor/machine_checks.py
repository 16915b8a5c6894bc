"""The doctor's checks that need no MPI: Python, packages, cores, memory, left-over processes."""

import contextlib
import os
import re
import shutil
import sys
from pathlib import Path

import psutil

from ddl_class.doctor.finding import ROOT, CheckResult, check, fail, warn
from ddl_measure.machine import version_of

NEEDED = (3, 11)
SHARED_MEMORY = Path("/dev/shm")
MEBIBYTE = 2**20

# What the command line of an engine, a rank or their starter contains.
RANK_PROCESSES = re.compile(
    r"ipyparallel|ddl_runtime\.launcher\.worker|ddl_class\.engines\.engine"
    r"|(^|/)(mpiexec|mpirun|prterun)\b"
)


@check("Python")
def python() -> str | CheckResult:
    """Is this Python new enough, and does it see only its own packages?"""
    observed = f"{sys.version.split()[0]} at {sys.executable}"
    if sys.version_info < NEEDED:
        return fail(observed, "Python 3.11 or newer is needed.")
    if not (path := os.environ.get("PYTHONPATH")):
        return observed
    mend = "Packages from PYTHONPATH come before the course's own: 'unset PYTHONPATH'."
    return warn(f"{observed}; PYTHONPATH is {path}", mend)


@check("packages")
def packages() -> str | CheckResult:
    """Are the packages here those that the course was tested with?"""
    lock = ROOT / "requirements.lock"
    if not lock.is_file():
        return "installed without the course's lock file"
    pins = re.findall(r"^([\w.-]+)==([^\s;]+) *$", lock.read_text(), re.MULTILINE)
    differing = [
        f"{name} {here or 'missing'} (not {pinned})"
        for name, pinned in pins
        if (here := version_of(name)).partition("+")[0] != pinned
    ]
    if not differing:
        return f"all {len(pins)} as the lock file says"
    observed = f"other than tested: {', '.join(differing[:3])}"
    observed += f" and {len(differing) - 3} more" if len(differing) > 3 else ""
    return warn(observed, "'python3 start.py test' makes .venv with the tested ones.")


@check("torch")
def torch_build() -> str | CheckResult:
    """Does torch load, and how many threads would it take?"""
    try:
        import torch
    except (ImportError, OSError) as error:
        return fail(f"does not load: {error}", "Remove .venv and run 'python3 start.py'.")
    build = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU build"
    return f"{torch.__version__} ({build}), {torch.get_num_threads()} threads in this process"


@check("cores")
def cores() -> str | CheckResult:
    """How many ranks can really run at the same time?"""
    usable = usable_cores()
    observed = f"{usable} usable of {os.cpu_count()}"
    if usable > 1:
        return f"{observed}; more ranks than that take turns"
    mend = "Ranks will take turns on the one core: results are right, timings say little."
    return warn(observed, mend)


def usable_cores() -> int:
    """Return the cores this process may run on, a container's limit included."""
    if sys.platform != "linux":
        return os.cpu_count() or 1
    allowed = len(os.sched_getaffinity(0))
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(allowed, int(quota) // int(period)))
    except (OSError, ValueError):  # no such file, or "max": no limit
        return allowed


@check("shared memory")
def shared_memory() -> str | CheckResult:
    """Is there room for the messages between ranks of one node?"""
    if not SHARED_MEMORY.is_dir():
        return f"no {SHARED_MEMORY} on this system, none needed"
    free = shutil.disk_usage(SHARED_MEMORY).free // MEBIBYTE
    observed = f"{free} MiB free in {SHARED_MEMORY}"
    mend = (
        f"Remove old files there ('ls -l {SHARED_MEMORY}'); in a container start it with more, "
        "'docker run --shm-size=1g', say."
    )
    return (
        observed if free >= 256 else warn(observed, mend) if free >= 32 else fail(observed, mend)
    )


@check("left-over processes")
def leftovers() -> str | CheckResult:
    """Are there engines or ranks whose starter is dead? They eat cores and falsify timings."""
    orphans = {}  # by their numbers: the first words of their command lines
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile, or is not ours
            words = process.cmdline()[:4]
            own = process.uids().real == os.getuid() and process.status() != psutil.STATUS_ZOMBIE
            if not (own and RANK_PROCESSES.search(" ".join(words))):
                continue
            parent = process.parent()
            if parent is None or parent.pid == 1 or parent.name() in ("init", "systemd"):
                orphans[str(process.pid)] = " ".join(Path(word).name for word in words)
    if not orphans:
        return "none"
    shown = ", ".join(f"{number} ({words})" for number, words in [*orphans.items()][:4])
    mend = f"Unless you left them running on purpose: kill {' '.join(orphans)}"
    return warn(f"{len(orphans)} without a living parent: {shown}", mend)
