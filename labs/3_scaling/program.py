"""Lab 3: data parallelism on ever more ranks, strong and weak, beside torch's DDP.

mpiexec -n 4 python labs/3_scaling/program.py                                # here
ddl-teach box exec head mpiexec -n 4 python labs/3_scaling/program.py        # in a box
cluster_setup/slurm/submit --nodes=4 --ntasks-per-node=1 labs/3_scaling/job.sbatch
"""

from __future__ import annotations

import os
import socket
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from ddl_class.commands.mistake import Mistake
from ddl_class.commands.program_file import load_program
from ddl_class.labs.hand_in import Lab, Question, main
from ddl_class.notebook import gloo
from ddl_measure.near_and_far import ENDS, near_and_far, nodes_of
from ddl_measure.repetitions import side_by_side, slowest_of_all
from ddl_teach import Comm
from ddl_teach.collectives import ring
from ddl_teach.networks.data_parallel.buckets import average_buckets, fill
from ddl_teach.networks.data_parallel.ladder import Rung, step_of
from ddl_teach.networks.data_parallel.overlapped import Overlapped
from ddl_teach.networks.data_parallel.shards import own_part
from ddl_teach.networks.models.data import digits
from ddl_teach.networks.models.loss import beside
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.twin import copies, largest_difference

FLOOR, DDP = "no messages", "torch's DDP"
CLOSE = 1e-3  # float32 weights after some dozens of steps
FORWARD = 1 / 3  # of a layer's time: one product of three


def scaling(
    comm: Comm, *, repetitions: int, samples: int, width: int, bucket: int, asleep: float,
    yours: str = "",
) -> dict[str, Any] | None:  # fmt: skip
    """One step of training, on 1, 2, 4, ... ranks: `samples` of all (strong), of each (weak).

    With `asleep` seconds a sample computing takes time and no core, as on an accelerator. `yours`
    names an all-reduce of your own, FILE.py:FUNCTION, for the buckets.
    """
    torch.set_num_threads(1)
    if samples % comm.size:
        raise Mistake(f"samples={samples} must be a multiple of the {comm.size} ranks")
    pings = near_and_far(comm, ENDS, repetitions)
    nodes, machines = nodes_of(comm), machines_of(comm)
    counts = {2**power for power in range(comm.size.bit_length())} | {comm.size}
    rows = []
    for ranks in sorted(counts):
        group = comm.split(0 if comm.rank < ranks else None)
        if group is not None:
            with gloo.meeting(group, shared=Path.cwd()):
                for work in sorted({samples, samples * ranks}):
                    ways = contestants(group, lambda: network(comm, width, asleep), bucket, yours)
                    rows += race(group, ways, work, repetitions)
        comm.barrier()
    if comm.rank:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"{comm.size} ranks, {len(set(nodes))} nodes, {machines} machine(s), {cores} cores here")
    print(f"{'ranks':>5}{'samples':>9}" + "".join(f"{way + ', ms':>24}" for way in ways))
    for start in range(0, len(rows), len(ways)):
        some = rows[start : start + len(ways)]
        medians = "".join(f"{1e3 * np.median(row['seconds']):>24.1f}" for row in some)
        print(f"{some[0]['ranks']:>5}{some[0]['work']:>9}{medians}")
    gradients = sum(one.nbytes for one in network(comm, width, asleep).parameters())
    where = {"nodes": nodes, "machines": machines, "cores": cores, "gradients": gradients}
    return where | pings | {"rows": rows}


def network(comm: Comm, width: int, asleep: float) -> nn.Sequential:
    """The same weights each time."""
    model = mlp((64, width, width, 10)).to(comm.device)
    return put_to_sleep(model, comm.work, asleep) if asleep else model


class _Sleep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, nap: Callable[[float], None]) -> torch.Tensor:
        ctx.nap = nap
        nap(FORWARD * len(x))
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        ctx.nap((1 - FORWARD) * len(gradient))
        return gradient, None


class Asleep(nn.Module):
    """The identity, which calls `nap(samples)` on the way there and on the way back."""

    def __init__(self, nap: Callable[[float], None]) -> None:
        super().__init__()
        self.nap = nap

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _Sleep.apply(x, self.nap)


def put_to_sleep(
    model: nn.Sequential, work: Callable[[float], None], seconds: float
) -> nn.Sequential:
    """The same layers with one that sleeps behind each of those with weights, for `seconds` a
    sample in all. Gradients become ready one after another: messages can hide beneath it."""
    heavy = [layer for layer in model if any(True for _ in layer.parameters())]
    layers: list[nn.Module] = []
    for layer in model:
        layers.append(layer)
        if layer in heavy:
            layers.append(Asleep(lambda samples: work(samples * seconds / len(heavy))))
    return nn.Sequential(*layers)


