"""The examination of each part: how far it is from what must be the same.

    wrong(part, candidate)      0 to rounding for a right one; infinite for one that stops

Operators stand beside another library's, gradients beside difference quotients; update rules walk
beside another library's; parts of several ranks are in `examinations_on_ranks`. An examination
knows nothing of the bugs: it would find others as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import examinations_on_ranks as on_ranks
import numpy as np
import torch

from ddl_measure.levels.operators import GOOD, check_gradient, errors
from ddl_measure.levels.torch_parts import torch_rule
from ddl_measure.levels.training_level import divergence, rule_of
from ddl_teach.operators.convolution.problem import sizes_of

STEPS = 12


def beside(
    name: str, ours: dict[str, float], theirs: dict[str, Any]
) -> Callable[[Callable[..., Any]], float]:
    """An examination: with such settings, how far it gets away from torch's optimizer `name`."""

    def examine(candidate: Callable[..., Any]) -> float:
        rule = candidate(**ours)
        random = np.random.default_rng(0)
        curvatures, noise = random.uniform(0.1, 5, 6), random.normal(size=(STEPS, 6))
        reference = torch_rule(getattr(torch.optim, name), **theirs)
        apart = divergence(
            rule_of(rule, rule.states), reference,
            lambda weights, step: curvatures * weights + noise[step],
            random.normal(0, 3, 6), STEPS,
        )  # fmt: skip
        return float(apart.max())

    return examine


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
        problem = sizes_of(torch.from_numpy(x), kernel, padding=1)
        return candidate(torch.from_numpy(towards), kernel, problem).numpy()

    return check_gradient(forward, backward, x).relative


def unscale(candidate: Callable[..., tuple[list[torch.Tensor], bool]]) -> float:
    """Of gradients that half precision holds scaled and not unscaled."""
    scale = 2.0**16
    scaled = torch.tensor([1e-3, -2.5, 7e-5]).half()
    (found,), _ = candidate([scaled], scale)
    return errors(found, scaled.double() / scale).relative


EXAMINATIONS: dict[str, Callable[[Any], float]] = {
    "training.optimizers.adam.Adam": beside("Adam", {"rate": 0.01}, {"lr": 0.01}),
    "training.optimizers.adamw.AdamW": beside(
        "AdamW", {"rate": 0.01, "decay": 0.1}, {"lr": 0.01, "weight_decay": 0.1}
    ),
    "training.optimizers.nesterov.Nesterov": beside(
        "SGD", {"rate": 0.05}, {"lr": 0.05, "momentum": 0.9, "nesterov": True}
    ),
    "training.optimizers.momentum.Momentum": beside(
        "SGD", {"rate": 0.05}, {"lr": 0.05, "momentum": 0.9}
    ),
    "training.optimizers.rmsprop.RMSProp": beside(
        "RMSprop", {"rate": 0.01}, {"lr": 0.01, "alpha": 0.99}
    ),
    "training.optimizers.adagrad.AdaGrad": beside("Adagrad", {"rate": 0.01}, {"lr": 0.01}),
    "collectives.ring.allreduce": on_ranks.allreduce,
    "collectives.recursive_doubling.allreduce": on_ranks.allreduce,
    "collectives.rabenseifner.allreduce": on_ranks.allreduce,
    "networks.data_parallel.averaging.average_gradients": on_ranks.average_gradients,
    "networks.data_parallel.batch_normalisation.SynchronisedBatchNorm": (
        on_ranks.batch_normalisation
    ),
    "networks.tensor.vocabulary.vocabulary_loss": on_ranks.vocabulary_loss,
    "networks.pipelines.torch_stage.TorchStage": on_ranks.stage,
    "networks.pipelines.gpipe.gpipe": on_ranks.schedule,
    "networks.pipelines.one_f_one_b.order": on_ranks.kept,
    "training.distribution.server_state.ServerState": on_ranks.server,
    "training.compression.feedback.Feedback": on_ranks.feedback,
    "training.compression.top_k.TopK": on_ranks.top_k,
    "training.compression.qsgd.QSGD": on_ranks.quantised,
    "training.consistency.gossip.Gossip": on_ranks.gossip,
    "training.tasks.perceptron.Perceptron": perceptron,
    "training.tasks.perceptron.softmax": softmax,
    "operators.convolution.im2col.input_gradient": input_gradient,
    "operators.precision.loss_scaling.unscale": unscale,
}

# A mean of random messages comes as near as their number lets it.
BOUNDS = {"training.compression.qsgd.QSGD": 0.05}


def wrong(part: str, candidate: Any) -> float:
    """How wrong a candidate for this part is, over what rounding explains: right up to 1."""
    try:
        found = EXAMINATIONS[part](candidate)
    except Exception:  # a refusal, a deadlock, a crash: it does not do what the part does
        return math.inf
    return math.inf if math.isnan(found) else found / BOUNDS.get(part, GOOD)
