"""`ddl-teach again`: a program that is started again until it is done."""

import argparse
import os
import signal
import subprocess
import sys

from ddl_class.commands.mistake import Mistake
from ddl_teach.fault_tolerance.again import Again
from ddl_teach.fault_tolerance.preemption import AGAIN


def run_again(options: argparse.Namespace) -> int:
    """Do what the command line says; return the status."""
    job = os.environ.get("SLURM_JOB_ID", "")
    if options.requeue and not job:
        raise Mistake("--requeue is for a job of Slurm, and this is none (no SLURM_JOB_ID)")
    how = {"until": options.until, "checkpoints": options.checkpoints}
    again = Again(options.command, **how, crashes=options.crashes, tell=_say)
    try:
        status = again.run()
    except OSError as error:
        raise Mistake(f"{options.command[0]} cannot be started: {error.strerror}") from None
    # SIGTERM: the job was cancelled, or Slurm has put it back into the queue itself.
    if status == AGAIN and options.requeue and signal.SIGUSR1 in again.asked:
        _say(f"Slurm is asked to start job {job} again.")  # it ends us when it does
        requeued = subprocess.run(["scontrol", "requeue", job], capture_output=True, text=True)
        if requeued.returncode:
            _say(f"It does not: {requeued.stderr.strip()}. Submit the job anew.")
    return status


def _say(text: str) -> None:
    """Print among the program's output; where that is read no more, the program runs on."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