def contestants(
    group: Comm, make: Callable[[], nn.Sequential], bucket: int, yours: str
) -> dict[str, Rung]:
    """By name: a network, and a backward pass that ends with averaged gradients."""

    def one_bucket(allreduce: Callable) -> Rung:
        model = make()
        buckets = fill(model.parameters(), float("inf"))

        def backward(error: torch.Tensor) -> None:
            error.backward()
            average_buckets(group, buckets, allreduce)

        return model, backward

    overlapped, torchs = make(), DistributedDataParallel(make(), bucket_cap_mb=bucket / 2**20)
    ways = {
        FLOOR: (make(), torch.Tensor.backward),
        "one bucket": one_bucket(ring.allreduce),
        "overlapped": (
            overlapped, Overlapped(group, fill(overlapped.parameters(), bucket)).backward
        ),
        DDP: (torchs, torch.Tensor.backward),
    }  # fmt: skip
    if yours:
        own = load_program(yours)
        ways["yours"] = one_bucket(
            lambda comm, flat: own(comm, flat if flat.is_cuda else flat.numpy())
        )
    return ways


def race(group: Comm, ways: dict[str, Rung], work: int, repetitions: int) -> list[dict[str, Any]]:
    """Seconds of a step of the slowest rank, by way; all must end with the same weights."""
    inputs, answers = digits(flat=True)
    some = torch.arange(work) % len(inputs)
    batch = beside(next(iter(ways.values()))[0], own_part(group, (inputs[some], answers[some])))
    steps = {name: until_all(group, step_of(*way, batch)) for name, way in ways.items()}
    how = {"repetitions": repetitions, "warm_up": 3, "before": group.barrier, "clock": group.now}
    times = side_by_side(steps, **how)
    weights = {name: list(way[0].parameters()) for name, way in ways.items()}
    rows = []
    for name, seconds in times.items():
        apart = largest_difference(
            *(copies((str(at), one) for at, one in enumerate(weights[it])) for it in (name, DDP))
        )
        if apart > CLOSE and name != FLOOR:
            raise Mistake(f"'{name}' ended {apart:.1e} away from the weights of {DDP}")
        slow = slowest_of_all(group, seconds).tolist()
        rows.append({"ranks": group.size, "work": work, "way": name, "seconds": slow})
        rows[-1]["apart"] = apart
    return rows


def until_all(group: Comm, step: Callable[[], None]) -> Callable[[], None]:
    """A step is over when it is for all: ranks that share a core go one after the other."""

    def together() -> None:
        step()
        if torch.cuda.is_available():
            torch.cuda.synchronize()  # its kernels, too
        group.barrier()

    return together


def machines_of(comm: Comm) -> int:
    """On how many machines the nodes are: those of a box are all on one, started at one time."""
    started = Path("/proc/sys/kernel/random/boot_id")
    name = started.read_text() if started.exists() else socket.gethostname()
    names = np.zeros(comm.size, np.int64)
    names[comm.rank] = zlib.crc32(name.encode())
    ring.allgather(comm, names)
    return len(set(names.tolist()))


LAB = Lab(
    "3_scaling",
    scaling,
    full={
        "repetitions": 11, "samples": 1024, "width": 256, "bucket": 2**17, "asleep": 0.0,
        "yours": "",
    },
    short={
        "repetitions": 3, "samples": 16, "width": 64, "bucket": 2**14, "asleep": 1e-4,
        "yours": "",
    },
    predictions=(
        Question("speed_up", "DDP on all ranks, as many samples in all: how many times as fast?"),
        Question("efficiency", "DDP, as many samples for each: of the ideal rate it has ... %."),
        Question("averaging", "One bucket's all-reduce on all ranks takes ... ms."),
        Question("limit", "What is in the way of more, 'cores' or 'messages'?", str),
    ),
    answers=(
        Question("speed_up", "Strong, all ranks: speed-up of torch's DDP."),
        Question("efficiency", "Weak, all ranks: efficiency of torch's DDP, in %."),
        Question("floor", "Strong, all ranks: speed-up of the steps without messages."),
        Question("serial", "Strong, all ranks, DDP: its serial share (Karp and Flatt), in %."),
        Question("averaging", "Weak, all ranks: what 'one bucket' adds to 'no messages', in ms."),
        Question("model", "The same by the ring's formula and your fit, in ms."),
        Question("limit", "Strong, all ranks, DDP: does 'cores' or 'messages' cost it more?", str),
        Question("hidden", "Weak, all ranks, of what 'one bucket' adds DDP hides ... %."),
        Question(
            "kind",
            "Someone divides DDP's rate on all ranks, with as many samples for each, by that of "
            "one rank, and calls it the speed-up. What kind of scaling is it?",
            str,
        ),
    ),
)  # fmt: skip

if __name__ == "__main__":
    main(LAB)
