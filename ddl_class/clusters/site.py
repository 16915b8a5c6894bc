"""The notes of a site: what an instructor fills in once, and every batch script reads.

They stand in `cluster_setup/site.sh`, lines NAME=value that a shell and this file both understand.
Only what differs from site to site stands there; everything else is the course's own business.
sbatch takes partition, account and the like from variables SBATCH_..., so no batch script needs to
name them, and one script serves every site.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ddl_class.commands.mistake import Mistake
from ddl_class.doctor.finding import CheckResult
from ddl_class.doctor.machine_checks import ROOT

SETUP = ROOT / "cluster_setup"
NOTES = SETUP / "site.sh"
PATIENCE = 30  # seconds for one question to Slurm
LINE = re.compile(r"(SITE_[A-Z]+)=(.*)")


@dataclass(frozen=True)
class Site:
    """One site; what is empty is left to the scheduler's or the system's own default."""

    partition: str = ""
    account: str = ""
    qos: str = ""
    time: str = "00:30:00"
    modules: str = ""
    python: str = ""  # the Python of the course, on every node
    mpi: str = "mpiexec"  # starts ranks on all nodes of a job
    interface: str = ""  # the network between nodes, as `ip address` calls it
    gpus: int = 0  # a node


def read_site(notes: Path = NOTES) -> Site:
    """The site that these notes describe; an error names the line that cannot be understood."""
    try:
        lines = notes.read_text().splitlines()
    except OSError as error:
        raise Mistake(f"{notes} cannot be read: {error.strerror}") from None
    known = {f"SITE_{field.name.upper()}": field.name for field in fields(Site)}
    values: dict[str, Any] = {}
    for number, line in enumerate(lines, start=1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise Mistake(f"{notes}, line {number}: {error}") from None
        if not words:
            continue
        match = LINE.fullmatch(words[0])
        if match is None or len(words) > 1:
            wrong = (
                f"'{line.strip()}' is not NAME=value; put a value with blanks into quotation marks"
            )
        elif match[1] not in known:
            wrong = f"{match[1]} is unknown; there are {', '.join(sorted(known))}"
        elif match[1] == "SITE_GPUS" and not (match[2] or "0").isdigit():
            wrong = f"{line}: how many GPUs a node has is a whole number"
        else:
            values[known[match[1]]] = match[2]
            continue
        raise Mistake(f"{notes}, line {number}: {wrong}")
    return Site(**(values | {"gpus": int(values.get("gpus") or 0)}))


def submission(site: Site) -> dict[str, str]:
    """The variables with which sbatch submits a job of the course at this site."""
    variables = {
        "SBATCH_PARTITION": site.partition,
        "SBATCH_ACCOUNT": site.account,
        "SBATCH_QOS": site.qos,
        "SBATCH_TIMELIMIT": site.time,
        "SBATCH_GPUS_PER_NODE": str(site.gpus or ""),
        "DDL_TEACH_COURSE": str(ROOT),
    }
    return {name: value for name, value in variables.items() if value}


def login_node(site: Site) -> list[CheckResult]:
    """What can be said from a login node: is Slurm there, and do the notes fit it?"""
    if shutil.which("sbatch") is None:
        mend = "Go to a login node, or load Slurm's module."
        return [CheckResult("Slurm", "fail", "no sbatch here", mend)]
    partitions = _answer(["sinfo", "--noheader", "--format=%R %a %D %T"])
    if partitions is None or partitions.returncode:
        mend = "'scontrol ping' says more; the administrators know."
        return [CheckResult("Slurm", "fail", "its controller does not answer", mend)]
    known = ", ".join(dict.fromkeys(line.split()[0] for line in partitions.stdout.splitlines()))
    findings = [CheckResult("Slurm", "ok", f"partitions: {known}")]
    if site.partition and site.partition not in known.split(", "):
        missing = f"SITE_PARTITION={site.partition} does not exist here"
        findings.append(
            CheckResult("partition", "fail", missing, f"Name one of {known} in {NOTES}.")
        )
    # Slurm itself says whether it would take such a job: nothing is started.
    tried = _answer(["sbatch", "--test-only", "--nodes=1", "--wrap=true"], submission(site))
    answer = ([] if tried is None else tried.stderr.strip().splitlines()) or ["nothing"]
    if tried is not None and tried.returncode == 0:
        return [*findings, CheckResult("a job", "ok", answer[-1].removeprefix("sbatch: "))]
    mend = (
        f"Mend SITE_ACCOUNT, SITE_QOS, SITE_TIME or SITE_GPUS in {NOTES}; 'sacctmgr show assoc\n"
        "user=$USER' lists what you may use."
    )
    return [*findings, CheckResult("a job", "fail", f"would be refused: {answer[-1]}", mend)]


def _answer(
    words: list[str], settings: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str] | None:
    environment = os.environ | (settings or {})
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run(
            words, capture_output=True, text=True, timeout=PATIENCE, env=environment
        )
    return None
