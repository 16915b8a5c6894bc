"""Jobs for Slurm: how the site's notes reach sbatch, and what the doctor asks a login node.

sbatch takes partition, account and the like from variables SBATCH_..., so no batch script needs to
name them, and one script serves every site.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Mapping

from ddl_class.clusters.site import NOTES, Site
from ddl_class.doctor.finding import Finding
from ddl_class.doctor.machine_checks import ROOT

PATIENCE = 30  # seconds for one question


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


def login_node(site: Site) -> list[Finding]:
    """What can be said from a login node: is Slurm there, and do the notes fit it?"""
    if shutil.which("sbatch") is None:
        mend = "Go to a login node, or load Slurm's module."
        return [Finding("Slurm", "fail", "no sbatch here", mend)]
    partitions = _answer(["sinfo", "--noheader", "--format=%R %a %D %T"])
    if partitions is None or partitions.returncode:
        mend = "'scontrol ping' says more; the administrators know."
        return [Finding("Slurm", "fail", "its controller does not answer", mend)]
    known = ", ".join(dict.fromkeys(line.split()[0] for line in partitions.stdout.splitlines()))
    findings = [Finding("Slurm", "ok", f"partitions: {known}")]
    if site.partition and site.partition not in known.split(", "):
        missing = f"SITE_PARTITION={site.partition} does not exist here"
        findings.append(Finding("partition", "fail", missing, f"Name one of {known} in {NOTES}."))
    # Slurm itself says whether it would take such a job: nothing is started.
    tried = _answer(["sbatch", "--test-only", "--nodes=1", "--wrap=true"], submission(site))
    said = ([] if tried is None else tried.stderr.strip().splitlines()) or ["nothing"]
    if tried is not None and tried.returncode == 0:
        return [*findings, Finding("a job", "ok", said[-1].removeprefix("sbatch: "))]
    mend = (
        f"Mend SITE_ACCOUNT, SITE_QOS, SITE_TIME or SITE_GPUS in {NOTES}; 'sacctmgr show assoc\n"
        "user=$USER' lists what you may use."
    )
    return [*findings, Finding("a job", "fail", f"would be refused: {said[-1]}", mend)]


def _answer(
    words: list[str], settings: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str] | None:
    environment = os.environ | (settings or {})
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run(
            words, capture_output=True, text=True, timeout=PATIENCE, env=environment
        )
    return None
