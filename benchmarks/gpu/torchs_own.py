"""torch's own FSDP and pipelines on the ranks of one device: over our messages, and over NCCL.

gloo has neither an all-gather nor a message for tensors on a GPU (table "Backends" of torch's
documentation), and NCCL refuses ranks that share one. `ddl_teach.torch_backend` takes the group's
calls and stages their tensors like any others, so torch's programs run there all the same. NCCL
takes part where each rank has a GPU. Backward passes stay in the thread that calls, since ours
sends from there. What to look at: the same schedule, by torch's code and by the course's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import torch
from torch import distributed, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

from ddl_class.notebook.device_places import tensors
from ddl_measure.device_run import GPU
from ddl_teach import Comm, torch_backend
from ddl_teach.networks.models.descent import Descent
from ddl_teach.networks.models.gpt import Block
from ddl_teach.networks.models.loss import mean_loss

SCHEDULES = {"GPipe": ScheduleGPipe, "1F1B": Schedule1F1B}
in_this_thread = partial(torch.autograd.set_multithreading_enabled, False)


def groups(comm: Comm, device: str) -> dict[str, Any]:
    """The groups of all ranks whose messages can carry tensors there, by name; none where the
    ranks have not met (`benchmarks.pipelines.meet`). All ranks ask together."""
    if not distributed.is_initialized():
        return {}
    if device != GPU:  # FSDP asks a device for its streams, and the stand-in has a single one
        place = getattr(torch, tensors(device)[0])
        for name in ("Stream", "Event", "stream", "current_stream"):
            setattr(place, name, getattr(torch.cpu, name))
    made = {"our messages": distributed.new_group(backend=torch_backend.NAME)}
    if (
        device == GPU
        and torch.cuda.device_count() >= comm.size
        and distributed.is_nccl_available()
    ):
        made["NCCL"] = distributed.new_group(backend="nccl")
    return made


def sharded(
    network: nn.Module, group: Any, device: str, batch: Sequence[torch.Tensor]
) -> Callable[[], None]:
    """A step of FSDP2 with torch's Adam; each block of a GPT is gathered by itself."""
    mesh = DeviceMesh.from_group(group, tensors(device)[0])
    for block in network.children():
        if isinstance(block, Block):
            fully_shard(block, mesh=mesh)
    fully_shard(network, mesh=mesh)
    optimizer = torch.optim.Adam(network.parameters(), 1e-4)

    def step() -> None:
        optimizer.zero_grad()
        error = mean_loss(network(batch[0]), batch[1])
        with in_this_thread():
            error.backward()
        optimizer.step()

    return step


def pipelined(
    comm: Comm, name: str, group: Any, device: str, layers: nn.Module,
    batch: Sequence[torch.Tensor], micro_batches: int,
) -> tuple[nn.Module, Callable[[], None]]:  # fmt: skip
    """A copy of `layers`, this rank's, and a step by torch's schedule of that name."""
    own = deepcopy(layers)
    place = torch.device(tensors(device)[0])
    stage = PipelineStage(own, comm.rank, comm.size, place, group=group)
    schedule = SCHEDULES[name](stage, micro_batches, loss_fn=mean_loss)
    optimizer = Descent([*own.parameters()], 0.01)

    def step() -> None:
        optimizer.zero_grad()
        given = [batch[0]] if comm.rank == 0 else []
        last = {"target": batch[1]} if comm.rank == comm.size - 1 else {}
        with in_this_thread():
            schedule.step(*given, **last)
        optimizer.step()

    return own, step
