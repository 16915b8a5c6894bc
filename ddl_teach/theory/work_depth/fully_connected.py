"""A fully connected layer, y = x W + b: three matrix products.

With batch N, inputs C_in, outputs C_out and L(n) = ceil(log2 n):

================== ============================= ==================== =====================
pass               work                          depth                it sums over
================== ============================= ==================== =====================
forward            N C_out (2 C_in - 1 + 1)      1 + L(C_in + 1)      inputs, and the bias
input gradient     N C_in (2 C_out - 1)          1 + L(C_out)         outputs
weight gradient    C_in C_out (2 N - 1)          1 + L(N)             the batch
bias gradient      C_out (N - 1)                 L(N)                 the batch
================== ============================= ==================== =====================

All three do about 2 N C_in C_out operations. What to look at: the depth of each is the logarithm
of *its own* sum; of the input gradient that is the outputs, not the inputs. (Ben-Nun & Hoefler
2019, table 4.)
"""

from ddl_teach.theory.work_depth.counting import (
    WorkDepth,
    counts,
    matrix_product,
    summation,
    tree_depth,
)


def forward(batch: int, inputs: int, outputs: int, bias: bool = True) -> WorkDepth:
    """y = x W + b, where b joins the sum as one number more."""
    if not bias:
        return matrix_product(batch, inputs, outputs)
    counts(batch=batch, inputs=inputs, outputs=outputs)
    return WorkDepth(2 * batch * inputs * outputs, 1 + tree_depth(inputs + 1))


def input_gradient(batch: int, inputs: int, outputs: int, bias: bool = True) -> WorkDepth:
    """g W^T: to each input comes what all outputs send back."""
    return matrix_product(batch, outputs, inputs)


def parameter_gradient(batch: int, inputs: int, outputs: int, bias: bool = True) -> WorkDepth:
    """x^T g for the weights, and beside it the sum of g over the batch for the bias."""
    weights = matrix_product(inputs, batch, outputs)
    return weights.beside(summation(batch).copies(outputs)) if bias else weights
