"""Rules for normalisation: over a batch, a layer, a group, an instance.

Each makes groups of numbers have mean 0 and variance 1; they differ in what a group is.
"""

from __future__ import annotations

import math

from ddl_measure.analysis.records import Call, OperationCost, Rule
from ddl_teach.theory.work_depth import batch_normalisation, layer_normalisation
from ddl_teach.theory.work_depth.counting import (
    WorkDepth,
    dot,
    elementwise,
    summation,
    tree_depth,
)


def batch_norm(call: Call) -> OperationCost:
    """With the statistics of the batch in training, with kept ones afterwards.

    That training also moves the kept ones a little is not counted.
    """
    x = call["input"]
    channels = x.shape[1]
    numbers = x.elements // channels
    training = bool(call.get("training", True)) or call.get("running_mean") is None
    if training:
        forward = batch_normalisation.forward(channels, numbers)
        back = batch_normalisation.input_gradient(channels, numbers)
    else:
        # A channel: 1 / sqrt(v + eps), times gamma. A number: minus mean, times that, plus beta.
        forward = WorkDepth(3 + 3 * numbers, 5).copies(channels)
        back = elementwise(channels * numbers)
    gradients = {"input": back, "weight": dot(numbers).copies(channels)}
    gradients["bias"] = summation(numbers).copies(channels)
    return OperationCost(_without(call, forward, channels * numbers), gradients)


def layer_norm(call: Call) -> OperationCost:
    """Over the last dimensions."""
    features = math.prod(call["normalized_shape"])
    return _rows(call, call["input"].elements // features, features, features)


def group_norm(call: Call) -> OperationCost:
    """Over a group of channels and all their positions; a scale for each channel."""
    x = call["input"]
    groups = call["num_groups"] * x.shape[0]
    return _rows(call, groups, x.elements // groups, x.shape[1])


def instance_norm(call: Call) -> OperationCost:
    """Over all positions of one map of one example."""
    x = call["input"]
    rows = x.shape[0] * x.shape[1]
    return _rows(call, rows, x.elements // rows, x.shape[1])


def rms_norm(call: Call) -> OperationCost:
    """Over the last dimensions, without the mean: x / sqrt(mean(x x) + eps), times gamma."""
    features = math.prod(call["normalized_shape"])
    rows, depth = call["input"].elements // features, tree_depth(features) + 6
    forward = WorkDepth(4 * features + 2, depth).copies(rows)
    if call.get("weight") is None:
        forward = WorkDepth(forward.work - rows * features, depth - 1)
    # With v the scaled numbers and h = g gamma: (h - v mean(h v)) r.
    gradients = {"input": WorkDepth(6 * features, depth).copies(rows)}
    return OperationCost(forward, {**gradients, "weight": dot(rows).copies(features)})


def _rows(call: Call, rows: int, length: int, scales: int) -> OperationCost:
    elements = rows * length
    gradients = {
        "input": layer_normalisation.input_gradient(rows, length),
        "weight": dot(elements // scales).copies(scales),
        "bias": summation(elements // scales).copies(scales),
    }
    return OperationCost(
        _without(call, layer_normalisation.forward(rows, length), elements), gradients
    )


def _without(call: Call, forward: WorkDepth, elements: int) -> WorkDepth:
    """Less a product and a sum for each number where there is no gamma and no beta."""
    absent = sum(call.get(name) is None for name in ("weight", "bias"))
    return WorkDepth(forward.work - absent * elements, forward.depth - absent)


RULES: dict[str, Rule] = {
    "aten::batch_norm": batch_norm,
    "aten::native_batch_norm": batch_norm,
    "aten::_native_batch_norm_legit_functional": batch_norm,
    "aten::layer_norm": layer_norm,
    "aten::native_layer_norm": layer_norm,
    "aten::group_norm": group_norm,
    "aten::instance_norm": instance_norm,
    "aten::rms_norm": rms_norm,
}
