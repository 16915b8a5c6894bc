"""A step of a GPT on real ranks, ours and torch's own way in turns: shards, split layers, context.

    python -m benchmarks.gpt_beside_torch [--ranks 2,4] [--repetitions 21]

Three comparisons, each with the same weights, batches and optimizer on both sides, and one thread
a rank. Torch's ranks talk over gloo, the only way it has without a GPU (but MPI, for which its
wheels are not built).

    shards         states, gradients and weights in P parts: `wrap(stage=3)` and fully_shard, a
                   unit each block and the rest; forward, backward, AdamW
    split layers   each layer over all ranks: `split_gpt` and DTensor's column and row plans with
                   its loss in parts; forward, backward, AdamW
    context        attention alone, forward and backward, its positions on all ranks (zigzag):
                   ring, gathered keys and Ulysses, and torch's context parallel by both its
                   rotations. Torch has it for GPUs only: it is led to its own flash attention for
                   processors. Ulysses and gathered keys compute with that as well, the ring with
                   plain products. Beside them that kernel alone, without any message: the whole
                   text, and a rank's part of the heads.

A time is that of the slowest rank. Before they are timed both sides are compared: losses of steps,
or outputs and gradients. Shown are medians with nonparametric 95% intervals.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.experimental import _attention as cutting
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    loss_parallel,
    parallelize_module,
)

from ddl_class.notebook import gloo
from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_measure.repetitions import side_by_side
from ddl_teach import Comm, Ranks
from ddl_teach.networks.any_module.wrap import wrap
from ddl_teach.networks.context.gathering import gathering_attention
from ddl_teach.networks.context.layouts import zigzag
from ddl_teach.networks.context.ring_attention import ring_attention
from ddl_teach.networks.context.ulysses import on_one_rank, ulysses
from ddl_teach.networks.models.gpt import Block, gpt
from ddl_teach.networks.models.loss import Batch, mean_loss
from ddl_teach.networks.tensor.gpt import split_gpt

RESULTS = Path(__file__).parent / "results" / "gpt_beside_torch.txt"
WORDS, WIDTH, HEADS, BLOCKS, LENGTH = 512, 256, 8, 4, 128
BATCH = 4  # texts of all ranks together
TEXT = 2048  # positions of the attention alone
CLOSE = 1e-3  # of losses and gradients in float32
WARM_UP = 3
KERNEL = "the kernel alone"

Step = Callable[[], Any]


def model() -> nn.Sequential:
    """The GPT, the same on every rank."""
    return gpt(WORDS, WIDTH, HEADS, BLOCKS, LENGTH)


def batch() -> Batch:
    """Texts of words by chance, and what comes next in them."""
    texts = torch.randint(WORDS, (BATCH, LENGTH + 1), generator=torch.Generator().manual_seed(1))
    return texts[:, :-1], texts[:, 1:]


def training(
    network: nn.Module, part: Batch, loss: Callable[..., torch.Tensor]
) -> Callable[[], float]:
    """A step with AdamW; returns the loss."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)

    def step() -> float:
        optimizer.zero_grad()
        error = loss(network(part[0]), part[1])
        error.backward()
        optimizer.step()
        return error.item()

    return step


def shards(comm: Comm, mesh: DeviceMesh) -> dict[str, Step]:
    """Each rank has its texts, and a part of every weight."""
    texts, answers = batch()
    mine = texts.chunk(comm.size)[comm.rank], answers.chunk(comm.size)[comm.rank]
    theirs = model()
    for child in theirs:
        if isinstance(child, Block):
            fully_shard(child, mesh=mesh)
    fully_shard(theirs, mesh=mesh)
    ours = wrap(comm, model(), stage=3, units=(Block,))
    return {
        "wrap, stage 3": training(ours, mine, mean_loss),
        "torch's fully_shard": training(theirs, mine, mean_loss),
    }


def split_layers(comm: Comm, mesh: DeviceMesh) -> dict[str, Step]:
    """Each rank has all texts, and a part of every layer."""
    theirs, plan = model(), {
        "embedding.words": RowwiseParallel(input_layouts=Replicate()),
        "head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False),
    }  # fmt: skip
    for number in range(1, BLOCKS + 1):
        block = theirs.get_submodule(f"block{number}")
        block.attention.heads //= comm.size
        columns = ("attention.queries", "attention.keys", "attention.values", "wide")
        plan |= {f"block{number}.{layer}": ColwiseParallel() for layer in columns}
        rows = ("attention.projection", "narrow")
        plan |= {f"block{number}.{layer}": RowwiseParallel() for layer in rows}
    parallelize_module(theirs, mesh, plan)
    ours = model()
    step = training(theirs, batch(), mean_loss)

    def with_loss_in_parts() -> float:
        with loss_parallel():
            return step()

    return {
        "split_gpt": training(ours, batch(), split_gpt(ours, comm)),
        "torch's DTensor": with_loss_in_parts,
    }


