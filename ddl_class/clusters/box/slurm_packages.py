"""Slurm for the box: the one that is installed, or Debian's packages, unpacked and not installed.

`apt-get download` fetches a package without a right to install it, and `dpkg -x` unpacks it into
any folder. Slurm's programs look for their parts in /usr, so inside the box that folder is laid
over /usr (an overlay); outside nobody sees it. 17 MB in ~/.cache/ddl-teach, once.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from ddl_class.clusters.box.plan import search_path
from ddl_class.commands.mistake import Mistake

DAEMONS = ("slurmctld", "slurmd", "munged")
COMMANDS = ("sbatch", "srun", "salloc", "squeue", "scancel", "scontrol", "sinfo")
PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge", "libpmix2")
IMPATIENT = ("-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=15")  # seconds
OTHERWISE = "The box goes without it: leave --slurm away."


def installed() -> bool:
    """Whether this system has all of it."""
    return all(shutil.which(one, path=search_path()) for one in (*DAEMONS, *COMMANDS))


def folder() -> Path | None:
    """What is to be laid over /usr, downloaded where it is not there yet; None if nothing is."""
    if installed():
        return None
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        raise Mistake(
            "There is no Slurm here, and no apt-get to download Debian's. Have slurmctld, slurmd, "
            f"its commands and munged installed. {OTHERWISE}"
        )
    system = platform.freedesktop_os_release()
    version = f"{system['ID']}-{system.get('VERSION_ID', '')}-{platform.machine()}"
    unpacked = Path.home() / ".cache" / "ddl-teach" / f"slurm-{version}"
    if not unpacked.exists():
        unpacked.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=unpacked.parent) as fresh:
            _download(Path(fresh))
            with contextlib.suppress(OSError):  # somebody else was faster
                os.rename(Path(fresh) / "root", unpacked)  # whole or not at all
    return unpacked


def _download(fresh: Path) -> None:
    """Fetch the packages and whatever they need that is not installed, and unpack them."""
    planned = _said(["apt-get", "install", "-s", "--no-install-recommends", *PACKAGES], fresh)
    names = [line.split()[1] for line in planned.splitlines() if line.startswith("Inst ")]
    _said(["apt-get", "download", *IMPATIENT, *names], fresh)
    for package in fresh.glob("*.deb"):
        _said(["dpkg", "-x", str(package), "root"], fresh)
    # What installing would do besides: names without a variant, and one of a developer's package.
    for program in fresh.glob("root/usr/*bin/*-wlm"):
        program.with_name(program.name.removesuffix("-wlm")).symlink_to(program.name)
    for library in fresh.glob("root/usr/lib/*/pmix2/lib/libpmix.so.2"):
        library.with_name("libpmix.so").symlink_to(library.name)


def _said(words: list[str], where: Path) -> str:
    done = subprocess.run(words, cwd=where, capture_output=True, text=True, env=_plain())
    if done.returncode:
        raise Mistake(
            f"There is no Slurm here, and Debian's packages could not be had: {words[0]} "
            f"{words[1]} said\n{done.stderr.strip()}\nWhere there is a network, 'apt-get update' "
            f"(as root, once) may be all that is missing. {OTHERWISE}"
        )
    return done.stdout


def _plain() -> dict[str, str]:
    """What is read must not be in the reader's language."""
    return os.environ | {"LC_ALL": "C"}
