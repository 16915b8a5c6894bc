"""Batch normalisation: each channel's n = N H W numbers, made mean 0 and variance 1.

    forward, per channel             7 n + 2     depth 2 L(n) + 9
    input gradient, per channel      7 n + 1     depth L(n) + 5
    parameter gradient, per channel  3 n - 2     depth L(n) + 1

Forward: mean (n), differences (n), their squares (n), the variance (n), plus epsilon, one inverse
square root, then times that, times gamma, plus beta (3 n). Backwards, with v the normalised
numbers and r the inverse root, both kept,

    dx = gamma r (g - mean(g) - v mean(g v)),    dgamma = sum(g v),    dbeta = sum(g).

What to look at: two sums, one after the other, over the *whole batch*: no example is done before
all have come. Split over ranks, both become all-reduces. (Ioffe & Szegedy 2015.)
"""

from ddl_teach.theory.inputs import count
from ddl_teach.theory.work_depth.counting import WorkDepth, tree_depth


def forward(channels: int, elements: int) -> WorkDepth:
    """Training: statistics of this batch; `elements` is N H W, the numbers of one channel."""
    return _each(channels, WorkDepth(7 * elements + 2, 2 * tree_depth(elements) + 9))


def input_gradient(channels: int, elements: int) -> WorkDepth:
    """Through the mean and the variance too: every number depends on all of its channel."""
    return _each(channels, WorkDepth(7 * elements + 1, tree_depth(elements) + 5))


def parameter_gradient(channels: int, elements: int) -> WorkDepth:
    """Two sums over the channel, side by side, for gamma and beta."""
    return _each(channels, WorkDepth(3 * elements - 2, tree_depth(elements) + 1))


def _each(channels: int, one: WorkDepth) -> WorkDepth:
    return one.copies(count("channels", channels))
