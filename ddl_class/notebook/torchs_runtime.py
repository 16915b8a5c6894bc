"""A schedule in the runtime of torch.distributed.pipelining, which reads it from a file.

Torch's public classes have orders built in; this runtime takes one of one's own. What to look at:
the gradients are those of one process.
"""

from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage

from ddl_teach import torch_backend
from ddl_teach.comm import Comm
from ddl_teach.networks.models.loss import Batch, Loss, mean_loss
from ddl_teach.networks.pipelines.schedule import Schedule
from ddl_teach.networks.pipelines.schedule_file import write_schedule
from ddl_teach.networks.pipelines.torch_stage import cut
from ddl_teach.torch_backend.internals import pipeline_runtime


def gradients(
    comm: Comm, schedule: Schedule, model: nn.Sequential, batch: Batch, loss: Loss = mean_loss
) -> dict[str, torch.Tensor]:
    """The gradients, by name, of the stages that this rank holds, after one step by torch; over
    our ranks, unless torch has a process group already. Simulated ranks need `threads=True`."""
    if not dist.is_initialized():
        dist.init_process_group(torch_backend.NAME)
    (inputs, targets), last = batch, schedule.stages - 1
    parts = cut(deepcopy(model), schedule.stages)
    own = [stage for _, stage in schedule.held_by(comm.rank)]
    device = torch.device(comm.device)
    stages = [PipelineStage(parts[at].to(device), at, last + 1, device) for at in own]
    with TemporaryDirectory() as folder:
        write_schedule(schedule, path := Path(folder, "schedule.csv"))
        runtime = pipeline_runtime(stages, schedule.micro_batches, loss, path)
    goes_in = [inputs.to(device)] if 0 in own else []
    runtime.step(*goes_in, **({"target": targets.to(device)} if last in own else {}))
    named = (pair for at in own for pair in parts[at].named_parameters())
    return {name: weight.grad.cpu() for name, weight in named if weight.grad is not None}
