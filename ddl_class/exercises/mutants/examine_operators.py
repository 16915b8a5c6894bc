"""Level 0: results beside another library's, gradients beside difference quotients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ddl_measure.levels.operators import check_gradient, errors


def perceptron(candidate: Callable[[int, int, int], Any]) -> float:
    """Its gradient by the weights, where some hidden units are silent."""
    network = candidate(5, 7, 3)
    x = np.random.default_rng(0).normal(size=(4, 5))

    def forward(weights: np.ndarray) -> np.ndarray:
        return network.forward(weights, x)[1]

    def backward(weights: np.ndarray, towards: np.ndarray) -> np.ndarray:
        hidden, _ = network.forward(weights, x)
        return network.backward(weights, x, hidden, towards)

    return check_gradient(forward, backward, network.initial(seed=1)).relative


def softmax(candidate: Callable[[np.ndarray], np.ndarray]) -> float:
    """Of several samples at a time."""
    scores = np.random.default_rng(0).normal(size=(4, 3))
    return errors(candidate(scores), torch.softmax(torch.from_numpy(scores), dim=1)).relative


def input_gradient(candidate: Callable[..., torch.Tensor]) -> float:
    """Of a convolution whose windows overlap."""
    random = np.random.default_rng(0)
    x, weight = random.normal(size=(2, 3, 6, 5)), random.normal(size=(4, 3, 3, 2))
    kernel = torch.from_numpy(weight)

    def forward(x: np.ndarray) -> np.ndarray:
        return torch.conv2d(torch.from_numpy(x), kernel, padding=1).numpy()

    def backward(x: np.ndarray, towards: np.ndarray) -> np.ndarray:
        return candidate(torch.from_numpy(towards), kernel, x.shape, padding=(1, 1)).numpy()

    return check_gradient(forward, backward, x).relative


def unscale(candidate: Callable[..., tuple[list[torch.Tensor], bool]]) -> float:
    """Of gradients that half precision holds scaled and not unscaled."""
    scale = 2.0**16
    scaled = torch.tensor([1e-3, -2.5, 7e-5]).half()
    (found,), _ = candidate([scaled], scale)
    return errors(found, scaled.double() / scale).relative
