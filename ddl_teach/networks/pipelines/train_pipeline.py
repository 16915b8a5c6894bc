"""Training with a pipeline: every rank holds its stages, follows its instructions, and updates.

The gradients that a step leaves are those of the whole batch's mean loss, whatever the schedule,
so training ends where the single process ends. (Batch normalisation is the exception: it sees
micro-batches.) Bytes: what passes a cut, there and back, once a micro-batch.
"""

import copy
import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

import torch
from torch import nn

from ddl_teach.comm import Comm
from ddl_teach.networks.any_module.clipping import clip
from ddl_teach.networks.loss_reduction import CheckedLoss
from ddl_teach.networks.models.descent import Descent
from ddl_teach.networks.models.loss import Batch, Loss, Optimizer, mean_loss
from ddl_teach.networks.pipelines.any_cut import stretches
from ddl_teach.networks.pipelines.instructions import BackwardInput
from ddl_teach.networks.pipelines.schedule import Schedule
from ddl_teach.networks.pipelines.torch_stage import BatchStage, TorchStage, activation_shapes, cut
from ddl_teach.networks.pipelines.worker import Passed, PipelineWorker
from ddl_teach.networks.twin import Trained


@dataclass(frozen=True)
class TrainedShare:
    """What one rank holds after training, under the network's own names, and its last step."""

    replicas: dict[int, Trained]  # by replica; losses are the part that was computed here
    last: Passed


def stages_of(
    comm: Comm,
    model: nn.Module,
    schedule: Schedule,
    inputs: torch.Tensor,
    *,
    loss: Loss = mean_loss,
    kind: type[BatchStage] = TorchStage,
) -> dict[tuple[int, int], BatchStage]:
    """The stages that this rank holds: of the first replica `model`'s own layers, of others
    copies. `inputs` is a batch, of which only the shape counts; `kind` makes a stage. A model that
    is no sequence is cut where torch.export finds one activation only."""
    parts = cut(stretches(model, inputs), schedule.stages)
    shapes = activation_shapes(parts, inputs)
    split = any(isinstance(word, BackwardInput) for word in schedule.orders[comm.rank])
    stages = {}
    for replica, stage in schedule.held_by(comm.rank):
        layers = copy.deepcopy(parts[stage]) if replica else parts[stage]
        layers.to(comm.device)
        stages[replica, stage] = kind(
            layers, shapes[stage : stage + 2], first=stage == 0, last=stage == schedule.stages - 1,
            loss=loss, split=split, counting=comm.counts_memory,
        )  # fmt: skip
    return stages


def train(
    comm: Comm, model: nn.Module, batches: Iterable[Batch], schedule: Schedule, *,
    loss: Loss = mean_loss, optimizer: Optimizer = Descent, kind: type[BatchStage] = TorchStage,
    limit: float = math.inf,
) -> TrainedShare:  # fmt: skip
    """One step a batch. Every rank is given the whole model and trains the stages it holds. A
    `loss` that is no mean over examples is refused in the first step, on all ranks. The gradients
    of the whole network are clipped to `limit`."""
    batches = list(batches)
    if not batches:
        raise ValueError("train: there is no batch, so no shapes are known: give at least one")
    checked = CheckedLoss(loss, schedule.micro_batches)
    used = loss if checked.agreed else checked
    stages = stages_of(comm, model, schedule, batches[0][0], loss=used, kind=kind)
    weights = [weight for held in stages.values() for weight in held.layers.parameters()]
    steps = optimizer(weights)
    worker = PipelineWorker(comm, schedule, stages)
    replicas: dict[int, list[BatchStage]] = {}
    for (replica, _), stage in stages.items():
        replicas.setdefault(replica, []).append(stage)
    losses: dict[int, list[torch.Tensor | float]] = {replica: [] for replica in replicas}
    for batch in batches:
        steps.zero_grad()
        for stage in stages.values():
            stage.load(batch, schedule.micro_batches)
        last = worker.step()
        checked.agree(comm)
        if limit < math.inf:
            clip(comm, weights, limit, lambda _: schedule.replicas)
        steps.step()
        for replica, own in replicas.items():
            losses[replica].append(sum(sum(stage.losses) for stage in own))
    trained = {
        replica: Trained.of([stage.layers for stage in own], [*map(float, losses[replica])])
        for replica, own in replicas.items()
    }
    return TrainedShare(trained, last)


def together(shares: Iterable[TrainedShare]) -> Trained:
    """The whole network from what all ranks hold; replicas must not have drifted apart."""
    parameters: dict[str, torch.Tensor] = {}
    buffers: dict[str, torch.Tensor] = {}
    losses: list[list[float]] = []
    for own in chain.from_iterable(share.replicas.values() for share in shares):
        for name, tensor in own.parameters.items():
            if not torch.equal(parameters.setdefault(name, tensor), tensor):
                raise ValueError(f"two replicas differ in {name}: give stages a SumReplicas")
        buffers |= own.buffers
        losses.append(own.losses)
    return Trained(parameters, buffers, [sum(parts) for parts in zip(*losses, strict=True)])
