"""Training on the device: data parallelism with and without overlap, and a pipeline.

Data parallelism: the ladder (one all-reduce for each parameter, one bucket, buckets overlapped
with the backward pass) beside torch's DistributedDataParallel; `no averaging` is what nobody gets
below. The pipeline: GPipe and 1F1B of our worker, stages and activations on the device, beside the
same in host memory. Two ranks share a GPU where there is only one: then their kernels take turns,
and what an overlap wins is what copies and messages hide behind kernels, not more computing.
A step ends when the device has finished; the slowest rank counts. Beside them torch's own
schedules (`torchs_own` says over what).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain

import numpy as np
import torch
from torch import nn

from benchmarks.data_parallel import FLOOR
from benchmarks.gpu import torchs_own
from ddl_class.notebook.device_places import tensors
from ddl_measure.device_run import GPU, DeviceTiming, TransferPath
from ddl_measure.repetitions import side_by_side
from ddl_runtime.devices.awareness import awareness
from ddl_runtime.devices.choice import AWARE, NOT_AWARE
from ddl_teach import Comm
from ddl_teach.networks.data_parallel.ladder import Rung, rungs, step_of
from ddl_teach.networks.models.descent import Descent
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.pipelines.gpipe import gpipe
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.train_pipeline import stages_of
from ddl_teach.networks.pipelines.worker import PipelineWorker
from ddl_teach.networks.twin import copies, largest_difference

DATA_PARALLEL, PIPELINE = "data-parallel step", "pipeline step"
TESTS = (DATA_PARALLEL, PIPELINE)  # of these, too, the slowest rank counts
SIZES = {GPU: (1024, 4096, 4096, 4096, 4096, 10)}  # of the layers
SMALL_SIZES = (16, 32, 32, 10)
ROWS, MICRO_BATCHES = {GPU: 1024}, 8
BUCKET = 16 << 20
CLOSE = 1e-4  # float32 weights after a dozen steps; without averages they are 1e-3 apart


def data_parallel(comm: Comm, device: str, repetitions: int) -> list[DeviceTiming]:
    """Seconds of a step of each rung; all must end with the same weights."""
    _, place = tensors(device)
    by_the_usual_table(comm, device)
    make = partial(_network, device)
    inputs, answers = _batch(device, comm.rank)
    ways: dict[str, Rung] = {FLOOR: (make(), torch.Tensor.backward)}
    ways |= rungs(comm, make, len(inputs), BUCKET if device == GPU else 4096)
    ways |= {
        name: (wrap(make()), torch.Tensor.backward)
        for name, wrap in torchs_ddp(comm, device).items()
    }
    steps = {name: place.settled(step_of(*way, (inputs, answers))) for name, way in ways.items()}
    seconds = side_by_side(steps, repetitions=repetitions, warm_up=3, before=comm.barrier)
    _check(comm, {name: network for name, (network, _) in ways.items()})
    nbytes = sum(weight.nbytes for weight in make().parameters())
    return [
        DeviceTiming(DATA_PARALLEL, TransferPath(n), nbytes, tuple(t.tolist()))
        for n, t in seconds.items()
    ]


def pipeline(comm: Comm, device: str, repetitions: int) -> list[DeviceTiming]:
    """Seconds of a step by schedule, with stages on the device and in host memory."""
    on_device, place = tensors(device)
    steps, torchs = {}, torchs_own.groups(comm, device)
    for name, schedule in (("GPipe", gpipe), ("1F1B", one_f_one_b)):
        order = schedule(comm.size, MICRO_BATCHES)
        for where in (device, "host memory"):
            comm.device = there = on_device if where == device else "cpu"
            model = mlp(SIZES.get(device, SMALL_SIZES)).to(there)
            inputs, targets = (each.to(there) for each in _batch(device, seed=0))
            stages = stages_of(comm, model, order, inputs)
            weights = list(chain.from_iterable(one.layers.parameters() for one in stages.values()))
            optimizer = Descent(weights, 0.01)
            worker = PipelineWorker(comm, order, stages, update=optimizer.step)

            def step(
                worker=worker, stages=stages, optimizer=optimizer, batch=(inputs, targets)
            ) -> None:
                optimizer.zero_grad()
                for stage in stages.values():
                    stage.load(batch, MICRO_BATCHES)
                worker.step()

            steps[f"{name}, {where}"] = place.settled(step)
            if where == device and comm.size > 1:
                layers = next(iter(stages.values())).layers
                for by, group in torchs.items():
                    _, its = torchs_own.pipelined(
                        comm, name, group, device, layers, (inputs, targets), MICRO_BATCHES
                    )
                    steps[f"torch's {name}, {by}"] = place.settled(its)
    seconds = side_by_side(steps, repetitions=repetitions, warm_up=1, before=comm.barrier)
    rows = ROWS.get(device, 32) // MICRO_BATCHES
    nbytes = 4 * rows * max(SIZES.get(device, SMALL_SIZES)[1:-1])
    return [
        DeviceTiming(PIPELINE, TransferPath(name), nbytes, tuple(t.tolist()))
        for name, t in seconds.items()
    ]


def by_the_usual_table(comm: Comm, device: str) -> None:
    """Let messages go as they do before anything was measured on this machine."""
    if device == GPU:
        comm.device_table = AWARE if awareness().direct else NOT_AWARE


def _network(device: str) -> nn.Module:
    return mlp(SIZES.get(device, SMALL_SIZES)).to(tensors(device)[0])


def _batch(device: str, seed: int) -> Sequence[torch.Tensor]:
    sizes, rows = SIZES.get(device, SMALL_SIZES), ROWS.get(device, 32)
    dice = torch.Generator().manual_seed(seed)
    inputs = torch.randn(rows, sizes[0], generator=dice)
    targets = torch.randint(sizes[-1], (rows,), generator=dice)
    return [each.to(tensors(device)[0]) for each in (inputs, targets)]


def torchs_ddp(comm: Comm, device: str) -> dict[str, Callable[[nn.Module], nn.Module]]:
    """What wraps a network: DDP over gloo, and over NCCL where each rank has a GPU; the ranks have
    met before."""
    if device != GPU:
        return {}
    from torch import distributed

    if not distributed.is_initialized():
        return {}  # the ranks have not met: `peers_of` lets them
    groups = {"gloo": None}
    if torch.cuda.device_count() >= comm.size and distributed.is_nccl_available():
        groups["NCCL"] = distributed.new_group(backend="nccl")
    return {
        f"torch's DDP, {name}": partial(nn.parallel.DistributedDataParallel, process_group=group)
        for name, group in groups.items()
    }


def _check(comm: Comm, networks: Mapping[str, nn.Module]) -> None:
    """All ended where one bucket did; who averaged nothing must not have."""
    plain = {name: getattr(network, "module", network) for name, network in networks.items()}
    ended = {
        name: {key: value.cpu() for key, value in copies(network.named_parameters()).items()}
        for name, network in plain.items()
    }
    for name, weights in ended.items():
        apart = largest_difference(weights, ended["one bucket"])
        if (apart > CLOSE) != (name == FLOOR and comm.size > 1) or not np.isfinite(apart):
            raise AssertionError(f"{name} ended {apart:.1e} away from one bucket's weights")
