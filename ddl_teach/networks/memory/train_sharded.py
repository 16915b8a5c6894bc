"""Training in one of the three stages, and what it held and sent meanwhile.

Every rank takes its rows of each batch and goes back from its share of the loss. What to look at:
the weights at the end are those of any stage on any ranks; what was held and sent is not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ddl_teach.comm import Comm
from ddl_teach.networks.memory import measured
from ddl_teach.networks.memory.keeping import Keep
from ddl_teach.networks.memory.sharded_gradients import ShardedGradients
from ddl_teach.networks.memory.sharded_parameters import ShardedParameters
from ddl_teach.networks.memory.sharded_states import ShardedStates
from ddl_teach.networks.models.loss import Batch, beside, mean_loss
from ddl_teach.networks.shares import own_slice
from ddl_teach.theory.memory import HeldBytes, check_stage

Stage = Callable[[Comm, nn.Sequential, Keep], Any]
STAGES: dict[int, Stage] = {1: ShardedStates, 2: ShardedGradients, 3: ShardedParameters}


@dataclass(frozen=True)
class ShardedResult:
    """The weights after training, and one rank's part of the cost."""

    parameters: dict[str, Tensor]  # whole, by their names
    held: HeldBytes  # between the last backward pass and its step; activations at their highest
    sent: int  # bytes, in all steps
    losses: list[float]  # this rank's part of each batch's: those of all ranks add up to it


def train(
    comm: Comm, stage: int, model: nn.Sequential, batches: Sequence[Batch], keep: Keep
) -> ShardedResult:
    """One step a batch; `keep` says how a rank updates what it owns, as `keeping.Resident`."""
    if check_stage(stage) not in STAGES:
        advice = "take stage 1, which sends no byte more, or networks.data_parallel.train_replicas"
        raise ValueError(f"stage {stage} shards nothing: {advice}")
    if not batches:
        raise ValueError("train: there is no batch, so nothing was held: give at least one batch")
    torch.set_num_threads(1)  # ranks share the processors of a machine
    model.to(comm.device)
    trainer = STAGES[stage](comm, model, keep)
    forward = trainer if stage == 3 else model
    before, losses = comm.ledger.bytes_sent, []
    for inputs, targets in batches:
        rows = own_slice(len(inputs), comm)
        x, y = beside(model, (inputs[rows], targets[rows]))
        with measured.Activations([*model.parameters(), inputs, targets, x, y], comm) as saved:
            error = mean_loss(forward(x), y) * (len(x) / len(inputs))
            error.backward()
        held = measured.ledger(trainer.tensors(), saved.most)
        trainer.step()
        losses.append(error.item())
    sent = comm.ledger.bytes_sent - before
    return ShardedResult(trainer.parameters(), held, sent, losses)
