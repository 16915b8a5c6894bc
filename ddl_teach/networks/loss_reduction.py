"""Whether a loss is a mean over examples: found in the first step, before any weight changes.

Training that cuts a batch into parts weighs the loss of each part by its share of the batch. That
gives the gradient of the whole batch only if the loss is a mean. Of n and m rows

    mean   loss(both) = (n loss(first) + m loss(second)) / (n + m)
    sum    loss(both) = loss(first) + loss(second)

and a loss that is a sum, or neither, is refused. Cost: four more calls of the loss on halves of
the scores, and an all-reduce of three numbers, once; the network does not run again.
What to look at: a sum trains without any error, with steps that are too short.
"""

import copy

import torch
from torch import nn

from ddl_teach.collectives.ring import allreduce
from ddl_teach.comm import Comm
from ddl_teach.networks.models.loss import Loss, mean_loss

MEAN, SUM, NEITHER = range(3)
HALVES = (torch.float16, torch.bfloat16)
NEAR = 10  # times the root of the precision: two losses so near are the same
ROUNDING = 16  # units in the last place of the largest score: a loss below that is no loss


class CheckedLoss:
    """A loss that is looked at when it is first called; `mean_loss`, and any loss of a batch in
    one part, need no check."""

    def __init__(self, loss: Loss, parts: int) -> None:
        self.loss, self.agreed = loss, parts == 1 or loss is mean_loss
        self._first_call = not self.agreed
        self._found: int | None = None

    def __call__(self, scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        if self._first_call:
            self._found, self._first_call = reduction_of(self.loss, scores, targets), False
        return self.loss(scores, targets)

    def agree(self, comm: Comm) -> None:
        """Raise ValueError on all ranks if the loss is no mean on one of them; all must call it,
        once one has called the loss. From then on it does nothing."""
        if self.agreed:
            return
        self.agreed, self._first_call = True, False
        kinds = torch.zeros(3, dtype=torch.float64)
        if self._found is not None:
            kinds[self._found] = 1
        allreduce(comm, kinds)
        mean, summed, neither = (kinds > 0).tolist()
        if neither or (mean and summed):
            raise ValueError(
                "this loss is neither a mean nor a sum over examples: the losses of two halves of "
                "a batch do not give that of the batch, so parts cannot give its gradient. Take "
                "the mean over all answers, where none is ignored and all count alike; or leave "
                "the batch whole: one rank, one piece, one micro-batch"
            )
        if summed:
            raise ValueError(
                "this loss adds over examples, and the parts of a batch are put together as "
                "means: training would make steps that are too short. Divide the loss by the "
                "number of its examples, or use reduction='mean'"
            )


def reduction_of(loss: Loss, scores: torch.Tensor, targets: torch.Tensor) -> int | None:
    """MEAN, SUM or NEITHER; None where these examples cannot tell, as where all losses are 0."""
    rows = len(targets)
    numbers = isinstance(scores, torch.Tensor) and scores.is_floating_point()
    if not numbers or len(scores) != rows or not targets.numel():
        return None
    with torch.no_grad():
        scores, targets = (x.float() if x.dtype in HALVES else x for x in (scores, targets))
        if rows == 1:  # the same example twice
            rows, (scores, targets) = 2, (torch.cat([x, x]) for x in (scores, targets))
        middle = (rows + 1) // 2
        cuts = [slice(rows), slice(rows), slice(middle), slice(middle, rows)]
        if isinstance(loss, nn.Module):
            loss = copy.deepcopy(loss)  # what it counts, it counts in training only
        devices = [scores.device] if scores.is_cuda else []
        with torch.random.fork_rng(devices):
            try:
                losses = [loss(scores[cut].clone(), targets[cut].clone()) for cut in cuts]
                whole, again, first, second = (value.item() for value in losses)
            except (RuntimeError, ValueError, IndexError):
                return None  # it does not take so few examples
    if whole != again:
        return None  # it draws random numbers, or is no number
    precision = max(torch.finfo(value.dtype).eps for value in (scores, losses[0]))
    close = NEAR * precision**0.5 * max(map(abs, (whole, first, second)))
    close += ROUNDING * precision * scores.abs().max().item()
    mean = (middle * first + (rows - middle) * second) / rows
    fits = [abs(whole - mean) <= close, abs(whole - first - second) <= close]
    if all(fits):
        return None
    return fits.index(True) if any(fits) else NEITHER
