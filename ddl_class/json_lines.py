"""Asking other processes: each of them prints lines of JSON."""

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from ddl_class.doctor.machine_checks import ROOT
from ddl_runtime.launcher.mpiexec import mpi_environment

PATIENCE = 60  # seconds, unless told otherwise


def ask(words: Sequence[str], told: str = "", patience: float = PATIENCE) -> list[Any] | str:
    """Run it and read each line of JSON; on failure what it said last."""
    try:
        done = subprocess.run(
            words,
            input=told,
            capture_output=True,
            text=True,
            timeout=patience,
            cwd=ROOT,
            env=mpi_environment(),
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {patience:g} s"
    except OSError as error:
        return f"{words[0]}: {error.strerror}"
    answers = [
        json.loads(line) for line in done.stdout.splitlines() if line.startswith(("{", "["))
    ]
    if done.returncode or not answers:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip(" -=\t")]
        return said[-1] if said else f"exit status {done.returncode}, and not a word"
    return answers
