"""Work and depth of layers that are no convolution and have no steps: one formula a pass.

L(n) = ceil(log2 n) is the depth of a sum of n numbers. What to look at: the depth of each pass is
the logarithm of *its own* sum; of a fully connected layer's input gradient those are the outputs,
not the inputs. (Ben-Nun & Hoefler 2019, table 4. GELU: Hendrycks & Gimpel 2016; attention: Vaswani
et al. 2017; layer normalisation: Ba, Kiros & Hinton 2016.)
"""

from math import prod

from ddl_runtime.core.checks import one_of
from ddl_teach.theory.work_depth.counting import (
    Learning,
    Operator,
    WorkDepth,
    elementwise,
    matrix_product,
    summation,
    tree_depth,
)
from ddl_teach.theory.work_depth.windows import of_pooling, overlaps

L = tree_depth  # ceil(log2 n)
FORWARD = {
    "relu": WorkDepth(1, 1),  # max(x, 0)
    "sigmoid": WorkDepth(1, 1),  # s(x)
    "tanh": WorkDepth(1, 1),
    "gelu": WorkDepth(5, 4),  # (x/2) (1 + erf(x / sqrt 2))
}
INPUT_GRADIENT = {
    "relu": WorkDepth(1, 1),  # g where x > 0
    "sigmoid": WorkDepth(3, 3),  # g (y (1 - y))
    "tanh": WorkDepth(3, 3),  # g (1 - y y)
    "gelu": WorkDepth(8, 6),
}


def _each(table: dict[str, WorkDepth], elements: int, function: str) -> WorkDepth:
    one_of(function, "counted function", table)
    return table[function].copies(elements)


activation = Operator(
    forward=lambda elements, function="relu": _each(FORWARD, elements, function),
    input_gradient=lambda elements, function="relu": _each(INPUT_GRADIENT, elements, function),
)
"""Each number for itself, so the parallelism is as large as the layer.

gelu's derivative is (1 + erf(x / sqrt 2)) / 2 + x exp(-x x / 2) / sqrt(2 pi), where 1 + erf(..)
was kept.
"""


def _affine(batch: int, inputs: int, outputs: int, bias: bool = True) -> WorkDepth:
    if not bias:
        return matrix_product(batch, inputs, outputs)
    return WorkDepth(2 * batch * inputs * outputs, 1 + L(inputs + 1))


def _affine_parameters(batch: int, inputs: int, outputs: int, bias: bool = True) -> WorkDepth:
    weights = matrix_product(inputs, batch, outputs)
    return weights.beside(summation(batch).copies(outputs)) if bias else weights


fully_connected = Learning(
    forward=_affine,
    input_gradient=lambda batch, inputs, outputs, bias=True: matrix_product(
        batch, outputs, inputs
    ),
    parameter_gradient=_affine_parameters,
)
"""y = x W + b: three matrix products of about 2 N C_in C_out operations.

The bias joins the sum over the inputs as one number more; backwards x^T g and the sum of g both
run over the batch.
"""


max_pooling = Operator(
    of_pooling(lambda pool: summation(prod(pool.kernel)).copies(pool.windows)),
    of_pooling(lambda pool: overlaps(pool, pool.planes, operations=2)),
)
"""The largest number of each window: a tree of maxima.

Backwards a comparison with the maximum and a choice for each number of a window, then a sum where
windows overlap. What to look at: three operations a number, almost no depth: it waits for memory.
"""


average_pooling = Operator(
    of_pooling(
        lambda pool: summation(prod(pool.kernel)).then(elementwise(1)).copies(pool.windows)
    ),
    of_pooling(lambda pool: elementwise(pool.windows).then(overlaps(pool, pool.planes))),
)
"""The mean of each window: a sum, times 1 / k. A window as large as the plane: global pooling.

Backwards each window divides its gradient once; where windows overlap it is summed.
"""


def _alike(number: int, work: int, depth: int) -> WorkDepth:
    return WorkDepth(work, depth).copies(number)