class FlashAttention(nn.Module):
    """What torch's context parallel finds and replaces."""

    def forward(self, *qkv: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten._scaled_dot_product_flash_attention(*qkv, 0.0, True)[0]


def attention_for_processors() -> torch.library.Library:
    """Torch's flash attention of GPUs becomes that of processors, as long as this is held."""
    of_processors = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    nothing = torch.zeros(())

    def forward(
        q: Any, k: Any, v: Any, dropout: float = 0.0, causal: bool = False,
        debug: bool = False, scale: float | None = None,
    ) -> tuple[Any, ...]:  # fmt: skip
        output, total = of_processors(q, k, v, dropout, causal, scale=scale)
        return output, total, None, None, q.shape[2], k.shape[2], nothing, nothing, nothing

    def backward(
        gradient: Any, q: Any, k: Any, v: Any, output: Any, total: Any, _q: Any, _k: Any,
        _q_length: Any, _k_length: Any, dropout: float, causal: bool, _seed: Any, _offset: Any,
        scale: float | None = None,
    ) -> Any:  # fmt: skip
        its = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
        return its(gradient, q, k, v, output, total, dropout, causal, scale=scale)

    library, name = torch.library.Library("aten", "IMPL"), "_scaled_dot_product_flash_attention"
    library.impl(name, forward, "CPU")
    library.impl(f"{name}_backward", backward, "CPU")
    return library


def context(comm: Comm, mesh: DeviceMesh) -> dict[str, Step]:
    """Each rank has its positions of one text; every step returns a number made of all results."""
    torch.manual_seed(0)
    positions = zigzag(TEXT, comm.size)
    mine = positions[comm.rank]
    *qkv, gradient = (
        torch.randn(1, HEADS, TEXT, WIDTH // HEADS)[:, :, mine].contiguous() for _ in range(4)
    )
    for x in qkv:
        x.requires_grad_()
    cutting._enable_context_parallel_dispatcher()
    theirs = FlashAttention()
    kind = cutting._ContextParallel.AttentionType.SDPA
    parallelize_module(theirs, mesh, cutting._ContextParallel(2, kind))

    def there_and_back(attend: Callable[..., torch.Tensor], rotation: str = "") -> float:
        if rotation:
            cutting.set_rotate_method(rotation)
        for x in qkv:
            x.grad = None
        output = attend(*qkv)
        output.backward(gradient)
        return sum(x.abs().mean().item() for x in (output, *(x.grad for x in qkv)))

    *heads, gradient_of_heads = (
        torch.randn(1, HEADS // comm.size, TEXT, WIDTH // HEADS) for _ in range(4)
    )

    def kernel_alone() -> None:
        for x in heads:
            x.requires_grad_().grad = None
        on_one_rank(*heads).backward(gradient_of_heads)

    ours = (ring_attention, gathering_attention, ulysses)
    return (
        {
            way.__name__: partial(there_and_back, partial(way, comm, positions=positions))
            for way in ours
        }
        | {KERNEL: kernel_alone}
        | {
            f"torch's, {rotation}": partial(there_and_back, theirs, rotation)
            for rotation in ("alltoall", "allgather")
        }
    )


COMPARISONS = {
    f"shards: GPT of {BLOCKS} blocks of {WIDTH}, {BATCH} texts of {LENGTH} in all": shards,
    "split layers: the same GPT and texts": split_layers,
    f"context: attention of {HEADS} heads of {WIDTH // HEADS}, {TEXT} positions": context,
}


def measure(comm: Comm, repetitions: int) -> dict[str, dict[str, np.ndarray]]:
    """Seconds of every repetition on this rank, by comparison and way."""
    torch.set_num_threads(1)
    held = attention_for_processors()
    times = {}
    with gloo.meeting(comm):
        mesh = init_device_mesh("cpu", (comm.size,))
        for name, comparison in COMPARISONS.items():
            ways = comparison(comm, mesh)
            _check(
                {way: [step() for _ in range(2)] for way, step in ways.items() if way != KERNEL}
            )
            times[name] = side_by_side(
                ways, repetitions=repetitions, warm_up=WARM_UP, before=comm.native.barrier
            )
        cutting._disable_context_parallel_dispatcher()
    del held
    return times


def _check(results: dict[str, list[float]]) -> None:
    first, right = next(iter(results.items()))
    for name, values in results.items():
        if not np.allclose(values, right, rtol=CLOSE):
            raise AssertionError(f"{name} has {values}, {first} has {right}")


def table(name: str, per_rank: list[dict[str, np.ndarray]]) -> str:
    """One line a way; ratios to torch's, of several to its fastest."""
    slowest = {way: np.max([times[way] for times in per_rank], axis=0) for way in per_rank[0]}
    torchs = min(float(np.median(times)) for way, times in slowest.items() if "torch" in way)
    lines = [name, f"  {'way':<24}{'median':>10}{'95% interval':>24}{'/ torch':>10}"]
    for way, times in slowest.items():
        median, low, high = (1e3 * seconds for seconds in interval(times))
        span = f"{low:.1f} to {high:.1f}"
        lines.append(f"  {way:<24}{median:>7.1f} ms{span:>24}{median / 1e3 / torchs:>10.2f}")
    return "\n".join(lines)


def main() -> None:
    """Measure, print the tables, keep them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--repetitions", type=int, default=21)
    chosen = parser.parse_args()
    parts = [heading(describe())]
    for size in map(int, chosen.ranks.split(",")):
        with Ranks(size) as ranks:
            run = ranks.run(measure, repetitions=chosen.repetitions, trace=False, timeout=900)
        for name in COMPARISONS:
            parts.append(table(f"{size} ranks, {name}", [rank[name] for rank in run.results]))
            print(parts[-1], flush=True)
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
