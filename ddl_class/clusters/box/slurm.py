"""A real Slurm in the box: its controller on the head, its daemon on each node.

    ddl-teach box up --slurm
    ddl-teach box exec head cluster_setup/slurm/submit --nodes=4 cluster_setup/slurm/check.sbatch

Jobs wait, are pre-empted, are started again when a node goes away. They run as the user who made
the box. Times are short, so that a lesson can watch: a node is given up after DEAD seconds of
silence (Slurm looks now and then: it took 30), and a job to be started again waits HOLD.
What to look at: `squeue`, while a node is off; and a job in `urgent`, which takes the nodes of
those in `main`.

It is the one that is installed, or Debian's packages, downloaded once (17 MB in
~/.cache/ddl-teach) and unpacked, for which nobody needs a right. Slurm's programs look for their
parts in /usr, so inside the box that folder is laid over /usr (an overlay).
"""

import contextlib
import os
import platform
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from ddl_class.clusters.box import plan
from ddl_class.clusters.box.nodes import Nodes
from ddl_class.commands.mistake import Mistake

SCRIPT = Path(__file__).with_name("slurm.sh")
CONF = SCRIPT.with_suffix(".conf").read_text("utf-8")
DAEMONS = ("slurmctld", "slurmd", "munged")
COMMANDS = ("sbatch", "srun", "salloc", "squeue", "scancel", "scontrol", "sinfo")
PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge", "libpmix2")
IMPATIENT = ("-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=15")  # seconds
OTHERWISE = "The box goes without it: leave --slurm away."
DEAD, HOLD, PATIENCE = 10, 5, 60  # seconds; Slurm takes a HOLD of less than 5 for 120
READY = ("idle", "mixed", "allocated", "completing")
CORES, MEMORY = 4, 16384  # (MB) that Slurm gives away on a node; they are the machine's own
# An ordinary user is root in the box, and Slurm's daemons refuse to be such a root. So they and
# their jobs are that user again, in one more namespace.
AS_ONESELF = """#!/bin/sh
[ {root} = 1 ] || [ "$(id -u)" != 0 ] || exec unshare -U --map-user={uid} --map-group={gid} "$@"
exec "$@"
"""
# A job's mpiexec must take its nodes from Slurm, and not from the box.
COMMAND = """#!/bin/sh
unset PRTE_MCA_plm_ssh_agent PRTE_MCA_prte_default_hostfile
unset HYDRA_LAUNCHER HYDRA_LAUNCHER_EXEC HYDRA_HOST_FILE
exec "{folder}/bin/as-oneself" {program} "$@"
"""


def write(folder: Path, nodes: Sequence[str]) -> None:
    """Its configuration, its key and its commands, in the folder of a box."""
    root, uid, gid = os.geteuid() == 0, os.getuid(), os.getgid()
    settings = {"network": plan.NETWORK, "user": uid, "hold": HOLD, "dead": DEAD}
    settings |= {"nodes": ",".join(nodes), "cores": CORES, "memory": MEMORY, "folder": folder}
    (folder / plan.SLURM_CONF).write_text(CONF.format(**settings))
    # Jobs of other accounts in the box read it. Outside, the folders around it are closed to them.
    folder.chmod(0o711)
    key = os.open(folder / "munge.key", os.O_WRONLY | os.O_CREAT, 0o600)
    with open(key, "wb") as file:
        file.write(secrets.token_bytes(128))
    commands = {"as-oneself": AS_ONESELF.format(root=int(root), uid=uid, gid=gid)}
    for name in COMMANDS:
        program = shutil.which(name, path=plan.search_path()) or f"/usr/bin/{name}"
        commands[name] = COMMAND.format(folder=folder, program=program)
    (folder / "bin").mkdir()
    for name, text in commands.items():
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o700)


def start(nodes: Nodes, hosts: Iterable[str]) -> None:
    """Start what belongs on these hosts, and wait until Slurm has work for them."""
    bin_folder = nodes.folder / "bin"
    words = [str(bin_folder / "as-oneself"), "sh", str(SCRIPT), str(nodes.folder)]
    with open(nodes.folder / "log", "a+") as log:
        quiet = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        started = [subprocess.Popen(nodes.words(host, words), **quiet) for host in hosts]
        failed = [process for process in started if process.wait()]
    ends = time.monotonic() + PATIENCE
    states = ""
    look = ["sinfo", "--noheader", "--Node", "--partition=main", "--format=%N %T"]
    on = set(nodes.numbers())
    while not failed and time.monotonic() < ends:
        states = nodes.run("head", look, capture_output=True, text=True).stdout
        ready = {line.split()[0] for line in states.splitlines() if line.split()[1] in READY}
        if on <= ready:
            return
        time.sleep(0.1)
    logs = sorted(nodes.folder.glob("slurm-*.log"))
    log_lines = [
        line for path in (nodes.folder / "log", *logs) for line in path.read_text().split("\n")
    ]
    raise Mistake(
        "Slurm did not start in the box:\n" + "\n".join([states, *log_lines[-15:]]).strip()
    )


# -- the programs, where they are not installed


def installed() -> bool:
    """Whether this system has all of it."""
    return all(shutil.which(program, path=plan.search_path()) for program in (*DAEMONS, *COMMANDS))


def over_usr() -> Path | None:
    """What is to be laid over /usr, downloaded where it is not there yet; None if nothing is."""
    if installed():
        return None
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        raise Mistake(
            "There is no Slurm here, and no apt-get to download Debian's. Have its server "
            "(slurmctld), what runs on its nodes (slurmd), its commands and MUNGE installed. "
            + OTHERWISE
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
    plain = os.environ | {"LC_ALL": "C"}  # what is read must not be in the reader's language
    done = subprocess.run(words, cwd=where, capture_output=True, text=True, env=plain)
    if done.returncode:
        raise Mistake(
            f"There is no Slurm here, and Debian's packages could not be had: {words[0]} "
            f"{words[1]} said\n{done.stderr.strip()}\nWhere there is a network, 'apt-get update' "
            f"(as root, once) may be all that is missing. {OTHERWISE}"
        )
    return done.stdout