batch_normalisation = Learning(
    forward=lambda channels, elements: _alike(channels, 7 * elements + 2, 2 * L(elements) + 9),
    input_gradient=lambda channels, elements: _alike(channels, 7 * elements + 1, L(elements) + 5),
    parameter_gradient=lambda channels, elements: _alike(
        channels, 3 * elements - 2, L(elements) + 1
    ),
)
"""Each channel's n = N H W `elements`, made mean 0 and variance 1 in training.

Forward: mean, differences, their squares, the variance (n each), plus epsilon, one inverse square
root, then times that, times gamma, plus beta (3 n). Backwards, with normalised v, inverse root r,

    dx = gamma r (g - mean(g) - v mean(g v)),    dgamma = sum(g v),    dbeta = sum(g).

What to look at: two sums over the *whole batch*: split over ranks, both become all-reduces. (Ioffe
& Szegedy 2015.)
"""

layer_normalisation = Learning(
    forward=lambda rows, features: _alike(rows, 7 * features + 2, 2 * L(features) + 9),
    input_gradient=lambda rows, features: _alike(rows, 8 * features, L(features) + 6),
    parameter_gradient=lambda rows, features: _alike(features, 3 * rows - 2, L(rows) + 1),
)
"""Each row's C features, made mean 0 and variance 1: batch normalisation turned by a quarter.

Rows do not wait for each other; only gamma and beta sum over all rows. With h = g gamma,

    dx = r (h - mean(h) - v mean(h v)),    dgamma = sum(g v),    dbeta = sum(g).

(Ba, Kiros & Hinton 2016.)
"""

softmax = Operator(
    forward=lambda rows, columns: _alike(rows, 5 * columns - 2, 2 * L(columns) + 3),
    input_gradient=lambda rows, columns: _alike(rows, 4 * columns - 1, L(columns) + 3),
)
"""Of each row exp(x - max) over its sum.

Forward: the maximum (n - 1), differences, exp, the sum (n - 1), quotients. Backwards with the kept
result p: p (g - sum(g p)). What to look at: the maximum must be known before the first exp, unless
one mends the sum when a larger number comes (Milakov & Gimelshein 2018).
"""


def _attended(
    batch: int, heads: int, queries: int, keys: int, features: int, masked: bool = False
) -> WorkDepth:
    scores = matrix_product(queries, features, keys)
    scaled = scores.then(elementwise(queries * keys, operations=2 if masked else 1))
    weighted = scaled.then(softmax.forward(queries, keys))
    return weighted.then(matrix_product(queries, keys, features)).copies(batch * heads)


def _attended_backwards(
    batch: int, heads: int, queries: int, keys: int, features: int, masked: bool = False
) -> WorkDepth:
    to_values = matrix_product(keys, queries, features)
    to_weights = matrix_product(queries, features, keys).then(
        softmax.input_gradient(queries, keys)
    )
    to_scores = to_weights.then(elementwise(queries * keys))
    both = matrix_product(queries, keys, features).beside(matrix_product(keys, queries, features))
    return to_values.beside(to_scores.then(both)).copies(batch * heads)


attention = Operator(_attended, _attended_backwards)
"""Scaled dot-product attention, O = softmax(Q K^T / sqrt(d)) V, of q queries, k keys, d features:

    scores   Q K^T                 q k (2 d - 1)      depth 1 + L(d)
    scale    by 1 / sqrt(d)        q k                depth 1
    mask     add 0 or -infinity    q k                depth 1, where it is masked
    softmax  over the keys         q (5 k - 2)        depth 2 L(k) + 3
    values   P V                   q d (2 k - 1)      depth 1 + L(k)

The input gradient, from the kept P: dV = P^T g, dP = g V^T, dS = P (dP - sum(dP P)) / sqrt(d), dQ
= dS K and dK = dS^T Q. The projections before and after it are fully connected layers. What to
look at: work grows with the square of the sequence, depth with its logarithm. (Vaswani et al.
2017.)
"""
