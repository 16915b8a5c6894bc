"""Rules for what sums up numbers: extremes, softmax, norms, losses, pooling, normalisation.

The sum of n numbers takes n - 1 operations and depth ceil(log2 n); its gradient is a copy, which
costs nothing. Normalisation gives groups of numbers mean 0 and variance 1; the kinds differ in
what a group is: a channel of a whole batch, a layer, some channels of an example, or one.
"""

import math
from itertools import product

from ddl_measure.analysis.records import Call, OperationCost, Rule
from ddl_measure.analysis.rules.products import as_pair
from ddl_teach.theory.work_depth import (
    average_pooling,
    batch_normalisation,
    layer_normalisation,
    max_pooling,
    softmax,
)
from ddl_teach.theory.work_depth.counting import (
    NOTHING,
    WorkDepth,
    dot,
    elementwise,
    summation,
    tree_depth,
)


def reduction(
    before: int = 0, after: int = 0, gradient: int = 0, shared: int = 0, mean: bool = False
) -> Rule:
    """A tree over each group of numbers, `before` and `after` it some operations.

    The gradient takes `gradient` operations for each number, and `shared` for each result. Where
    the `mean` of the numbers must be known, that comes first.
    """

    def rule(call: Call) -> OperationCost:
        groups = call.output.elements
        numbers = call["self"].elements // groups
        first = summation(numbers).then(elementwise(1)) if mean else NOTHING
        tree = first.then(elementwise(numbers, before)).then(summation(numbers))
        back = elementwise(1, shared).then(elementwise(numbers, gradient))
        return OperationCost(
            tree.then(elementwise(1, after)).copies(groups), {"self": back.copies(groups)}
        )

    return rule


def largest(call: Call) -> OperationCost:
    """A tree of comparisons, or one of two tensors; the larger number gets the gradient."""
    if call.values("other"):
        pairs = elementwise(call.output.elements)
        return OperationCost(pairs, {"self": pairs, "other": pairs})
    return reduction(gradient=2)(call)


def softmax_of_rows(call: Call) -> OperationCost:
    """Softmax along one dimension, or its logarithm."""
    value = call["self"]
    length = value.shape[call["dim"]] if value.shape else 1
    rows = value.elements // length
    if "log" in call.operation:
        forward, back = log_softmax(rows, length)
    else:
        forward, back = softmax.forward(rows, length), softmax.input_gradient(rows, length)
    return OperationCost(forward, {"self": back})


def log_softmax(rows: int, length: int) -> tuple[WorkDepth, WorkDepth]:
    """x - max - log(sum(exp(x - max))); backwards g - exp(y) sum(g)."""
    forward = WorkDepth(5 * length - 1, 2 * tree_depth(length) + 4)
    backward = WorkDepth(4 * length - 1, tree_depth(length) + 2)
    return forward.copies(rows), backward.copies(rows)


def cross_entropy(call: Call) -> OperationCost:
    """Cross-entropy: the log-softmax of each row, and its number at the right class. The gradient
    is the softmax p, less 1 at that class."""
    scores = call["self"].shape
    classes = scores[1] if len(scores) > 1 else scores[0]
    rows = call["self"].elements // classes
    forward, backward = log_softmax(rows, classes)
    if call["target"].shape == scores:  # probabilities instead of class numbers
        forward = forward.then(elementwise(classes).then(summation(classes)).copies(rows))
    return OperationCost(forward.then(loss_sum(call, rows)), {"self": backward})


def picked_loss(call: Call) -> OperationCost:
    """The negative logarithm that each row has at its class."""
    rows = call["target"].elements
    return OperationCost(loss_sum(call, rows), {"self": elementwise(rows)})


def squared_error(call: Call) -> OperationCost:
    """Mean or sum of the squared differences; backwards twice the difference, times g."""
    elements = call["self"].elements
    forward = elementwise(elements, 2).then(loss_sum(call, elements))
    return OperationCost(
        forward, {"self": elementwise(elements, 2), "target": elementwise(elements)}
    )


def loss_sum(call: Call, terms: int) -> WorkDepth:
    """None (0), the mean (1) or the sum (2) of a loss."""
    mean = summation(terms).then(elementwise(1))
    return (NOTHING, mean, summation(terms))[call.get("reduction", 1)]


