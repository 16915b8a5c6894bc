"""Losses of every kind, and examples and networks to try them on."""

import torch
from torch.nn import functional

from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.mlp import mlp

CLASSES = 3
ADDS, NEITHER_WORDS = "adds over examples", "neither a mean nor a sum"


def mean(scores, targets):
    """The same numbers as `mean_loss`, and not known to be a mean."""
    return mean_loss(scores, targets)


def summed(scores, targets):
    return functional.cross_entropy(scores, targets, reduction="sum")


def by_half_the_batch(scores, targets):
    """A sum, divided by a number that is not that of the examples."""
    return summed(scores, targets) / 12


def ignoring(scores, targets):
    return functional.cross_entropy(scores, targets, ignore_index=0)


def weighted(scores, targets):
    weight = torch.tensor([1.0, 4.0, 9.0], dtype=scores.dtype)
    return functional.cross_entropy(scores, targets, weight=weight)


def contrasting(scores, targets):
    """Every example beside all others of its batch."""
    return functional.cross_entropy(scores @ scores.T, torch.arange(len(scores)))


def squares(scores, targets):
    return functional.mse_loss(scores, functional.one_hot(targets, CLASSES).to(scores.dtype))


def regularised(scores, targets):
    return mean(scores, targets) + 0.5


def noisy(scores, targets):
    return mean(scores + torch.randn_like(scores), targets)


def in_place(scores, targets):
    return mean(scores.mul_(2), targets)


def pairs(scores, targets):
    """Two rows that follow each other belong together; it takes an even number of rows."""
    first, second = scores.view(-1, 2, CLASSES).unbind(1)
    return (first - second).square().mean()


def nothing(scores, targets):
    return 0 * mean(scores, targets)


def named(one):
    """A function's name; of anything else what it prints."""
    return getattr(one, "__name__", str(one))


def examples(rows, dtype=torch.float64, seed=1):
    drawn = torch.Generator().manual_seed(seed)
    inputs = torch.randn(rows, CLASSES, generator=drawn, dtype=torch.float64).to(dtype)
    return inputs, torch.randint(CLASSES, (rows,), generator=drawn)


def batches(*sizes):
    return [examples(size, seed=size) for size in sizes]


def network(layers=2):
    return mlp((CLASSES, *[7] * (layers - 1), CLASSES)).double()
