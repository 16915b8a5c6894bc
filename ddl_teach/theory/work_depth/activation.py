"""An activation function, each number for itself: work n times a few, depth of those few.

No number waits for another one, so the parallelism is as large as the layer. The derivative is
made of what the forward pass has kept: of ReLU the input, of sigmoid and tanh the output.

======== =========================== ============ ============================= ============
function forward                     per element  input gradient, of g          per element
======== =========================== ============ ============================= ============
relu     max(x, 0)                   1, depth 1   g where x > 0                 1, depth 1
sigmoid  s(x)                        1, depth 1   g (y (1 - y))                 3, depth 3
tanh     tanh(x)                     1, depth 1   g (1 - y y)                   3, depth 3
gelu     (x/2) (1 + erf(x / sqrt 2)) 5, depth 4   see below                     8, depth 6
======== =========================== ============ ============================= ============

gelu's derivative is (1 + erf(x / sqrt 2)) / 2 + x exp(-x x / 2) / sqrt(2 pi), where 1 + erf(..)
was kept: one product for the first part, x x, a factor, exp, x / sqrt(2 pi) and a product for the
second, their sum, and g times that. (Hendrycks & Gimpel 2016.)
"""

from ddl_teach.theory.inputs import count
from ddl_teach.theory.work_depth.counting import WorkDepth

FORWARD = {
    "relu": WorkDepth(1, 1),
    "sigmoid": WorkDepth(1, 1),
    "tanh": WorkDepth(1, 1),
    "gelu": WorkDepth(5, 4),
}
INPUT_GRADIENT = {
    "relu": WorkDepth(1, 1),
    "sigmoid": WorkDepth(3, 3),
    "tanh": WorkDepth(3, 3),
    "gelu": WorkDepth(8, 6),
}


def forward(elements: int, function: str = "relu") -> WorkDepth:
    """Of so many numbers, each for itself."""
    return _each(FORWARD, elements, function)


def input_gradient(elements: int, function: str = "relu") -> WorkDepth:
    """The gradient of the output, times the derivative."""
    return _each(INPUT_GRADIENT, elements, function)


def _each(table: dict[str, WorkDepth], elements: int, function: str) -> WorkDepth:
    if function not in table:
        raise ValueError(f"function={function!r} is not counted; there are {', '.join(table)}")
    return table[function].copies(count("elements", elements))
