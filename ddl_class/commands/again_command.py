"""`ddl-teach again`: a program that is started again until it is done."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

from ddl_class.commands.mistake import Mistake
from ddl_teach.fault_tolerance.again import CRASHES, Again

EXAMPLES = """examples:
  ddl-teach again -- mpiexec -n 4 python -m ddl_teach.fault_tolerance.long_run FOLDER
  ddl-teach box exec head ddl-teach again --until FOLDER/result.json -- mpiexec ...
  ddl-teach again --requeue -- srun --mpi=pmix python ...     in a batch script of Slurm

The program must resume by itself: ddl_teach/fault_tolerance/long_run.py shows how.
"""


def add_again(commands: argparse._SubParsersAction) -> None:
    """The words that the command line knows for it."""
    again = commands.add_parser(
        "again",
        help="start a program again after each crash, until it is done",
        description="Start a program again after each crash until it is done; asked to go by "
        "SIGTERM or SIGUSR1, tell it by SIGUSR1, wait, and end with status 75.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    again.add_argument("--until", type=Path, metavar="FILE", help="it is done once this exists")
    again.add_argument(
        "--crashes",
        type=int,
        default=CRASHES,
        metavar="N",
        help=f"give up after more; default: {CRASHES}",
    )
    again.add_argument(
        "--requeue",
        action="store_true",
        help="asked to go by SIGUSR1, have Slurm start this job again",
    )
    again.add_argument("command", nargs="+", metavar="-- COMMAND")
    again.set_defaults(act=_again)


def _again(options: argparse.Namespace) -> int:
    from ddl_teach.fault_tolerance.preemption import AGAIN

    job = os.environ.get("SLURM_JOB_ID", "")
    if options.requeue and not job:
        raise Mistake("--requeue is for a job of Slurm, and this is none (no SLURM_JOB_ID)")
    again = Again(options.command, until=options.until, crashes=options.crashes, tell=_say)
    try:
        status = again.run()
    except OSError as error:
        raise Mistake(f"{options.command[0]} cannot be started: {error.strerror}") from None
    # SIGTERM: the job was cancelled, or Slurm has put it back into the queue itself.
    if status == AGAIN and options.requeue and signal.SIGUSR1 in again.asked:
        _say(f"Slurm is asked to start job {job} again.")  # it ends us when it does
        told = subprocess.run(["scontrol", "requeue", job], capture_output=True, text=True)
        if told.returncode:
            _say(f"It does not: {told.stderr.strip()}. Submit the job anew.")
    return status


def _say(text: str) -> None:
    """Among the program's words. That nobody reads them any more is no reason to stop it."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
