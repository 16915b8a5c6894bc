"""The loop of data parallelism: all ranks make the same steps on other samples.

Each rank works on its part of the batch, the backward pass ends with averaged gradients, and equal
weights take an equal step: so weights are never sent. Goyal et al., "Accurate, large minibatch
SGD", 2017.
"""

from collections.abc import Callable, Iterable

import torch
from torch import nn

from ddl_teach.collectives.ring import allreduce
from ddl_teach.comm import Comm
from ddl_teach.networks.data_parallel.shards import own_part, weighted_loss
from ddl_teach.networks.loss_reduction import CheckedLoss
from ddl_teach.networks.models.descent import Descent
from ddl_teach.networks.models.loss import Batch, Loss, Optimizer, beside, mean_loss
from ddl_teach.networks.twin import Trained

Backward = Callable[[torch.Tensor], None]
"""A backward pass after which every `.grad` is the average over the ranks."""


def train(
    comm: Comm, model: nn.Module, batches: Iterable[Batch], backward: Backward, *, pieces: int = 1,
    part: Callable[[Comm, Batch], Batch] = own_part, loss: Loss = mean_loss,
    optimizer: Optimizer = Descent,
) -> Trained:  # fmt: skip
    """One step a batch, in place; all ranks are given the whole batches and take their parts.
    Parts may be unequal. A rank cuts its part into `pieces`, and averages with the last one only.
    The losses, of the whole batches, travel once, at the end. A `loss` that is no mean over
    examples is refused in the first step, on all ranks."""
    checked = CheckedLoss(loss, comm.size * pieces)
    steps = optimizer(model.parameters())
    losses = []
    for batch in batches:
        steps.zero_grad()
        answers = batch[1].numel()
        inputs, targets = beside(model, part(comm, batch))
        seen = torch.zeros((), dtype=torch.float64, device=inputs.device)
        parts = zip(inputs.tensor_split(pieces), targets.tensor_split(pieces), strict=True)
        for piece, (some, right) in enumerate(parts, start=1):
            error = weighted_loss(checked, model(some), right, answers, comm.size)
            checked.agree(comm)
            if piece < pieces:
                error.backward()
            else:
                backward(error)
            seen += error.detach().double() / comm.size  # stays on the device
        steps.step()
        losses.append(seen)
    everybodys = torch.tensor([loss.item() for loss in losses], dtype=torch.float64)
    allreduce(comm, everybodys)
    return Trained.of([model], everybodys.tolist())
