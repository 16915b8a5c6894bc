"""A rank's part of a batch, and what its loss counts.

A loss is a mean over answers. Of N answers rank r has n_r, so

    gradient of the whole = sum over ranks of n_r / N  gradient of rank r
                          = average over ranks of (P n_r / N  gradient of rank r)

which is the plain average only where all parts are equal. With the loss times P n_r / N the plain
average is right for all parts. It is so for fewer samples than ranks, and inside the network too.
What to look at: without the factor nothing fails. Samples on rank 0 just count more than others.
"""

import torch

from ddl_teach.comm import Comm
from ddl_teach.networks.models.loss import Batch, Loss
from ddl_teach.networks.shares import own_slice


def own_part(comm: Comm, batch: Batch) -> Batch:
    """This rank's samples, which follow each other; the ranks' numbers differ by one at most."""
    inputs, targets = batch
    mine = own_slice(len(inputs), comm)
    return inputs[mine], targets[mine]


def weighted_loss(
    loss: Loss, scores: torch.Tensor, targets: torch.Tensor, answers: int, ranks: int
) -> torch.Tensor:
    """The mean `loss` of this part, times `ranks` and the part's share of all `answers`: its
    average over the ranks is the loss of the whole batch. Without samples it is zero."""
    if targets.numel() == 0:
        return scores.sum()
    return loss(scores, targets) * (ranks * targets.numel() / answers)
