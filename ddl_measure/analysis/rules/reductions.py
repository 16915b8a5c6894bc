"""Rules for what makes few numbers out of many: sums, extremes, softmax, norms, losses, pooling.

The sum of n numbers takes n - 1 operations and depth ceil(log2 n); its gradient is a copy, which
costs nothing.
"""

from __future__ import annotations

import math
from itertools import product

from ddl_measure.analysis.records import Call, OperationCost, Rule
from ddl_measure.analysis.rules.products import as_pair
from ddl_teach.theory.work_depth import average_pooling, max_pooling, softmax
from ddl_teach.theory.work_depth.counting import (
    NOTHING,
    WorkDepth,
    elementwise,
    summation,
    tree_depth,
)


def reduction(before: int = 0, after: int = 0, gradient: int = 0, shared: int = 0) -> Rule:
    """A tree over each group of numbers, `before` and `after` it some operations.

    The gradient takes `gradient` operations for each number, and `shared` for each result.
    """

    def rule(call: Call) -> OperationCost:
        groups = call.output.elements
        numbers = call["self"].elements // groups
        one = elementwise(numbers, before).then(summation(numbers)).then(WorkDepth(after, after))
        back = elementwise(1, shared).then(elementwise(numbers, gradient)).copies(groups)
        return OperationCost(one.copies(groups), {"self": back})

    return rule


def variance(after: int) -> Rule:
    """Mean, differences, their squares, their sum, a quotient, and perhaps a root."""

    def rule(call: Call) -> OperationCost:
        groups = call.output.elements
        numbers = call["self"].elements // groups
        mean = summation(numbers).then(elementwise(1))
        spread = elementwise(numbers, 2).then(summation(numbers)).then(elementwise(1, after))
        back = elementwise(1, after).then(elementwise(numbers)).copies(groups)
        return OperationCost(mean.then(spread).copies(groups), {"self": back})

    return rule


def largest(call: Call) -> OperationCost:
    """A tree of comparisons, or one of two tensors; the larger number gets the gradient."""
    if call.values("other"):
        pairs = elementwise(call.output.elements)
        return OperationCost(pairs, {"self": pairs, "other": pairs})
    return reduction(gradient=2)(call)


def rows_of(call: Call, name: str = "self") -> tuple[int, int]:
    """How many rows there are along the dimension that is normalised, and their length."""
    value = call[name]
    length = value.shape[call["dim"]] if value.shape else 1
    return value.elements // length, length


def softmax_rule(call: Call) -> OperationCost:
    """Along one dimension."""
    rows, length = rows_of(call)
    return OperationCost(
        softmax.forward(rows, length), {"self": softmax.input_gradient(rows, length)}
    )


def log_softmax_cost(rows: int, length: int) -> tuple[WorkDepth, WorkDepth]:
    """x - max - log(sum(exp(x - max))); backwards g - exp(y) sum(g)."""
    forward = WorkDepth(5 * length - 1, 2 * tree_depth(length) + 4)
    backward = WorkDepth(4 * length - 1, tree_depth(length) + 2)
    return forward.copies(rows), backward.copies(rows)


def log_softmax(call: Call) -> OperationCost:
    """Along one dimension."""
    forward, backward = log_softmax_cost(*rows_of(call))
    return OperationCost(forward, {"self": backward})


def cross_entropy(call: Call) -> OperationCost:
    """The logarithm of the softmax, of which each row gives one number; backwards p - 1 at it."""
    scores, kept = call["self"].shape, call["target"]
    classes = scores[1] if len(scores) > 1 else scores[0]
    rows = call["self"].elements // classes
    forward, backward = log_softmax_cost(rows, classes)
    if kept.shape == scores:  # probabilities instead of class numbers
        forward = forward.then(elementwise(classes).then(summation(classes)).copies(rows))
    reduced = loss_sum(rows, call.get("reduction", 1))
    return OperationCost(forward.then(reduced), {"self": backward})


def picked_loss(call: Call) -> OperationCost:
    """The negative logarithm that each row has at its class."""
    rows = call["target"].elements
    return OperationCost(loss_sum(rows, call.get("reduction", 1)), {"self": elementwise(rows)})


def loss_sum(terms: int, how: int) -> WorkDepth:
    """None (0), the mean (1) or the sum (2) of a loss."""
    return (NOTHING, summation(terms).then(elementwise(1)), summation(terms))[how]


def squared_error(call: Call) -> OperationCost:
    """Mean or sum of the squared differences; backwards twice the difference, times g."""
    elements = call["self"].elements
    forward = elementwise(elements, 2).then(loss_sum(elements, call.get("reduction", 1)))
    return OperationCost(
        forward, {"self": elementwise(elements, 2), "target": elementwise(elements)}
    )


