"""torch's own way to start ranks: lab 3's network with DDP, by torchrun.

    torchrun --nproc-per-node=4 labs/3_scaling/under_torchrun.py
    cluster_setup/slurm/submit --nodes=4 labs/3_scaling/torchrun.sbatch

Each rank takes the GPU of its number in the node, and NCCL sends; without GPUs it is gloo. With
`--missing 2` rank 2 stays away from one step. The others wait until `--timeout`; then every rank
writes down what its flight recorder has, and `flight_recorder.py` says which rank was missing.
With NCCL a watchdog of torch's ends a rank that waits; it writes the recorder into a file first.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import signal
import time
from datetime import timedelta
from pathlib import Path
from statistics import median

os.environ.setdefault("TORCH_FR_BUFFER_SIZE", "2000")  # collectives that are kept; read once

import torch
from torch import distributed
from torch._C import _distributed_c10d as c10d
from torch.nn.parallel import DistributedDataParallel

from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.mlp import mlp

STEPS, MISSED = 20, 10


def main() -> None:
    """Train for a few steps and print the median, or say what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=256, help="of each rank")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--missing", type=int, default=-1, help="a rank that misses a step")
    parser.add_argument("--timeout", type=float, default=10, help="seconds to wait for others")
    parser.add_argument("--out", type=Path, default=Path("hand_in/3_torchrun"))
    asked = parser.parse_args()
    local, ranks_here = (int(os.environ[name]) for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE"))
    if 0 < torch.cuda.device_count() < ranks_here:
        raise SystemExit(f"{ranks_here} ranks on this node, and {torch.cuda.device_count()} GPUs")
    gpus = torch.cuda.device_count() > 0
    device = torch.device("cuda", local) if gpus else torch.device("cpu")
    if gpus:
        torch.cuda.set_device(device)
    asked.out.mkdir(parents=True, exist_ok=True)
    # torch adds the rank's number.
    os.environ.setdefault("TORCH_FR_DUMP_TEMP_FILE", str(asked.out.resolve() / "nccl-"))
    os.environ.setdefault("TORCH_NCCL_DUMP_ON_TIMEOUT", "1")
    distributed.init_process_group(
        "nccl" if gpus else "gloo", timeout=timedelta(seconds=asked.timeout)
    )
    rank = distributed.get_rank()
    if rank == 0:
        for old in (*asked.out.glob("rank-*.json"), *asked.out.glob("nccl-*")):
            old.unlink()  # of an earlier run
    distributed.barrier()

    def ended(*_: object) -> None:
        keep_recorder(asked.out, rank)
        os._exit(1)

    signal.signal(signal.SIGTERM, ended)  # torchrun ends all ranks when one has failed
    try:
        seconds = train(asked, rank, device)
    except RuntimeError as error:
        keep_recorder(asked.out, rank)
        print(f"rank {rank}: {str(error).splitlines()[0]}", flush=True)
        os._exit(1)  # NCCL's threads would wait for the missing rank
    if rank == 0:
        way = f"{distributed.get_backend()}, {distributed.get_world_size()} ranks on {device.type}"
        print(f"{way}: a step takes {1e3 * median(seconds):.2f} ms")
    distributed.destroy_process_group()


def train(asked: argparse.Namespace, rank: int, device: torch.device) -> list[float]:
    """Seconds of the steps."""
    torch.set_num_threads(1)
    dice = torch.Generator().manual_seed(rank)
    inputs = torch.randn(asked.samples, 64, generator=dice).to(device)
    answers = torch.randint(10, (asked.samples,), generator=dice).to(device)
    model = DistributedDataParallel(mlp((64, asked.width, asked.width, 10)).to(device))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    seconds = []
    for step in range(STEPS):
        if step == MISSED and rank == asked.missing:
            time.sleep(10 * asked.timeout)  # it reads its data, say, from a disk that hangs
        begun = time.perf_counter()
        optimizer.zero_grad()
        mean_loss(model(inputs), answers).backward()
        optimizer.step()
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begun)
    return seconds


def keep_recorder(folder: Path, rank: int) -> None:
    """What torch has recorded of this rank's collectives, as plain data."""
    nccl = distributed.get_backend() == "nccl"
    recorded = pickle.loads(c10d._dump_nccl_trace() if nccl else c10d._dump_fr_trace())
    (folder / f"rank-{rank}.json").write_text(json.dumps(recorded, default=str))


if __name__ == "__main__":
    main()
