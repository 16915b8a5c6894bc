"""Training with a pipeline: every rank holds its stages, follows its instructions, and updates.

The gradients that a step leaves are those of the whole batch's mean loss, whatever the schedule,
so training ends where the single process ends; only in the order of sums do they differ. (Batch
normalisation is the exception: it sees micro-batches, not the batch.) Bytes: what passes a cut,
there and back, once a micro-batch.
What to look at: nothing here names a schedule.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

import torch
from torch import nn

from ddl_teach.comm import Comm
from ddl_teach.networks.loss_reduction import CheckedLoss
from ddl_teach.networks.models.descent import Descent
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.signatures import Batch, Loss, Optimizer
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
    model: nn.Sequential,
    schedule: Schedule,
    inputs: torch.Tensor,
    *,
    loss: Loss = mean_loss,
    kind: type[BatchStage] = TorchStage,
) -> dict[tuple[int, int], BatchStage]:
    """The stages that this rank holds: of the first replica `model`'s own layers, of another
    one copies. `inputs` is a batch, of which only the shape counts; `kind` makes a stage."""
    parts = cut(model, schedule.stages)
    shapes = activation_shapes(parts, inputs)
    split = any(isinstance(word, BackwardInput) for word in schedule.orders[comm.rank])
    return {
        (replica, stage): kind(
            copy.deepcopy(parts[stage]) if replica else parts[stage],
            shapes[stage : stage + 2],
            first=stage == 0,
            last=stage == schedule.stages - 1,
            loss=loss,
            split=split,
        )
        for replica, stage in schedule.held_by(comm.rank)
    }


def train(
    comm: Comm,
    model: nn.Sequential,
    batches: Iterable[Batch],
    schedule: Schedule,
    *,
    loss: Loss = mean_loss,
    optimizer: Optimizer = Descent,
    kind: type[BatchStage] = TorchStage,
) -> TrainedShare:
    """One step a batch. Every rank is given the whole model and trains the stages it holds.

    A `loss` that is no mean over examples is refused in the first step, on all ranks.
    """
    batches = list(batches)
    checked = CheckedLoss(loss, schedule.micro_batches)
    used = loss if checked.agreed else checked
    stages = stages_of(comm, model, schedule, batches[0][0], loss=used, kind=kind)
    weights = list(chain.from_iterable(one.layers.parameters() for one in stages.values()))
    steps = optimizer(weights)

    def update() -> None:
        if checked.agreed:
            steps.step()

    worker = PipelineWorker(comm, schedule, stages, update)
    losses: dict[int, list[float]] = {replica: [] for replica, _ in stages}
    for batch in batches:
        steps.zero_grad()
        for stage in stages.values():
            stage.load(batch, schedule.micro_batches)
        last = worker.step()
        if not checked.agreed:  # only the last stage has seen a loss
            checked.agree(comm)
            update()
        for replica, own in losses.items():
            own.append(
                sum(sum(stage.losses) for (its, _), stage in stages.items() if its == replica)
            )
    layers = {
        replica: [stage.layers for (its, _), stage in stages.items() if its == replica]
        for replica in losses
    }
    return TrainedShare({one: Trained.of(layers[one], losses[one]) for one in losses}, last)


def together(shares: Iterable[TrainedShare]) -> Trained:
    """The whole network from what all ranks hold; replicas must not have drifted apart."""
    parameters: dict[str, torch.Tensor] = {}
    buffers: dict[str, torch.Tensor] = {}
    losses: list[list[float]] = []
    for own in chain.from_iterable(share.replicas.values() for share in shares):
        for name, tensor in own.parameters.items():
            if not torch.equal(parameters.setdefault(name, tensor), tensor):
                raise ValueError(
                    f"two replicas differ in {name}: their gradients were not summed, or were "
                    "summed in another order"
                )
        buffers |= own.buffers
        losses.append(own.losses)
    return Trained(parameters, buffers, [sum(parts) for parts in zip(*losses, strict=True)])
