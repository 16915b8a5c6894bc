"""Batch normalisation over all ranks: the mean and the variance of the whole batch.

Rank r knows n_r, the mean m_r and the sum of squares around it q_r of its own values. Then

    mean     = sum n_r m_r / N
    variance = sum (q_r + n_r (m_r - mean)^2) / N

is that of all N, without subtracting large numbers (Chan, Golub and LeVeque, "Updating formulae
and a pairwise algorithm for computing sample variances", 1979). Forward one all-gather of 2 C + 1
numbers a rank, backward its conjugate, a reduce-scatter. Ioffe and Szegedy, "Batch normalization",
2015. What to look at: with the statistics of its own part, each rank trains another network. The
loss falls all the same.
"""

import torch
from torch import nn

from ddl_teach.comm import Comm
from ddl_teach.networks.autograd_collectives import gather_in

BatchNorm = nn.BatchNorm1d | nn.BatchNorm2d | nn.BatchNorm3d | nn.SyncBatchNorm


class SynchronisedBatchNorm(nn.Module):
    """A batch normalisation, with its parameters and its buffers, over the batch of all ranks."""

    def __init__(self, comm: Comm, own: BatchNorm) -> None:
        super().__init__()
        if own.momentum is None:
            raise ValueError("batch normalisation needs a momentum here, such as 0.1, not None")
        self._comm = comm
        self.eps, self.momentum = own.eps, own.momentum
        self.weight, self.bias = own.weight, own.bias
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            self.register_buffer(name, getattr(own, name))
        self.train(own.training)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training or self.running_mean is None:
            mean, variance, samples = self._statistics(x)
            if self.training and self.running_mean is not None:
                self.running_mean.lerp_(mean.detach(), self.momentum)
                unbiased = variance.detach() * (samples / (samples - 1))
                self.running_var.lerp_(unbiased, self.momentum)
                self.num_batches_tracked += 1
        else:
            mean, variance = self.running_mean, self.running_var
        shape = (1, -1, *[1] * (x.dim() - 2))
        scale = torch.rsqrt(variance + self.eps)
        offset = -mean * scale
        if self.weight is not None:
            scale, offset = scale * self.weight, offset * self.weight + self.bias
        return x * scale.view(shape) + offset.view(shape)

    def _statistics(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, float]:
        """Mean and variance of every channel over all ranks, and of how many values."""
        values = x.transpose(0, 1).flatten(1)
        count = values.shape[1]
        mean = values.sum(1) / max(count, 1)
        squares = (values - mean[:, None]).square().sum(1)
        row = torch.cat([values.new_tensor([count]), mean, squares])
        ranks = self._comm.size
        counts, means, around = gather_in(self._comm, row[None], 0, ranks).split(
            [1, len(mean), len(mean)], dim=1
        )
        total = counts.sum()
        mean = (counts * means).sum(0) / total
        variance = (around + counts * (means - mean).square()).sum(0) / total
        return mean, variance, total.item()


def synchronise(comm: Comm, model: nn.Module) -> None:
    """Replace every batch normalisation in the network, in place; all names stay."""
    for name, child in model.named_children():
        if isinstance(child, BatchNorm):
            setattr(model, name, SynchronisedBatchNorm(comm, child))
        else:
            synchronise(comm, child)
