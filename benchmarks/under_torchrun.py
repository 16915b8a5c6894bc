"""The same training under torchrun, which starts all workers again when one of them fails.

    export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1
    torchrun --nnodes 3:4 --nproc-per-node 1 --max-restarts 3 --rdzv-backend c10d \\
        --rdzv-endpoint node0:29400 -m benchmarks.under_torchrun FOLDER --every 50

An agent on each node starts a worker and watches it. If one fails, the agents stop the others,
*meet anew* (agents that do not come are left out, as long as enough have come) and start the
program from its first line: what was not saved is lost. `FOLDER` must be seen by all nodes;
torch.distributed's Gloo adds the gradients up.
What to look at: a killed process is noticed at once, a cable that is out only after `--patience`
seconds in a collective. To meet they have `--meeting` seconds: a start takes as long as importing
torch does on the slowest node. By default torchrun 2.13 keeps one store for all attempts, in which
a worker that is started again may read its neighbour's old address: then both wait for nobody
(github.com/pytorch/pytorch/issues/135712). Hence the setting.
"""

import argparse
import datetime
import json
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

from ddl_runtime.records.whole_file import write_whole
from ddl_teach.fault_tolerance.checkpoints import newest_whole, write
from ddl_teach.fault_tolerance.progress import TrainingPlan, TrainingProgress
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.tasks.digits import Digits

RESULT, STEPS = "result.json", "steps"


def train(plan: TrainingPlan, folder: Path, every: int, seconds: float, patience: float) -> None:
    """Train on from what rank 0 finds in the folder, or the first step; the result goes there."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    quick = dist.new_group(timeout=datetime.timedelta(seconds=patience))

    def add_up(gradient: np.ndarray) -> None:
        dist.all_reduce(torch.from_numpy(gradient), group=quick)

    newest = newest_whole(folder) if rank == 0 else None
    state_of_all = [None if newest is None else newest.state]
    dist.broadcast_object_list(state_of_all, 0)
    state = state_of_all[0]
    progress = plan.begin() if state is None else TrainingProgress.of(state)
    print(f"rank {rank} of {ranks} goes on with step {progress.step}", flush=True)
    while progress.step < plan.steps:
        if rank == 0:
            with (folder / STEPS).open("a") as file:
                file.write(f"{progress.step} {time.time()}\n")
        time.sleep(seconds)
        plan.step(progress, rank, ranks, add_up)
        if rank == 0 and every and progress.step % every == 0:
            write(folder, progress.step, progress.state())
    dist.barrier()
    if rank == 0:
        told = {"ranks": ranks, "accuracy": plan.task.accuracy(progress.weights)}
        write_whole(folder / RESULT, json.dumps(told) + "\n")


def main(words: Sequence[str] | None = None) -> None:
    """As a program, on every worker that torchrun has started."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--ranks", type=int, default=4, help="that the batch was chosen for")
    parser.add_argument("--every", type=int, default=0, help="steps to save; 0: never")
    parser.add_argument("--seconds", type=float, default=0.0, help="more for each step")
    parser.add_argument("--meeting", type=float, default=60, help="seconds to wait for all")
    parser.add_argument("--patience", type=float, default=1800, help="seconds in an all-reduce")
    chosen = parser.parse_args(words)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=chosen.meeting))
    plan = TrainingPlan(Digits(), Momentum(0.1), chosen.steps, chosen.ranks)
    train(plan, chosen.folder, chosen.every, chosen.seconds, chosen.patience)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
