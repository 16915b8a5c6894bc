"""Jobs for Slurm: how the site's notes reach sbatch, and what the doctor asks a login node.

sbatch takes partition, account and the like from variables SBATCH_..., so no batch script needs to
name them, and one script serves every site.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from ddl_class.clusters.site import NOTES, Site
from ddl_class.doctor.finding import CheckResult
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


def login_node(site: Site) -> list[CheckResult]:
    """What can be said from a login node: is Slurm there, and do the notes fit it?"""
    if shutil.which("sbatch") is None:
        return [
            CheckResult(
                "Slurm", "fail", "no sbatch here", "Go to a login node, or load Slurm's module."
            )
        ]
    partitions = _said(["sinfo", "--noheader", "--format=%R %a %D %T"])
    if partitions is None:
        return [
            CheckResult(
                "Slurm",
                "fail",
                "its controller does not answer",
                "'scontrol ping' says more; the administrators know.",
            )
        ]
    known = {line.split()[0]: line for line in partitions}
    findings = [CheckResult("Slurm", "ok", f"partitions: {', '.join(known)}")]
    if site.partition and site.partition not in known:
        findings.append(
            CheckResult(
                "partition",
                "fail",
                f"SITE_PARTITION={site.partition} does not exist here",
                f"Name one of {', '.join(known)} in {NOTES}.",
            )
        )
    # Slurm itself says whether it would take such a job: nothing is started.
    tried = subprocess.run(
        ["sbatch", "--test-only", "--nodes=1", "--wrap=true"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=os.environ | submission(site),
    )
    said = (tried.stderr.strip().splitlines() or ["nothing"])[-1]
    if tried.returncode:
        findings.append(
            CheckResult(
                "a job",
                "fail",
                f"would be refused: {said}",
                f"Mend SITE_ACCOUNT, SITE_QOS, SITE_TIME or SITE_GPUS in {NOTES}; 'sacctmgr show "
                "assoc\nuser=$USER' lists what you may use.",
            )
        )
    else:
        findings.append(CheckResult("a job", "ok", said.removeprefix("sbatch: ")))
    return findings


def _said(words: list[str]) -> list[str] | None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.splitlines() if done.returncode == 0 else None
