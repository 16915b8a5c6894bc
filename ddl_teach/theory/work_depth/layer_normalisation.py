"""Layer normalisation: each row's C features, made mean 0 and variance 1.

    forward, per row                    7 C + 2     depth 2 L(C) + 9
    input gradient, per row             8 C         depth L(C) + 6
    parameter gradient, per feature     3 R - 2     depth L(R) + 1, over R rows

It is batch normalisation turned by a quarter: sums run over the features of one example, so rows
do not wait for each other; only gamma and beta, one for each feature, sum over all rows. With v
the normalised numbers, r the inverse root and h = g gamma,

    dx = r (h - mean(h) - v mean(h v)),    dgamma = sum(g v),    dbeta = sum(g).

(Ba, Kiros & Hinton 2016.)
"""

from ddl_teach.theory.inputs import count
from ddl_teach.theory.work_depth import batch_normalisation
from ddl_teach.theory.work_depth.counting import WorkDepth, tree_depth


def forward(rows: int, features: int) -> WorkDepth:
    """Every row by itself, as a channel of batch normalisation."""
    return batch_normalisation.forward(rows, features)


def input_gradient(rows: int, features: int) -> WorkDepth:
    """gamma differs within a row, so it stands inside the sums."""
    return WorkDepth(8 * features, tree_depth(features) + 6).copies(count("rows", rows))


def parameter_gradient(rows: int, features: int) -> WorkDepth:
    """Two sums over the rows for each feature."""
    return batch_normalisation.parameter_gradient(features, rows)