def max_pool(call: Call) -> OperationCost:
    """The largest of each window."""
    return pooling(call, mean=False)


def average_pool(call: Call) -> OperationCost:
    """The mean of each window."""
    return pooling(call, mean=True)


def pooling(call: Call, mean: bool) -> OperationCost:
    """In two dimensions by the formulas; in one or three each window counted by itself."""
    x, kernel = call["self"], call["kernel_size"]
    stride, padding = call.get("stride") or kernel, call.get("padding", 0)
    dims = {"1": 1, "2": 2, "3": 3}[call.operation.partition("pool")[2][0]]
    formula = average_pooling if mean else max_pooling
    plain = set(as_pair(call.get("dilation", 1))) == {1} and not call.get("ceil_mode")
    if dims < 3 and plain:
        size = x.shape[-2:] if dims == 2 else (1, x.shape[-1])
        window = [
            as_pair(pair) if dims == 2 else (unit, as_pair(pair)[0])
            for pair, unit in ((kernel, 1), (stride, 1), (padding, 0))
        ]
        planes = x.elements // math.prod(size)
        return OperationCost(
            formula.forward(planes, *size, *window),
            {"self": formula.input_gradient(planes, *size, *window)},
        )
    sizes = (kernel,) * dims if isinstance(kernel, int) else tuple(kernel)
    numbers = math.prod(sizes * dims if len(sizes) == 1 else sizes)
    return windows([numbers] * call.output.elements, x.elements, mean)


def adaptive_pool(call: Call) -> OperationCost:
    """As many windows as wanted; they differ in size where the image can't be divided evenly."""
    mean = "avg" in call.operation
    dims = int(call.operation.partition("pool")[2][0])
    inside, outside = call["self"].shape[-dims:], call.output.shape[-dims:]
    spans = [
        [-(-(place + 1) * size // wanted) - place * size // wanted for place in range(wanted)]
        for size, wanted in zip(inside, outside, strict=True)
    ]
    sizes = [math.prod(window) for window in product(*spans)]
    planes = call.output.elements // len(sizes)
    one = windows(sizes, call["self"].elements // planes, mean)
    return OperationCost(
        one.forward.copies(planes), {"self": one.gradients["self"].copies(planes)}
    )


def windows(sizes: list[int], elements: int, mean: bool) -> OperationCost:
    """Windows of these sizes over so many numbers: each a sum and a quotient, or a maximum."""
    touched, deepest = sum(sizes), tree_depth(max(sizes))
    forward = WorkDepth(touched - len(sizes), deepest).then(elementwise(len(sizes), int(mean)))
    overlap = max(0, touched - elements)
    shares = elementwise(len(sizes)) if mean else elementwise(touched, 2)
    depth = tree_depth(-(-touched // elements)) if overlap else 0
    return OperationCost(forward, {"self": shares.then(WorkDepth(overlap, depth))})


RULES: dict[str, Rule] = {
    "aten::sum": reduction(),
    "aten::mean": reduction(after=1, shared=1),
    "aten::amax": reduction(gradient=2),
    "aten::amin": reduction(gradient=2),
    "aten::max": largest,
    "aten::min": largest,
    "aten::argmax": reduction(),
    "aten::argmin": reduction(),
    "aten::any": reduction(),
    "aten::all": reduction(),
    "aten::prod": reduction(gradient=2),
    "aten::var": variance(after=1),
    "aten::std": variance(after=2),
    "aten::norm": reduction(before=1, after=1, gradient=1, shared=1),
    "aten::linalg_vector_norm": reduction(before=1, after=1, gradient=1, shared=1),
    "aten::logsumexp": reduction(before=2, after=2, gradient=3),
    "aten::softmax": softmax_rule,
    "aten::_softmax": softmax_rule,
    "aten::log_softmax": log_softmax,
    "aten::_log_softmax": log_softmax,
    "aten::cross_entropy_loss": cross_entropy,
    "aten::nll_loss": picked_loss,
    "aten::nll_loss_nd": picked_loss,
    "aten::nll_loss_forward": picked_loss,
    "aten::mse_loss": squared_error,
    **dict.fromkeys((f"aten::max_pool{dims}d" for dims in (1, 2, 3)), max_pool),
    "aten::max_pool2d_with_indices": max_pool,
    **dict.fromkeys((f"aten::avg_pool{dims}d" for dims in (1, 2, 3)), average_pool),
    **dict.fromkeys(
        (f"aten::adaptive_{kind}_pool{dims}d" for kind in ("avg", "max") for dims in (1, 2, 3)),
        adaptive_pool,
    ),
}
