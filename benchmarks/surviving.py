"""What a failure costs: shrink and go on, restart from a checkpoint, torchrun's elastic restart.

    python -m benchmarks.surviving [--fault kill|cut] [--repetitions 6]

Four nodes of a box at 100 Mbit/s train the digits, one rank a node, 120 steps of 50 ms at least.
At a random step a random rank is killed, or the last node's cable is out for good. Ways, by turns:

    shrink              MPI's fault tolerance; the others share the dead one's batches
    restart             a checkpoint every 20 steps; the job dies and is launched again
    torchrun            its elastic restart, with a checkpoint every 20 steps
    torchrun, unsaved   the same without checkpoints

Who is silent for 10 s is taken for dead: by MPI's detector, by a collective of torch's Gloo, and
by a watchdog over the restarts, as MPI without fault tolerance waits behind a cut cable for ever.
Once three of its nodes have met, torchrun waits 5 s for the fourth.
A process that was killed is started again on its node; where the cable is out three nodes go on.
Seconds are those from the first step to the result. Time lost is what they are more than in the
fastest undisturbed run of the same launcher, as other work on the machine only makes runs longer;
endless where no result came within two minutes. Shown are medians and nonparametric 95% intervals;
of fewer than six turns, the least and the most.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.under_torchrun import RESULT
from ddl_class.clusters.box import faults
from ddl_class.clusters.box.box import Box
from ddl_class.commands.mistake import Mistake
from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_runtime.records.whole_file import write_whole
from ddl_teach import Comm, launch
from ddl_teach.comm import DiagnosedError
from ddl_teach.fault_tolerance.progress import TrainingPlan
from ddl_teach.fault_tolerance.restarting import resume
from ddl_teach.fault_tolerance.shrinking import survive
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.tasks.digits import Digits

RESULTS = Path(__file__).parent / "results"
RANKS, STEPS, PACE, EVERY, PATIENCE = 4, 120, 0.05, 20, 10.0
WORKER, TORCH_WORKER = (
    "ddl_runtime.launcher.worker",
    "-u -m benchmarks.under_torchrun",
)
LONGEST = 120.0  # seconds for one run
DETECTOR = {"period": "3", "timeout": str(PATIENCE)}  # Open MPI's own values, written down


@dataclass(frozen=True)
class Outcome:
    """One run: its seconds, the steps that were done more than once, and what was learnt."""

    seconds: float
    again: float
    accuracy: float


def note(folder: str) -> Callable[[Comm, int], None]:
    """Before each step: a line in a file that all nodes see, and time for an accident."""

    def before(comm: Comm, step: int) -> None:
        if comm.rank == 0:
            with open(Path(folder) / "steps", "a") as file:
                file.write(f"{step} {time.time()}\n")
        comm.work(seconds=PACE)

    return before


def plan() -> TrainingPlan:
    """The same training for all."""
    return TrainingPlan(Digits(), Momentum(0.1), STEPS, RANKS)


def shrinking(comm: Comm, folder: str) -> None:
    """The rank program that shrinks; who is alone behind a cut cable stops."""
    found = survive(comm, plan(), least=2, before=note(folder))
    if found.steps == STEPS:
        tell_result(folder, found.weights)


def restarting(comm: Comm, folder: str) -> None:
    """The rank program that saves."""
    weights = resume(comm, plan(), Path(folder) / "kept", EVERY, before=note(folder))
    tell_result(folder, weights)


def tell_result(folder: str, weights: np.ndarray) -> None:
    """All have the same; each writes it whole."""
    told = {"accuracy": Digits().accuracy(weights)}
    write_whole(Path(folder) / RESULT, json.dumps(told) + "\n")


def done(folder: Path) -> int:
    """How many steps have begun so far, in all attempts."""
    with contextlib.suppress(FileNotFoundError):
        return (folder / "steps").read_bytes().count(b"\n")
    return 0


def shrink(box: Box, folder: Path) -> None:
    """Launch once. When there is a result the job is over, whoever is lost behind a cable."""
    over = threading.Event()
    ends = threading.Thread(target=end_with_result, args=(box, folder, over))
    ends.start()
    options = {"on": box, "survivors": True, "trace": False, "timeout": LONGEST}
    try:
        with contextlib.suppress(DiagnosedError):
            launch(shrinking, RANKS, folder=str(folder), **options)
    finally:
        over.set()
        ends.join()


def end_with_result(box: Box, folder: Path, over: threading.Event) -> None:
    """Once somebody has written it."""
    while not (folder / RESULT).exists():
        if over.wait(0.1):
            return
    if not over.wait(1.0):
        end_workers(box, box.nodes)


def end_workers(box: Box, nodes: Sequence[str]) -> None:
    """On these nodes, those that are still there."""
    for node in nodes:
        with contextlib.suppress(Mistake):
            faults.kill(box, node, WORKER)


def restart(box: Box, folder: Path) -> None:
    """Launch until it ends; on as many nodes as can be reached."""
    while not (folder / RESULT).exists():
        there = [node for node, link in box.links.items() if link.plugged]
        over = threading.Event()
        dog = threading.Thread(target=watchdog, args=(box, folder, there, over))
        dog.start()
        options = {"on": box, "trace": False, "timeout": LONGEST}
        try:
            with contextlib.suppress(DiagnosedError):  # a rank died, and all with it
                launch(restarting, len(there), folder=str(folder), **options)
        finally:
            over.set()
            dog.join()


def watchdog(box: Box, folder: Path, nodes: Sequence[str], over: threading.Event) -> None:
    """End a job that has begun and then says nothing for too long."""
    begun, told, since = done(folder), done(folder), time.monotonic()
    while not over.wait(0.1):
        now = done(folder)
        if now != told:
            told, since = now, time.monotonic()
        if told > begun and time.monotonic() > since + PATIENCE:
            end_workers(box, nodes)
            return


def torchrun(box: Box, folder: Path, every: int = EVERY) -> None:
    """An agent on each node, until one has written the result."""
    words = [
        *("env", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"),  # see under_torchrun
        *(box.python, "-m", "torch.distributed.run", "--nnodes", f"{RANKS - 1}:{RANKS}"),
        *("--nproc-per-node", "1", "--max-restarts", "10", "--rdzv-backend", "c10d"),
        *("--rdzv-endpoint", "node0:29400", "--rdzv-id", folder.name),
        *("--rdzv-conf", "last_call_timeout=5"),  # seconds to wait for the fourth; else 30
        *("-m", "benchmarks.under_torchrun", str(folder), "--every", str(every)),
        *("--steps", str(STEPS), "--ranks", str(RANKS), "--seconds", str(PACE)),
        *("--patience", str(PATIENCE)),
    ]
    with (folder / "log").open("w") as log:
        options = {"stdout": log, "stderr": log, "stdin": subprocess.DEVNULL}
        agents = [subprocess.Popen(box.hosts.words(node, words), **options) for node in box.nodes]
        deadline = time.monotonic() + LONGEST
        while not (folder / RESULT).exists() and time.monotonic() < deadline:
            if all(agent.poll() is not None for agent in agents):
                break  # they have given up
            time.sleep(0.02)
        for node in box.nodes:
            for process in box.hosts.processes(node):
                process.kill()
        for agent in agents:
            agent.wait()


def unsaved(box: Box, folder: Path) -> None:
    """Without checkpoints."""
    torchrun(box, folder, every=0)


WAYS = {"shrink": shrink, "restart": restart, "torchrun": torchrun, "torchrun, unsaved": unsaved}


def accident(box: Box, folder: Path, fault: str, step: int, node: str, over: threading.Event):
    """Wait for that step, and break something."""
    while done(folder) < step:
        if over.wait(0.01):
            return
    if fault == "cut":
        faults.cut(box, box.nodes[-1])
    elif fault == "kill":
        for text in (WORKER, TORCH_WORKER):
            with contextlib.suppress(Mistake):
                faults.kill(box, node, text)


def measured(box: Box, way: str, fault: str, turn: int, number: int) -> Outcome:
    """One run of a way, with a fault at a random step, the same for all ways in a turn."""
    folder = box.folder / f"{way.replace(', ', '-')}-{fault}-{number}"
    folder.mkdir()
    random = np.random.default_rng([turn, len(fault)])
    step, node = int(random.integers(10, STEPS - 10)), str(random.choice(box.nodes))
    over = threading.Event()
    broken = threading.Thread(target=accident, args=(box, folder, fault, step, node, over))
    broken.start()
    try:
        WAYS[way](box, folder)
    finally:
        over.set()
        broken.join()
        for one in box.nodes:
            box.mend(one)
    if not (folder / RESULT).exists():
        return Outcome(math.inf, math.nan, math.nan)
    begun = float((folder / "steps").read_text().split()[1])
    seconds = (folder / RESULT).stat().st_mtime - begun
    accuracy = json.loads((folder / RESULT).read_text())["accuracy"]
    return Outcome(seconds, done(folder) - STEPS, accuracy)


def table(found: dict[tuple[str, str], list[Outcome]]) -> str:
    """One line a way and fault."""
    lines = [
        f"{'way':<20}{'fault':<7}{'seconds':>9}{'time lost, s':>16}{'interval':>20}"
        f"{'steps again':>13}{'accuracy':>10}"
    ]
    for (way, fault), outcomes in found.items():
        seconds = np.array([one.seconds for one in outcomes])
        launcher = way.partition(",")[0]
        sound = min(one.seconds for one in found[launcher, "none"])
        lost, low, high = interval(seconds - sound)
        lines.append(
            f"{way:<20}{fault:<7}{np.median(seconds):>9.1f}{lost:>16.1f}"
            f"{low:>10.1f} to {high:>6.1f}"
            f"{np.nanmedian([one.again for one in outcomes]):>13g}"
            f"{np.nanmedian([one.accuracy for one in outcomes]):>10.3f}"
        )
    return "\n".join(lines)


def main() -> None:
    """Make a box, break it again and again, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=6)
    parser.add_argument("--fault", choices=("kill", "cut"), default="kill")
    parser.add_argument("--note", default="", help="what else is to be known, for the record")
    chosen = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    for name, value in DETECTOR.items():
        os.environ[f"OMPI_MCA_mpi_ft_detector_{name}"] = value
    wanted = [(way, "none") for way in WAYS if "," not in way]
    wanted += [(way, chosen.fault) for way in WAYS]
    found: dict[tuple[str, str], list[Outcome]] = {each: [] for each in wanted}
    with Box.up(RANKS, "100mbit", name="surviving") as box:
        for turn in range(chosen.repetitions):
            for number, (way, fault) in enumerate(wanted):
                outcome = measured(box, way, fault, turn, turn * len(wanted) + number)
                found[way, fault].append(outcome)
                print(turn, way, fault, outcome, flush=True)
            asked = f"{RANKS} nodes, 100mbit; {STEPS} steps of {PACE:g} s; {turn + 1} turns"
            asked += f"\n{chosen.note}" if chosen.note else ""
            parts = [heading(describe()), asked, table(found)]
            print(parts[-1], flush=True)
            keep(RESULTS / f"surviving_{chosen.fault}.txt", parts)


if __name__ == "__main__":
    main()
