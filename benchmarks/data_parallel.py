"""Data parallelism side by side: the ladder and torch's DistributedDataParallel, in one run.

    python -m benchmarks.data_parallel [--ranks 2] [--repetitions 31] [--bucket 4MiB]

All ways train the same network from the same weights on the same batches, take each turn in an
order that rotates, and must end with the same weights. A time is that of the slowest rank, for one
whole step: forward, backward, averages, update. Shown are medians with nonparametric 95%
intervals, and ratios of medians to torch's DDP (gloo) with its own settings. `no averaging` is a
step without any messages, so what a way adds to it is what averaging costs. `shared weights` can
get below it, since each rank updates its part of the weights only. `layers alone` are the products
and convolutions of such a step, forward and backward, on arrays that are kept: no way gets below.

Below each table: overlapped buckets beside one bucket. With as many ranks as cores, messages under
the pass take the cores that compute, however long that is. So in the last table ranks sleep
through each layer, as they do while an accelerator computes: there a core is free for messages,
and it says from which time of a layer on overlapping them is faster.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from ddl_measure.interval import interval, ratio_of_turns
from ddl_measure.machine import describe, heading, keep
from ddl_measure.repetitions import side_by_side
from ddl_teach import Comm, Ranks
from ddl_teach.collectives import background, ring
from ddl_teach.networks.data_parallel.ladder import Rung, rungs, step_of
from ddl_teach.networks.models.alexnet import alexnet
from ddl_teach.networks.models.data import digits
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.twin import copies, largest_difference

RESULTS = Path(__file__).parent / "results" / "data_parallel.txt"
TORCHS, FLOOR, LAYERS_ALONE = "torch's DDP", "no averaging", "layers alone"
SETTINGS = {
    TORCHS: {},
    "the same, gradients as views": {"gradient_as_bucket_view": True},
    "the same, a static graph too": {"gradient_as_bucket_view": True, "static_graph": True},
}
ONE, OVERLAPPED = "one bucket", "overlapped buckets"
CLOSE = 1e-3  # float32 weights after some dozens of steps

LAYERS, LAYER_BYTES = 8, 8 << 20  # where ranks sleep
ASLEEP = (0.0, 1e-3, 2e-3, 4e-3, 8e-3)  # seconds a layer

WORKLOADS: dict[str, tuple[Callable[[], nn.Module], bool, int, str]] = {
    **{
        f"MLP, {samples}": (
            lambda: mlp((64, 1024, 1024, 1024, 10)), True, samples,
            f"MLP 64-1024-1024-1024-10, {samples} samples a rank",
        )
        for samples in (16, 64, 256)
    },
    "convolutions": (
        lambda: alexnet(maps=(16, 32, 64, 64, 32), width=256), False, 8,
        "small AlexNet (16, 32, 64, 64, 32 maps, classifier of 256), 8 samples a rank",
    ),
}  # fmt: skip


def contestants(
    comm: Comm, make: Callable[[], nn.Module], samples: int, bucket: float
) -> dict[str, Rung]:
    """By name: a network and its backward pass."""
    ways = {FLOOR: (make(), lambda error: error.backward())}
    ways |= rungs(comm, make, samples, bucket)
    for name, settings in SETTINGS.items():
        torchs = nn.parallel.DistributedDataParallel(make(), **settings)
        ways[name] = torchs, lambda error: error.backward()
    return ways


def measure(
    comm: Comm, workload: str, repetitions: int, bucket: float, folder: str
) -> dict[str, np.ndarray]:
    """Seconds of every repetition, by name, on this rank."""
    torch.set_num_threads(1)
    distributed = torch.distributed
    store = distributed.FileStore(f"{folder}/gloo-{workload}", comm.size)
    distributed.init_process_group("gloo", store=store, rank=comm.rank, world_size=comm.size)
    make, flat, samples, _ = WORKLOADS[workload]
    inputs, answers = digits(flat)
    own = slice(comm.rank * samples, (comm.rank + 1) * samples)
    ways = contestants(comm, make, samples, bucket)
    steps = {name: step_of(*way, (inputs[own], answers[own])) for name, way in ways.items()}
    steps[LAYERS_ALONE] = layers_alone(make(), inputs[own])
    times = side_by_side(steps, repetitions=repetitions, warm_up=3, before=comm.native.barrier)
    _check_weights(comm, {name: network for name, (network, _) in ways.items()})
    distributed.destroy_process_group()
    return times


def layers_alone(network: nn.Module, inputs: torch.Tensor) -> Callable[..., None]:
    """The products and convolutions of a step, forward and backward, and nothing else."""
    seen: list[tuple[nn.Module, torch.Tensor, torch.Tensor]] = []
    for layer in network.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            layer.register_forward_hook(lambda own, x, y: seen.append((own, x[0], y)))
    with torch.no_grad():
        network(inputs)
    calls: list[Callable[[], object]] = []
    for number, (layer, x, dy) in enumerate(seen):
        weight = layer.weight.detach()
        if isinstance(layer, nn.Linear):
            products = [(x, weight.T, dy), (dy.T, x, weight), (dy, weight, x)]
            calls += [  # the first layer needs no gradient of its input
                partial(torch.mm, a, b, out=torch.empty_like(out))
                for a, b, out in products[: 3 if number else 2]
            ]
        else:
            shape = [layer.stride, layer.padding, layer.dilation]
            calls.append(partial(torch.conv2d, x, weight, None, *shape))
            wanted = [number > 0, True, False]
            backward = torch.ops.aten.convolution_backward
            calls.append(partial(backward, dy, x, weight, None, *shape, False, [0, 0], 1, wanted))

    def step(*_: object) -> None:
        for call in calls:
            call()

    return step


def _check_weights(comm: Comm, networks: dict[str, nn.Module]) -> None:
    right = copies(networks[TORCHS].module.named_parameters())
    for name, network in networks.items():
        plain = network.module if hasattr(network, "module") else network
        apart = largest_difference(copies(plain.named_parameters()), right)
        wrong = apart > CLOSE
        if name == FLOOR:  # on one rank there is nothing to average
            wrong = comm.size > 1 and apart < CLOSE
        if wrong:
            raise AssertionError(f"{name} ended {apart:.1e} away from torch's weights")


def table(ranks: int, workload: str, per_rank: list[dict[str, np.ndarray]]) -> str:
    """One line a way."""
    make, _, _, what = WORKLOADS[workload]
    megabytes = sum(p.nbytes for p in make().parameters()) / 1e6
    count = len(list(make().parameters()))
    slowest = {name: np.max([times[name] for times in per_rank], axis=0) for name in per_rank[0]}
    torchs, floor = (float(np.median(slowest[name])) for name in (TORCHS, FLOOR))
    lines = [
        f"{what}; {ranks} ranks; {count} arrays of gradients, {megabytes:.1f} MB",
        f"{'way':<30}{'median':>10}{'95% interval':>26}{'/ DDP':>8}{'averaging':>12}",
    ]
    for name, times in slowest.items():
        median, low, high = interval(times)
        lines.append(
            f"{name:<30}{median * 1e3:>7.2f} ms{low * 1e3:>12.2f} to {high * 1e3:>7.2f} ms"
            f"{median / torchs:>8.2f}{(median - floor) * 1e3:>9.2f} ms"
        )
    return "\n".join([*lines, f"{OVERLAPPED} / {ONE}: {beside(slowest)[0]}"])


def beside(slowest: dict[str, np.ndarray]) -> tuple[str, bool]:
    """Overlapped buckets beside one bucket, and whether they are faster in the whole interval."""
    ratio, low, high = ratio_of_turns(slowest[OVERLAPPED], slowest[ONE])
    return f"{ratio:.2f} ({low:.2f} to {high:.2f})", high < 1


def asleep(comm: Comm, seconds: float, repetitions: int) -> dict[str, np.ndarray]:
    """Seconds of every repetition of a backward pass in which this rank sleeps, by name."""
    apart = [np.zeros(LAYER_BYTES, np.uint8).view(np.float32) for _ in range(LAYERS)]
    whole = np.concatenate(apart)

    def one_bucket() -> None:
        for _ in apart:
            comm.work(seconds=seconds)
        ring.allreduce(comm, whole)

    def overlapped() -> None:
        requests = []
        for gradient in apart:
            comm.work(seconds=seconds)
            requests.append(background.allreduce(comm, gradient))
        for request in requests:
            request.wait()

    steps = {ONE: one_bucket, OVERLAPPED: overlapped}
    return side_by_side(steps, repetitions=repetitions, warm_up=3, before=comm.native.barrier)


def table_asleep(ranks: Ranks, count: int, repetitions: int) -> str:
    """One line for each time of a layer, and from which one on overlapping is faster."""
    what = (
        f"ranks that sleep through {LAYERS} layers with {LAYER_BYTES >> 20} MiB of gradients each"
    )
    lines = [f"{what}; {count} ranks", f"{'a layer':<10}{ONE:>14}{OVERLAPPED:>22}{'ratio':>12}"]
    faster: list[float] = []
    for seconds in ASLEEP:
        given = {"seconds": seconds, "repetitions": repetitions, "trace": False, "timeout": 300}
        per_rank = ranks.run(asleep, **given).results
        slowest = {name: np.max([own[name] for own in per_rank], axis=0) for name in per_rank[0]}
        one, overlapped = (float(np.median(slowest[name])) * 1e3 for name in (ONE, OVERLAPPED))
        ratio, wins = beside(slowest)
        faster = [*faster, seconds] if wins else []
        lines.append(
            f"{f'{seconds * 1e3:g} ms':<10}{one:>11.2f} ms{overlapped:>19.2f} ms    {ratio}"
        )
    since = f"from {faster[0] * 1e3:g} ms a layer on" if faster else "at none of these times"
    return "\n".join([*lines, f"{OVERLAPPED} are faster {since}"])


def main() -> None:
    """Measure, print the tables, keep them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=31)
    parser.add_argument("--bucket", type=int, default=4 << 20, help="bytes")
    chosen = parser.parse_args()
    parts = [heading(describe())]
    for workload in WORKLOADS:
        with Ranks(chosen.ranks) as ranks, tempfile.TemporaryDirectory() as folder:
            run = ranks.run(
                measure, workload=workload, repetitions=chosen.repetitions, bucket=chosen.bucket,
                folder=folder, trace=False, timeout=600,
            )  # fmt: skip
        parts.append(table(chosen.ranks, workload, run.results))
        print(parts[-1], flush=True)
    with Ranks(chosen.ranks) as ranks:
        parts.append(table_asleep(ranks, chosen.ranks, chosen.repetitions))
        print(parts[-1], flush=True)
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
