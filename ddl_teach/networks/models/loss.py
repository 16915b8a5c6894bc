"""The loss of every network here: how surprised it is by the right answers, on average.

mean over all answers of -log softmax(scores)[answer]. A mean, not a sum: that is why averages of
parts are the average of the whole only where the parts are equally large.
"""

import torch
from torch.nn import functional


def mean_loss(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of scores (..., classes) for targets (...): images and texts alike."""
    return functional.cross_entropy(scores.flatten(0, -2), targets.flatten())
