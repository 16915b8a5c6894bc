"""Scaled dot-product attention: O = softmax(Q K^T / sqrt(d)) V.

For each of B sequences and h heads, with q queries, k keys and d features a head:

    scores   Q K^T                 q k (2 d - 1)      depth 1 + L(d)
    scale    by 1 / sqrt(d)        q k                depth 1
    mask     add 0 or -infinity    q k                depth 1, where it is masked
    softmax  over the keys         q (5 k - 2)        depth 2 L(k) + 3
    values   P V                   q d (2 k - 1)      depth 1 + L(k)

The input gradient, from the kept P: dV = P^T g, dP = g V^T, dS = P (dP - sum(dP P)) / sqrt(d), dQ
= dS K and dK = dS^T Q. Attention itself has nothing to learn; the projections before and after it
are fully connected layers. What to look at: work grows with the square of the sequence, depth
with its logarithm: a sequence of any length at once, where a recurrent cell takes it step by
step. (Vaswani et al. 2017.)
"""

from ddl_teach.theory.inputs import count
from ddl_teach.theory.work_depth import softmax
from ddl_teach.theory.work_depth.counting import WorkDepth, elementwise, matrix_product


def forward(
    batch: int, heads: int, queries: int, keys: int, features: int, masked: bool = False
) -> WorkDepth:
    """Five stages, each of which waits for the one before."""
    scores = matrix_product(queries, features, keys).then(
        elementwise(queries * keys, operations=2 if masked else 1)
    )
    one = scores.then(softmax.forward(queries, keys))
    one = one.then(matrix_product(queries, keys, features))
    return one.copies(count("batch", batch) * count("heads", heads))


def input_gradient(
    batch: int, heads: int, queries: int, keys: int, features: int, masked: bool = False
) -> WorkDepth:
    """Of queries, keys and values; where the mask is, P is zero and so is all that follows."""
    values = matrix_product(keys, queries, features)
    scores = (
        matrix_product(queries, features, keys)
        .then(softmax.input_gradient(queries, keys))
        .then(elementwise(queries * keys))
    )
    both = matrix_product(queries, keys, features).beside(matrix_product(keys, queries, features))
    one = values.beside(scores.then(both))
    return one.copies(count("batch", batch) * count("heads", heads))
