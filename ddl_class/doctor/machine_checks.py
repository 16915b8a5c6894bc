"""The doctor's checks that need no MPI: Python, packages, cores, memory, left-over processes."""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from ddl_class.doctor.finding import CheckResult

ROOT = Path(__file__).resolve().parents[2]
NEEDED = (3, 11)
SHARED_MEMORY = Path("/dev/shm")
MEBIBYTE = 2**20

# What the command line of an engine, a rank or their starter contains.
RANK_PROCESSES = re.compile(
    r"ipyparallel|ddl_runtime\.launcher\.worker|ddl_class\.engines\.engine"
    r"|(^|/)(mpiexec|mpirun|prterun)\b"
)


def python() -> CheckResult:
    """Is this Python new enough, and does it see only its own packages?"""
    found = f"{sys.version.split()[0]} at {sys.executable}"
    if sys.version_info < NEEDED:
        return CheckResult("Python", "fail", found, "Python 3.11 or newer is needed.")
    if os.environ.get("PYTHONPATH"):
        return CheckResult(
            "Python",
            "warn",
            f"{found}; PYTHONPATH is {os.environ['PYTHONPATH']}",
            "Packages from PYTHONPATH come before the course's own: 'unset PYTHONPATH'.",
        )
    return CheckResult("Python", "ok", found)


def packages() -> CheckResult:
    """Are the packages here those that the course was tested with?"""
    lock = ROOT / "requirements.lock"
    if not lock.is_file():
        return CheckResult("packages", "ok", "installed without the course's lock file")
    pins = re.findall(r"^([\w.-]+)==([^\s;]+) *$", lock.read_text(), re.MULTILINE)
    differing = [
        f"{name} {installed} (not {pinned})"
        for name, pinned in pins
        if (installed := _installed(name)).partition("+")[0] != pinned
    ]
    if not differing:
        return CheckResult("packages", "ok", f"all {len(pins)} as the lock file says")
    more = f" and {len(differing) - 3} more" if len(differing) > 3 else ""
    return CheckResult(
        "packages",
        "warn",
        f"other than tested: {', '.join(differing[:3])}{more}",
        "'python3 start.py test' makes .venv with the tested ones.",
    )


def torch_build() -> CheckResult:
    """Does torch load, and how many threads would it take?"""
    try:
        import torch
    except (ImportError, OSError) as error:
        return CheckResult(
            "torch", "fail", f"does not load: {error}", "Remove .venv and run 'python3 start.py'."
        )
    build = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU build"
    found = f"{torch.__version__} ({build}), {torch.get_num_threads()} threads in this process"
    return CheckResult("torch", "ok", found)


def cores() -> CheckResult:
    """How many ranks can really run at the same time?"""
    usable = usable_cores()
    found = f"{usable} usable of {os.cpu_count()}"
    if usable == 1:
        return CheckResult(
            "cores",
            "warn",
            found,
            "Ranks will take turns on the one core: results are right, timings say little.",
        )
    return CheckResult("cores", "ok", f"{found}; more ranks than that take turns")


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


def shared_memory() -> CheckResult:
    """Is there room for the messages between ranks of one node?"""
    if not SHARED_MEMORY.is_dir():
        return CheckResult(
            "shared memory", "ok", f"no {SHARED_MEMORY} on this system, none needed"
        )
    free = shutil.disk_usage(SHARED_MEMORY).free // MEBIBYTE
    found = f"{free} MiB free in {SHARED_MEMORY}"
    mend = (
        f"Remove old files there ('ls -l {SHARED_MEMORY}'); in a container start it with more, "
        "'docker run --shm-size=1g', say."
    )
    if free < 32:
        return CheckResult("shared memory", "fail", found, mend)
    if free < 256:
        return CheckResult("shared memory", "warn", found, mend)
    return CheckResult("shared memory", "ok", found)


def leftovers() -> CheckResult:
    """Are there engines or ranks whose starter is dead? They eat cores and falsify timings."""
    orphans = [process for process in psutil.process_iter() if _is_orphan(process)]
    if not orphans:
        return CheckResult("left-over processes", "ok", "none")
    numbers = [str(process.pid) for process in orphans]
    return CheckResult(
        "left-over processes",
        "warn",
        f"{len(orphans)} without a living parent: {', '.join(map(_name, orphans[:4]))}",
        f"Unless you left them running on purpose: kill {' '.join(numbers)}",
    )


def _is_orphan(process: psutil.Process) -> bool:
    """Whether this is a rank or engine of this user that init has inherited."""
    try:
        if process.uids().real != os.getuid() or process.status() == psutil.STATUS_ZOMBIE:
            return False
        if not RANK_PROCESSES.search(" ".join(process.cmdline()[:4])):
            return False
        parent = process.parent()
        return parent is None or parent.pid == 1 or parent.name() in ("init", "systemd")
    except psutil.Error:
        return False  # it has ended meanwhile, or is not ours to look at


def _name(process: psutil.Process) -> str:
    try:
        words = [Path(word).name for word in process.cmdline()[:4]]
    except psutil.Error:
        words = ["ended meanwhile"]
    return f"{process.pid} ({' '.join(words)})"


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
