"""Rules for what is done to each number by itself, and for what only moves numbers.

A line of the table says what a function costs for each number: the length of a chain of
operations. It also says what the gradient of each argument then costs; what the forward pass has
computed is kept. A view costs nothing at all, a copy costs time for its bytes alone, and so do
their gradients. An argument that was copied to many places gets the sum of its gradients.
"""

from collections.abc import Mapping

from ddl_measure.analysis.records import Call, OperationCost, Rule
from ddl_measure.analysis.rules.products import broadcast_gradient
from ddl_teach.theory.work_depth import activation
from ddl_teach.theory.work_depth.counting import NOTHING, WorkDepth, elementwise


def each(forward: int, gradient: int | WorkDepth | None = None, **more: int) -> Rule:
    """The rule of an operation of `forward` operations for each number, and `gradient` or `more`
    for each number's gradient."""
    costs: Mapping[str, int | WorkDepth] = ({} if gradient is None else {"self": gradient}) | more

    def rule(call: Call) -> OperationCost:
        elements = call.output.elements
        if call.operation.endswith("dropout") and not call.get("train"):
            return OperationCost()
        gradients = {}
        for name, cost in costs.items():
            each = cost if isinstance(cost, WorkDepth) else WorkDepth(cost, cost)
            for value in call.values(name):
                summed = broadcast_gradient(elements, value.elements)
                gradients[name] = each.copies(elements).then(summed)
        factor = call.get("alpha", 1) != 1  # a + alpha b costs a product more
        return OperationCost(elementwise(elements, forward + factor), gradients)

    return rule


FUNCTIONS: dict[str, Rule] = {
    # y, and with it the gradient g
    **dict.fromkeys("leaky_relu hardtanh relu6 clamp".split(), each(2, 2)),  # the slope, a choice
    "_prelu_kernel": each(2, 2, weight=2),
    "elu": each(4, 3),  # exp, -1, alpha, a choice; y + alpha, a choice, g
    "silu": each(2, 5),  # x s(x); g s (1 + x (1 - s))
    "softplus": each(4, 3),  # exp, +1, log, a choice; s(x), a choice, g
    "log_sigmoid": each(3, 2),
    **dict.fromkeys("exp log neg clamp_min".split(), each(1, 1)),  # g y; g / x; -g; a choice
    "expm1": each(1, 2),  # g (y + 1)
    "log1p": each(1, 2),  # g / (x + 1)
    "xlogy": each(2, 2, other=2),
    "sqrt": each(1, 2),  # g / (y + y)
    "rsqrt": each(1, WorkDepth(4, 3)),  # (y y) (g y) / -2
    "reciprocal": each(1, 2),  # y y g
    **dict.fromkeys("sin cos abs square".split(), each(1, 2)),  # the last: g (x + x)
    "tan": each(1, 3),  # g (1 + y y)
    "erf": each(1, 4),
    "pow": each(1, 3),  # n x^(n-1) g
    **dict.fromkeys(("dropout", "native_dropout"), each(3, input=1)),  # a draw, a comparison, a
    # product; g mask
    **dict.fromkeys("add sub rsub".split(), each(1, 0, other=0)),
    **dict.fromkeys("mul maximum minimum where".split(), each(1, 1, other=1)),
    "div": each(1, 1, other=2),  # g / b; g y / b
    "masked_fill": each(1, 1, value=1),
    "addcmul": each(3, 0, tensor1=2, tensor2=2),
    "lerp": each(3, 1, end=1, weight=2),
    **dict.fromkeys(
        "tril triu eq ne lt le gt ge logical_not logical_and logical_or bitwise_not bitwise_and "
        "bitwise_or isnan isinf sign floor ceil round floor_divide remainder bernoulli rand_like "
        "randn_like rand randn".split(),
        each(1),  # a comparison has no gradient
    ),
}


def by_formula(name: str) -> Rule:
    """The rule of an activation function that the theory counts."""

    def rule(call: Call) -> OperationCost:
        elements = call.output.elements
        gradient = activation.input_gradient(elements, name)
        return OperationCost(activation.forward(elements, name), {"self": gradient})

    return rule


def gelu(call: Call) -> OperationCost:
    """GELU by the error function, as in `theory`, or by tanh: x/2 (1 + tanh(a (x + b x^3)))."""
    if call.get("approximate", "none") == "none":
        return by_formula("gelu")(call)
    # Forward: x x, b, + 1, a x, their product, tanh, + 1, x / 2 and a product. Backwards, with t
    # and b x x kept: 1 - t t; 3 (b x x) + 1, times a; times x / 2; their product, + (1 + t) / 2
    # and the product with g.
    elements = call.output.elements
    return OperationCost(
        WorkDepth(9, 7).copies(elements), {"self": WorkDepth(11, 7).copies(elements)}
    )


def move(call: Call) -> OperationCost:
    """An operation that only copies or moves numbers. Its gradient adds up the copies of one
    number."""
    gradients = {}
    for name in call.arguments:
        values = call.values(name)
        if len(values) == 1 and values[0].storage != call.output.storage:
            gradients[name] = broadcast_gradient(call.output.elements, values[0].elements)
    return OperationCost(gradients=gradients)


def lookup(table: str) -> Rule:
    """The rule of an operation that reads rows of a table by their numbers. Only these rows are
    read; gradients of one row are added up."""

    def rule(call: Call) -> OperationCost:
        taken = call.output.elements
        gradient = broadcast_gradient(taken, min(taken, call[table].elements))
        return OperationCost(gradients={table: gradient}, read={table: call.output.nbytes})

    return rule


def scattered(values: str) -> Rule:
    """Numbers written to chosen places, or added to what is there: then one addition each."""
    return lambda call: OperationCost(
        elementwise(call[values].elements) if call.get("accumulate", True) else NOTHING
    )


VIEWS = (
    "view reshape flatten unflatten transpose t permute squeeze unsqueeze expand expand_as select "
    "slice narrow chunk split split_with_sizes unbind detach alias view_as movedim swapaxes "
    "numpy_T mT unfold diagonal contiguous _unsafe_view _reshape_alias lift_fresh unsafe_chunk "
    "lift_fresh_copy unsafe_split unsafe_split_with_sizes real imag"
)
COPIES = (
    "clone copy copy_ to _to_copy type_as cat stack concat pad constant_pad_nd zero_pad2d repeat "
    "repeat_interleave roll flip channel_shuffle pixel_shuffle pixel_unshuffle im2col "
    "upsample_nearest1d upsample_nearest2d reflection_pad2d replication_pad2d one_hot"
)
NEW = (
    "zeros ones full empty arange zeros_like ones_like full_like empty_like new_zeros new_ones "
    "new_full new_empty scalar_tensor eye fill_ zero_ fill _assert_tensor_metadata sym_size "
    "_assert_async _assert_scalar empty_strided new_empty_strided linspace"
)
RULES: dict[str, Rule] = {
    f"aten::{name}": rule
    for name, rule in {
        **dict.fromkeys(f"{VIEWS} {COPIES}".split(), move),
        **dict.fromkeys(NEW.split(), lambda call: OperationCost()),
        **FUNCTIONS,
        **{name: by_formula(name) for name in ("relu", "sigmoid", "tanh")},
        "gelu": gelu,
        "embedding": lookup("weight"),
        **dict.fromkeys("index_select gather index".split(), lookup("self")),
        "index_put": scattered("values"),
        "scatter_add": scattered("src"),
        "index_add": scattered("source"),
    }.items()
}
