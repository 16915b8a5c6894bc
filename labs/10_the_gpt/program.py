"""Lab 10: a GPT on all ranks, killed, and resumed on another number of them.

mpiexec -n 4 python labs/10_the_gpt/program.py --set die=50                  # it dies at step 50
mpiexec -n 2 python labs/10_the_gpt/program.py                               # and goes on
cluster_setup/slurm/submit --nodes=4 --ntasks-per-node=1 labs/10_the_gpt/job.sbatch

Each batch is the same, on however many ranks: each takes its part, so the loss goes on as if
nothing had been. Checkpoints and the diary lie in the folder `kept`; they go when the training is
over.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ddl_class.commands.mistake import Mistake
from ddl_class.labs.hand_in import Lab, Question, main
from ddl_measure.repetitions import side_by_side
from ddl_teach import Comm
from ddl_teach.collectives import recursive_doubling
from ddl_teach.fault_tolerance.checkpoints import Checkpoints
from ddl_teach.networks.any_module.wrap import wrap
from ddl_teach.networks.data_parallel.shards import own_part
from ddl_teach.networks.models.data import Batch, documentation
from ddl_teach.networks.models.gpt import SIZES as MODELS
from ddl_teach.networks.models.gpt import gpt_of
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.training.optimizers.adam import Adam

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
WIDTH, ON_A_GPU = 1024, 8192  # of the matrices by which the peak is measured
DIARY = "diary"


def the_gpt(
    comm: Comm, *, size: str, texts: int, steps: int, every: int, die: int, rate: float,
    precision: str, kept: str,
) -> dict[str, Any] | None:  # fmt: skip
    """Train up to `steps`, from the newest checkpoint on; the last rank dies at step `die`."""
    choices: dict[str, tuple[str, Iterable[str]]] = {
        "size": (size, MODELS), "precision": (precision, PRECISIONS),
    }  # fmt: skip
    for name, (value, known) in choices.items():
        if value not in known:
            raise Mistake(f"--set {name}={value}: it is one of {', '.join(known)}")
    torch.set_num_threads(1)
    model = wrap(comm, gpt_of(size))
    flat = parameters_to_vector(model.parameters()).detach().cpu()
    state = {"weights": flat.numpy(), "first": np.zeros_like(flat), "second": np.zeros_like(flat)}
    settings = {"size": size, "texts": texts, "rate": rate, "precision": precision}
    diary = Diary(comm, Path(kept) / DIARY, peak(comm, precision), settings)
    checkpoints = Checkpoints(comm, kept, alike=True)
    newest = checkpoints.newest()
    begun = newest.step if newest else 0
    weights, *states = (
        torch.from_numpy(x).to(comm.device) for x in (newest.state if newest else state).values()
    )
    vector_to_parameters(weights, model.parameters())

    data, _ = documentation(MODELS[size][-1])
    loss, rule = model.loss(mean_loss), Adam(rate)
    for step in range(begun, steps):
        if step == die and comm.rank == comm.size - 1 and diary.attempts == 1:
            comm.die()
        began = time.time()
        inputs, targets = own_part(comm, batch(data, texts, step))
        kind = str(comm.device).split(":")[0]
        with torch.autocast(kind, torch.bfloat16, enabled=precision == "bfloat16"):
            error = loss(model(inputs), targets)
        model.zero_grad()
        error.backward()
        slopes = [weight.grad for weight in model.parameters() if weight.grad is not None]
        rule(weights, parameters_to_vector(slopes), tuple(states), step + 1)
        vector_to_parameters(weights, model.parameters())
        all_ranks = average(comm, error.item())
        made, saves = time.time(), (step + 1) % every == 0
        if saves:
            vectors = (x.cpu().numpy() for x in (weights, *states))
            checkpoints.save(step + 1, dict(zip(state, vectors, strict=True)))
        diary.write([step, began, made - began, all_ranks, saves * (time.time() - made)])
    if comm.rank:
        return None
    attempts = diary.read()
    shutil.rmtree(checkpoints.own)  # the next training begins anew
    diary.file.unlink()
    return {"weights": len(flat), "tokens": texts * MODELS[size][-1], "attempts": attempts}


def batch(data: Batch, texts: int, step: int) -> Batch:
    """The texts of this step: on all ranks the same."""
    inputs, targets = data
    chosen = torch.randint(len(inputs), (texts,), generator=torch.Generator().manual_seed(step))
    return inputs[chosen], targets[chosen]


def average(comm: Comm, number: float) -> float:
    """The mean of this number over all ranks."""
    numbers = np.array([number])
    recursive_doubling.allreduce(comm, numbers)
    return float(numbers[0] / comm.size)


def peak(comm: Comm, precision: str) -> float:
    """Operations a second of all ranks together, while all multiply large matrices at once."""
    width = ON_A_GPU if comm.device.startswith("cuda") else WIDTH
    x = torch.randn(width, width, dtype=PRECISIONS[precision], device=comm.device)

    def product() -> None:
        (x @ x)[0, 0].item()  # it ends when the device has finished

    seconds = side_by_side({"all": product}, repetitions=7, warm_up=2, before=comm.barrier)["all"]
    return average(comm, 2 * width**3 / float(np.median(seconds))) * comm.size


class Diary:
    """A line for each attempt and for each step, on the disk at once: rank 0 writes it."""

    def __init__(self, comm: Comm, file: Path, peak: float, settings: dict[str, Any]) -> None:
        self.writes, self.file = comm.rank == 0, file
        before = self.read()[0]["settings"] if file.exists() else settings
        comm.barrier()  # all have read it
        if before != settings:
            raise Mistake(
                f"{file.parent} holds a training with {before}, and this one has {settings}: "
                "take the same settings, or remove the folder and begin anew"
            )
        if self.writes:
            file.parent.mkdir(parents=True, exist_ok=True)
        self.write({
            "ranks": comm.size, "device": str(comm.device), "peak": peak,
            "started": psutil.Process().create_time(), "settings": settings,
        })  # fmt: skip
        comm.barrier()
        self.attempts = len(self.read())  # all ranks see the folder

    def write(self, line: Any) -> None:
        """Add the line to the file, and print every tenth step."""
        if not self.writes:
            return
        with self.file.open("a") as file:
            file.write(json.dumps(line) + "\n")
        if isinstance(line, list) and line[0] % 10 == 0:
            print(f"step {line[0]:>5}  loss {line[3]:.4f}  {line[2] * 1e3:.0f} ms", flush=True)

    def read(self) -> list[dict[str, Any]]:
        """The attempts, each with its steps."""
        attempts: list[dict[str, Any]] = []
        for line in map(json.loads, self.file.read_text().splitlines()):
            if isinstance(line, dict):
                attempts.append(line | {"steps": []})
            else:
                attempts[-1]["steps"].append(line)
        return attempts


LAB = Lab(
    "10_the_gpt",
    the_gpt,
    strict=False,
    full={"size": "1M", "texts": 16, "steps": 120, "every": 20, "die": -1, "rate": 1e-3,
          "precision": "float32", "kept": "hand_in/10_the_gpt/kept"},
    short={"size": "100k", "texts": 8, "steps": 12, "every": 4, "die": -1, "rate": 1e-3,
           "precision": "float32", "kept": "hand_in/10_the_gpt/kept_short"},
    predictions=(
        Question("mfu", "Model FLOP utilisation: which share of what all ranks can compute, in "
                 "%, will a step on all ranks use?"),
        Question("again", "The training dies at the step that you name. So many steps must be "
                 "made again."),
        Question("apart", "Of a step that was made on both numbers of ranks, the two losses "
                 "differ by so many millionths (1e-6) of the loss."),
        Question("goodput", "From the first start to the end, restarts included: which share of "
                 "the time, in %, went into steps that count?"),
    ),
    answers=(
        Question("tokens", "Tokens a second, by the median step of the first attempt."),
        Question("mfu", "Its model FLOP utilisation in %, of the peak measured."),
        Question("fewer", "The median step of the last attempt takes so many times as long as "
                 "that of the first."),
        Question("again", "How many steps were made once more?"),
        Question("down", "Seconds from the end of the last step of the first attempt to the "
                 "begin of the first step after it."),
        Question("apart", "The largest difference of the two losses of a step that was made "
                 "twice, in millionths of the loss. Left empty if no step was."),
        Question("goodput", "Seconds of the steps that count, in % of those from the first "
                 "attempt's `started` to the end of the last step."),
        Question("bill", "The model's operations in the steps that count, in % of what the ranks "
                 "could have computed from each attempt's start to the end of its last step."),
        Question("young", "One failure in 3 hours: how many seconds apart should one save, by "
                 "Young, with the median save of yours?"),
    ),
)  # fmt: skip

if __name__ == "__main__":
    main(LAB)
