"""Lab 8: a training, and whatever you do to its links and ranks meanwhile.

mpiexec --with-ft ulfm --mca mpi_ft_detector true -n 4 python labs/8_faults/program.py

shrinks when a rank is lost. In a box, `ddl-teach box exec head` goes before it; on a Slurm cluster
cluster_setup/slurm/submit --nodes=4 labs/8_faults/job.sbatch. To restart instead:

ddl-teach again -- mpiexec -n 4 python labs/8_faults/program.py \\
    --set way=restart --set now=hand_in/8_restart/now --out hand_in/8_restart

While you do something, say what, for the diary: echo delay > hand_in/8_faults/now
A training begins without a word: what an earlier one has left there is removed.
"""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from ddl_class.commands.mistake import Mistake
from ddl_class.labs.hand_in import Lab, Question, main
from ddl_teach import Comm
from ddl_teach.collectives import ring
from ddl_teach.fault_tolerance.checkpoints import Checkpoints
from ddl_teach.fault_tolerance.progress import TrainingPlan
from ddl_teach.fault_tolerance.restarting import resume
from ddl_teach.fault_tolerance.shrinking import survive
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.tasks.digits import Digits

NAP = 0.05  # seconds


class Diary:
    """One line a step: its number, the ranks, your word, when it began, its all-reduce's seconds.

    Two words are obeyed by the last rank, where links cannot be broken: "nap" makes it late in
    each step, and at "die" it does.
    """

    def __init__(self, comm: Comm, now: Path, pace: float, die: int, file: Path | None) -> None:
        self.ranks, self.now, self.pace, self.die, self.file = comm.size, now, pace, die, file
        self.lines: list[list[Any]] = []

    def before(self, comm: Comm, step: int) -> None:
        """Read the word; work for a while, as a larger network would."""
        word = (self.now.read_text().strip() if self.now.exists() else "") or "sound"
        self.step, self.word, self.began = step, word, time.time()
        last, whole = comm.rank == comm.size - 1, comm.size == self.ranks
        comm.work(seconds=self.pace + NAP * (last and word == "nap"))
        if last and whole and not self.has_died() and (word == "die" or step == self.die):
            comm.die()

    def has_died(self) -> bool:
        """Whether somebody has already, in an earlier attempt."""
        return self.file is not None and (self.file.parent / "attempts").stat().st_size > 1

    def allreduce(self, comm: Comm, x: np.ndarray) -> None:
        """The ring, with a line in the diary when it is through."""
        begun = time.perf_counter()
        ring.allreduce(comm, x)
        seconds = time.perf_counter() - begun
        self.lines.append([self.step, comm.size, self.word, self.began, seconds])
        if self.file is not None and comm.rank == 0:
            with self.file.open("a") as file:  # what is only in memory dies with us
                file.write(json.dumps(self.lines[-1]) + "\n")
        if comm.rank == 0 and self.step % 20 == 0:
            print(
                f"{self.word:>12}  step {self.step:>5}  ranks {comm.size}  {seconds * 1e3:.1f} ms",
                flush=True,
            )


def faults(
    comm: Comm, *, way: str, now: str, steps: int, hidden: int, pace: float, every: int, die: int
) -> dict[str, Any] | None:
    """Train, with a diary; `way` is what follows the loss of a rank."""
    start = time.time() - psutil.Process().create_time()
    plan = TrainingPlan(Digits(hidden=hidden), Momentum(0.1), steps, ranks=4)
    folder = Path(now).parent
    if way not in ("shrink", "restart"):
        raise Mistake(f"--set way={way}: it is shrink or restart")
    told: dict[str, Any] = {"way": way, "start": start, "save": saving(comm, plan, folder)}
    attempts = folder / "attempts"  # to restart
    if comm.rank == 0 and (way == "shrink" or not attempts.exists()):
        Path(now).unlink(missing_ok=True)  # a word about an earlier training, such as "die"
    comm.barrier()
    if way == "shrink":
        diary = Diary(comm, Path(now), pace, die, None)
        least = comm.size // 2 + 1
        found = survive(comm, plan, least=least, allreduce=diary.allreduce, before=diary.before)
        told["losses"] = [[loss.step, loss.ranks] for loss in found.losses]
        weights, speaks = found.weights, found.rank == 0 and found.steps == steps
    else:
        if comm.rank == 0:
            with attempts.open("a") as file:
                file.write("x")
        comm.barrier()
        diary = Diary(comm, Path(now), pace, die, folder / "diary")
        options = {"allreduce": diary.allreduce, "before": diary.before}
        weights, speaks = resume(comm, plan, folder / "kept", every, **options), comm.rank == 0
        if speaks:
            told["attempts"] = attempts.stat().st_size
            diary.lines = [json.loads(line) for line in diary.file.read_text().splitlines()]
            for done in (attempts, diary.file):  # whoever trains here next begins anew
                done.unlink()
            shutil.rmtree(folder / "kept" / "all")
    accuracy = plan.task.accuracy(weights)
    return told | {"diary": diary.lines, "accuracy": accuracy} if speaks else None


def saving(comm: Comm, plan: TrainingPlan, folder: Path) -> float:
    """How long a checkpoint takes, in seconds: the best of a few."""
    kept, seconds = Checkpoints(comm, folder / "trial", alike=True), []
    progress = plan.begin()
    for step in range(3):
        begun = time.perf_counter()
        kept.save(step, progress.state())
        seconds.append(time.perf_counter() - begun)
    return min(seconds)


LAB = Lab(
    "8_faults",
    faults,
    full={"way": "shrink", "now": "hand_in/8_faults/now", "steps": 2000, "hidden": 256,
          "pace": 0.08, "every": 50, "die": -1},
    short={"way": "shrink", "now": "hand_in/8_faults/now", "steps": 24, "hidden": 64,
           "pace": 0.01, "every": 5, "die": -1},
    predictions=(
        Question("delayed", "One link gets 50 ms longer: an all-reduce takes so many times as "
                 "long as before."),
        Question("lossy", "One link loses 1% of its packets: the median all-reduce takes so many "
                 "times as long as before."),
        Question("pause", "A rank is killed. So many seconds later the others have made a step."),
        Question("again", "So many steps must be done again."),
    ),
    answers=(
        Question("delayed", "Median all-reduce under your word delay (or nap), over that under "
                 "sound: so many times as long."),
        Question("lossy", "The same under loss. Left empty where packets cannot be lost."),
        Question("tail", "Under loss (or nap): the longest all-reduce over the median one."),
        Question("pause", "Seconds from the beginning of the last step that was done by all ranks "
                 "to the beginning of the first one without the lost rank."),
        Question("again", "How many steps were done twice?"),
        Question("young", "A save takes `save` seconds; a node fails once an hour. How many "
                 "seconds apart would you save, by Young?"),
        Question("wins", "How many seconds of work may be left for shrinking to win, on 4 ranks? "
                 "A restart takes `start` seconds and half an interval of Young's."),
    ),
)  # fmt: skip

if __name__ == "__main__":
    main(LAB)
