"""A step of torch's FSDP2 on simulated ranks: time, memory, and bytes sent.

    python -m benchmarks.torch_sizes [--one "1 billion, 64 ranks"]

A small GPT on 64 simulated ranks; one of a billion weights on 64, and one of seven billion on 32,
whose tensors have a size and no data: forward, backward and AdamW, on a described device. Each is
a process of its own, for its memory. What to look at: the bytes are those of the formula, exactly.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from ddl_measure.machine import describe, heading, keep
from ddl_teach import Comm, simulate, torch_backend
from ddl_teach.comm import Uniform

RESULTS = Path(__file__).parent / "results" / "torch_sizes.txt"
HEADS, BATCH = 16, 4
DEVICE = torch_backend.Roofline(flops=1e14, bandwidth=1e12)
SIZES = {  # ranks, width, layers, words, length of a text, and whether tensors have data
    "small, with data, 64 ranks": (64, 64, 2, 256, 64, True),
    "small, 4 ranks": (4, 64, 2, 32_000, 512, False),
    "1 billion, 64 ranks": (64, 2048, 20, 32_000, 512, False),
    "7 billion, 32 ranks": (32, 4096, 32, 32_000, 512, False),
}


class Block(nn.Module):
    """A layer of a transformer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.mixed = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What goes to the next layer."""
        parts = self.qkv(self.norms[0](x)).chunk(3, -1)
        heads = [part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in parts]
        attended = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.mixed(attended.transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))


class GPT(nn.Module):
    """Words in, words out."""

    def __init__(self, width: int, layers: int, words: int) -> None:
        super().__init__()
        self.first = nn.Embedding(words, width)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(layers)])
        self.last = nn.Linear(width, words, bias=False)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """A score for each word, at each place."""
        scores: torch.Tensor = self.last(self.blocks(self.first(words)))
        return scores


def step(
    comm: Comm, width: int, layers: int, words: int, length: int, data: bool
) -> tuple[int, int]:
    """One step; returns the bytes of all weights, and of those outside of the layers."""
    dist.init_process_group("ddl_teach")
    mesh = init_device_mesh("cpu", (comm.size,))  # it reads numbers, which fake tensors lack
    with nullcontext() if data else FakeTensorMode(allow_non_fake_inputs=True):
        model = GPT(width, layers, words)
        nbytes = [4 * sum(p.numel() for p in part.parameters()) for part in (model, model.blocks)]
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
        optimizer = torch.optim.AdamW(model.parameters())
        with torch_backend.computing(DEVICE):
            text = torch.zeros(BATCH, length, dtype=torch.long)
            nn.functional.cross_entropy(model(text).flatten(0, 1), text.flatten()).backward()
            optimizer.step()
    return nbytes[0], nbytes[0] - nbytes[1]


def measure(name: str) -> dict[str, Any]:
    """One size, in this process."""
    ranks, width, layers, words, length, data = SIZES[name]
    begun = time.perf_counter()
    run = simulate(
        step, ranks, threads=True, network=Uniform(5e-6, 25e9), width=width, layers=layers,
        words=words, length=length, data=data,
    )  # fmt: skip
    seconds = time.perf_counter() - begun
    whole, outside = run.results[0]
    return {
        "weights": whole // 4,
        "sent": sorted({ledger.bytes_sent for ledger in run.ledger}),
        "formula": (ranks - 1) * (3 * whole - outside) // ranks,
        "seconds": seconds,
        "processor seconds": time.process_time(),
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "virtual seconds": run.time,
    }


def measured_alone(name: str) -> dict[str, Any]:
    """One size, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.torch_sizes", "--one", name]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=root)
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--one", choices=SIZES, help="measure this size here, and print JSON")
    name = parser.parse_args().one
    if name is not None:
        print(json.dumps(measure(name)))
        return
    lines = [
        f"{'':<28}{'weights':>15}{'s':>7}{'s of processor':>16}{'MB':>7}{'bytes / formula':>17}"
    ]
    for size in SIZES:
        its = measured_alone(size)
        lines.append(
            f"{size:<28}{its['weights']:>15,}{its['seconds']:>7.0f}"
            f"{its['processor seconds']:>16.0f}{its['MB']:>7}"
            f"{max(its['sent']) / its['formula']:>17.6f}"
        )
        print(lines[-1], flush=True)
    keep(RESULTS, [heading(describe()), "\n".join(lines)])


if __name__ == "__main__":
    main()
