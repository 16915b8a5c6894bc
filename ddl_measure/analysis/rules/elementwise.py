"""Rules for what is done to each number by itself: activations, sums of two tensors, masks.

One line says what a function costs for each number, (operations, longest chain), and what the
gradient of each argument then costs; what the forward pass has computed is kept. An argument that
was copied to many places gets the sum of its gradients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ddl_measure.analysis.records import Call, OperationCost, Rule
from ddl_measure.analysis.rules.products import broadcast_gradient
from ddl_teach.theory.work_depth import activation
from ddl_teach.theory.work_depth.counting import WorkDepth

Each = tuple[int, int]


@dataclass(frozen=True)
class Function:
    """Operations and longest chain for each number, forward and for each argument's gradient."""

    forward: Each
    gradients: Mapping[str, Each] = field(default_factory=dict)


def unary(forward: Each, gradient: Each | None = None) -> Function:
    """Of one tensor."""
    return Function(forward, {"self": gradient} if gradient else {})


FREE, ONE, TWO = (0, 0), (1, 1), (2, 2)
COMPARISON = unary(ONE)  # has no gradient
FUNCTIONS: dict[str, Function] = {
    # y, and with it the gradient g
    "leaky_relu": unary(TWO, TWO),  # the slope, a choice
    "_prelu_kernel": Function(TWO, {"self": TWO, "weight": TWO}),
    "elu": unary((4, 4), (3, 3)),  # exp, -1, alpha, a choice; y + alpha, a choice, g
    "hardtanh": unary(TWO, TWO),
    "relu6": unary(TWO, TWO),
    "clamp": unary(TWO, TWO),
    "clamp_min": unary(ONE, ONE),
    "silu": unary(TWO, (5, 5)),  # x s(x); g s (1 + x (1 - s))
    "softplus": unary((4, 4), (3, 3)),  # exp, +1, log, a choice; s(x), a choice, g
    "log_sigmoid": unary((3, 3), TWO),
    "exp": unary(ONE, ONE),  # g y
    "log": unary(ONE, ONE),  # g / x
    "expm1": unary(ONE, TWO),  # g (y + 1)
    "log1p": unary(ONE, TWO),  # g / (x + 1)
    "xlogy": Function(TWO, {"self": TWO, "other": TWO}),
    "sqrt": unary(ONE, TWO),  # g / (y + y)
    "rsqrt": unary(ONE, (4, 3)),  # (y y) (g y) / -2
    "reciprocal": unary(ONE, TWO),  # y y g
    "sin": unary(ONE, TWO),
    "cos": unary(ONE, TWO),
    "tan": unary(ONE, (3, 3)),  # g (1 + y y)
    "erf": unary(ONE, (4, 4)),
    "neg": unary(ONE, ONE),
    "abs": unary(ONE, TWO),
    "square": unary(ONE, TWO),  # g (x + x)
    "pow": unary(ONE, (3, 3)),  # n x^(n-1) g
    "dropout": Function((3, 3), {"input": ONE}),  # a draw, a comparison, a product; g mask
    "native_dropout": Function((3, 3), {"input": ONE}),
    "add": Function(ONE, {"self": FREE, "other": FREE}),
    "sub": Function(ONE, {"self": FREE, "other": FREE}),
    "rsub": Function(ONE, {"self": FREE, "other": FREE}),
    "mul": Function(ONE, {"self": ONE, "other": ONE}),
    "div": Function(ONE, {"self": ONE, "other": TWO}),  # g / b; g y / b
    "maximum": Function(ONE, {"self": ONE, "other": ONE}),
    "minimum": Function(ONE, {"self": ONE, "other": ONE}),
    "where": Function(ONE, {"self": ONE, "other": ONE}),
    "masked_fill": Function(ONE, {"self": ONE, "value": ONE}),
    "addcmul": Function((3, 3), {"self": FREE, "tensor1": TWO, "tensor2": TWO}),
    "lerp": Function((3, 3), {"self": ONE, "end": ONE, "weight": TWO}),
    "tril": COMPARISON,
    "triu": COMPARISON,
    **dict.fromkeys(
        "eq ne lt le gt ge logical_not logical_and logical_or bitwise_not bitwise_and bitwise_or "
        "isnan isinf sign floor ceil round floor_divide remainder bernoulli rand_like randn_like "
        "rand randn".split(),
        COMPARISON,
    ),
}
BY_FORMULA = ("relu", "sigmoid", "tanh")  # theory has these


def each(function: Function) -> Rule:
    """The rule of a function of single numbers."""

    def rule(call: Call) -> OperationCost:
        elements = call.output.elements
        if call.operation.endswith("dropout") and not call.get("train"):
            return OperationCost()
        gradients = {}
        for name, cost in function.gradients.items():
            for value in call.values(name):
                each_one = WorkDepth(*cost).copies(elements)
                summed = broadcast_gradient(elements, value.elements)
                gradients[name] = each_one.then(summed)
        return OperationCost(
            scaled(call, WorkDepth(*function.forward)).copies(elements), gradients
        )

    return rule


def scaled(call: Call, one: WorkDepth) -> WorkDepth:
    """`a + alpha b`: the factor costs a product, unless it is one."""
    return WorkDepth(1, 1).then(one) if call.get("alpha", 1) != 1 else one


def by_formula(name: str) -> Rule:
    """The rule of an activation function that the theory counts."""

    def rule(call: Call) -> OperationCost:
        elements = call.output.elements
        gradient = activation.input_gradient(elements, name)
        return OperationCost(activation.forward(elements, name), {"self": gradient})

    return rule


def gelu(call: Call) -> OperationCost:
    """By the error function as in theory, or by tanh: x/2 (1 + tanh(a (x + b x^3)))."""
    if call.get("approximate", "none") == "none":
        return by_formula("gelu")(call)
    # Forward: x x, b, + 1, a x, their product, tanh, + 1, x / 2 and a product. Backwards, with t
    # and b x x kept: 1 - t t; 3 (b x x) + 1, times a; times x / 2; their product, + (1 + t) / 2
    # and the product with g.
    elements = call.output.elements
    return OperationCost(
        WorkDepth(9, 7).copies(elements), {"self": WorkDepth(11, 7).copies(elements)}
    )


RULES: dict[str, Rule] = {
    **{f"aten::{name}": each(function) for name, function in FUNCTIONS.items()},
    **{f"aten::{name}": by_formula(name) for name in BY_FORMULA},
    "aten::gelu": gelu,
}