def pooling(call: Call) -> OperationCost:
    """The mean or the largest of each window.

    In one or two dimensions by the formulas, else each window counted by itself.
    """
    x, kernel, mean = call["self"], call["kernel_size"], "avg" in call.operation
    stride, padding = call.get("stride") or kernel, call.get("padding", 0)
    dims = dimensions(call)
    formula = average_pooling if mean else max_pooling
    plain = set(as_pair(call.get("dilation", 1))) == {1} and not call.get("ceil_mode")
    if dims < 3 and plain:
        size = x.shape[-2:] if dims == 2 else (1, x.shape[-1])
        window = [
            as_pair(pair) if dims == 2 else (unit, as_pair(pair)[0])
            for pair, unit in ((kernel, 1), (stride, 1), (padding, 0))
        ]
        sizes = (x.elements // math.prod(size), *size, *window)
        return OperationCost(formula.forward(*sizes), {"self": formula.input_gradient(*sizes)})
    sides = (kernel,) if isinstance(kernel, int) else tuple(kernel)
    numbers = math.prod(sides * dims if len(sides) == 1 else sides)
    return windows([numbers] * call.output.elements, x.elements, mean)


def adaptive_pool(call: Call) -> OperationCost:
    """Pooling to a given number of windows; they differ in size if the image can't be divided
    evenly."""
    dims = dimensions(call)
    inside, outside = call["self"].shape[-dims:], call.output.shape[-dims:]
    spans = [
        [-(-(place + 1) * size // wanted) - place * size // wanted for place in range(wanted)]
        for size, wanted in zip(inside, outside, strict=True)
    ]
    sizes = [math.prod(window) for window in product(*spans)]
    planes = call.output.elements // len(sizes)
    plane = windows(sizes, call["self"].elements // planes, "avg" in call.operation)
    return OperationCost(
        plane.forward.copies(planes), {"self": plane.gradients["self"].copies(planes)}
    )


def dimensions(call: Call) -> int:
    """The number of dimensions of a pooling operation, by its name."""
    return int(call.operation.partition("pool")[2][0])


def windows(sizes: list[int], elements: int, mean: bool) -> OperationCost:
    """Windows of `sizes` over `elements` numbers: each a sum and a quotient, or a maximum."""
    touched, deepest = sum(sizes), tree_depth(max(sizes))
    forward = WorkDepth(touched - len(sizes), deepest).then(elementwise(len(sizes), int(mean)))
    overlap = max(0, touched - elements)
    shares = elementwise(len(sizes)) if mean else elementwise(touched, 2)
    depth = tree_depth(-(-touched // elements)) if overlap else 0
    return OperationCost(forward, {"self": shares.then(WorkDepth(overlap, depth))})


def batch_norm(call: Call) -> OperationCost:
    """Batch normalisation, by the statistics of the batch in training, by kept ones afterwards.

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


def rows_of_numbers(call: Call) -> OperationCost:
    """Rows of numbers, and scales for some of them, by what the operation calls a row."""
    x = call["input"]
    if call.operation.endswith("layer_norm"):  # over the last dimensions
        length = scales = math.prod(call["normalized_shape"])
    else:  # over a group of channels and all their positions; a scale for each channel
        groups = call.get("num_groups", x.shape[1])  # one map of one example, if none are given
        length, scales = x.elements // (groups * x.shape[0]), x.shape[1]
    forward = layer_normalisation.forward(x.elements // length, length)
    back = layer_normalisation.input_gradient(x.elements // length, length)
    return _scaled(call, forward, back, x.elements, scales)


def rms_norm(call: Call) -> OperationCost:
    """RMS norm over the last dimensions: x / sqrt(mean(x x) + eps), times gamma; no mean is
    subtracted."""
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
    """The cost with a gamma and a beta for each scale, or less if one of them is absent."""
    absent = sum(call.get(name) is None for name in ("weight", "bias"))
    alike = elements // scales
    gradients = {
        "input": back, "weight": dot(alike).copies(scales), "bias": summation(alike).copies(scales)
    }  # fmt: skip
    return OperationCost(
        WorkDepth(forward.work - absent * elements, forward.depth - absent), gradients
    )


POOLS = "max_pool{0}d avg_pool{0}d", "adaptive_avg_pool{0}d adaptive_max_pool{0}d"
REDUCTIONS = {
    "sum argmax argmin any all": reduction(),
    "mean": reduction(after=1, shared=1),
    "amax amin prod": reduction(gradient=2),
    "max min": largest,
    "var": reduction(before=2, after=1, gradient=1, shared=1, mean=True),  # differences, squares
    "std": reduction(before=2, after=2, gradient=1, shared=2, mean=True),  # and a root
    "norm linalg_vector_norm": reduction(before=1, after=1, gradient=1, shared=1),
    "logsumexp": reduction(before=2, after=2, gradient=3),
    "softmax _softmax log_softmax _log_softmax": softmax_of_rows,
    "cross_entropy_loss": cross_entropy,
    "nll_loss nll_loss_nd nll_loss_forward": picked_loss,
    "mse_loss": squared_error,
    "max_pool2d_with_indices": pooling,
    **{POOLS[0].format(dims): pooling for dims in (1, 2, 3)},
    **{POOLS[1].format(dims): adaptive_pool for dims in (1, 2, 3)},
    "batch_norm native_batch_norm _native_batch_norm_legit_functional": batch_norm,
    "layer_norm native_layer_norm group_norm instance_norm": rows_of_numbers,
    "rms_norm": rms_norm,
}
RULES: dict[str, Rule] = {
    f"aten::{name}": rule for names, rule in REDUCTIONS.items() for name in names.split()
}
