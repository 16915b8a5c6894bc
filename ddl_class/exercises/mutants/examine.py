"""The examination of each part: how far it is from what must be the same.

    wrong(part, candidate)      0 to rounding for a right one; infinite for one that stops

An examination knows nothing of the bugs: it would find others as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ddl_class.exercises.mutants import examine_operators, examine_ranks
from ddl_class.exercises.mutants.examine_training import beside
from ddl_measure.levels.operators import GOOD

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
    "collectives.ring.allreduce": examine_ranks.allreduce,
    "collectives.recursive_doubling.allreduce": examine_ranks.allreduce,
    "collectives.rabenseifner.allreduce": examine_ranks.allreduce,
    "networks.data_parallel.averaging.average_gradients": examine_ranks.average_gradients,
    "networks.data_parallel.batch_normalisation.SynchronisedBatchNorm": (
        examine_ranks.batch_normalisation
    ),
    "networks.tensor.vocabulary.vocabulary_loss": examine_ranks.vocabulary_loss,
    "networks.pipelines.torch_stage.TorchStage": examine_ranks.stage,
    "networks.pipelines.gpipe.gpipe": examine_ranks.schedule,
    "networks.pipelines.one_f_one_b.order": examine_ranks.kept,
    "training.distribution.server_state.ServerState": examine_ranks.server,
    "training.compression.feedback.Feedback": examine_ranks.feedback,
    "training.compression.top_k.TopK": examine_ranks.top_k,
    "training.compression.qsgd.QSGD": examine_ranks.quantised,
    "training.consistency.gossip.Gossip": examine_ranks.gossip,
    "training.tasks.perceptron.Perceptron": examine_operators.perceptron,
    "training.tasks.perceptron.softmax": examine_operators.softmax,
    "operators.convolution.im2col.input_gradient": examine_operators.input_gradient,
    "operators.precision.loss_scaling.unscale": examine_operators.unscale,
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
