"""Rules for normalisation: groups of numbers get mean 0 and variance 1.

The kinds differ in what a group is: a channel of a whole batch, a layer, some channels of an
example, or one.
"""

import math

from ddl_measure.analysis.records import Call, OperationCost, Rule
from ddl_teach.theory.work_depth import batch_normalisation, layer_normalisation
from ddl_teach.theory.work_depth.counting import WorkDepth, dot, elementwise, summation, tree_depth


def batch_norm(call: Call) -> OperationCost:
    """With the statistics of the batch in training, with kept ones afterwards.

    That training also moves the kept ones a little is not counted.
    """
    channels = call["input"].shape[1]
    numbers = call["input"].elements // channels
    if call.get("training", True) or call.get("running_mean") is None:
        forward = batch_normalisation.forward(channels, numbers)
        back = batch_normalisation.input_gradient(channels, numbers)
    else:
        # A channel: 1 / sqrt(v + eps), times gamma. A number: minus mean, times that, plus beta.
        forward = WorkDepth(3 + 3 * numbers, 5).copies(channels)
        back = elementwise(channels * numbers)
    return _scaled(call, forward, back, channels * numbers, channels)


def rows(call: Call) -> OperationCost:
    """Rows of numbers, and scales for some of them, by what the operation calls a row."""
    x = call["input"]
    if call.operation.endswith("layer_norm"):  # over the last dimensions
        length = scales = math.prod(call["normalized_shape"])
    else:  # over a group of channels and all their positions; a scale for each channel
        groups = call.get("num_groups", x.shape[1])  # one map of one example, if none are told
        length, scales = x.elements // (groups * x.shape[0]), x.shape[1]
    forward = layer_normalisation.forward(x.elements // length, length)
    back = layer_normalisation.input_gradient(x.elements // length, length)
    return _scaled(call, forward, back, x.elements, scales)


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


def _scaled(
    call: Call, forward: WorkDepth, back: WorkDepth, elements: int, scales: int
) -> OperationCost:
    """With a gamma and a beta for each scale; less a product or a sum where one is absent."""
    absent = sum(call.get(name) is None for name in ("weight", "bias"))
    alike = elements // scales
    gradients = {
        "input": back, "weight": dot(alike).copies(scales), "bias": summation(alike).copies(scales)
    }  # fmt: skip
    return OperationCost(
        WorkDepth(forward.work - absent * elements, forward.depth - absent), gradients
    )


RULES: dict[str, Rule] = {
    "aten::batch_norm": batch_norm,
    "aten::native_batch_norm": batch_norm,
    "aten::_native_batch_norm_legit_functional": batch_norm,
    "aten::layer_norm": rows,
    "aten::native_layer_norm": rows,
    "aten::group_norm": rows,
    "aten::instance_norm": rows,
    "aten::rms_norm": rms_norm,
}
