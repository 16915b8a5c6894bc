"""Max pooling: the largest number of each window.

With P planes (batch times channels), H' x W' windows of k = K_h K_w numbers, and c(y, x) windows
over a pixel:

    forward         P H' W' (k - 1)                              depth L(k)
    input gradient  P sum over pixels of (3 c(y, x) - 1)         depth 2 + L(max c)

Backwards every window compares each of its numbers with its maximum and hands the gradient to
those that are equal (in real numbers, to one): a comparison and a choice for each, then a sum
where windows overlap. There is nothing to learn in it, so there is no parameter gradient. What to
look at: three operations a number, almost no depth: pooling is cheap to compute, and waits for
memory.
"""

from ddl_teach.theory.inputs import count
from ddl_teach.theory.work_depth.counting import NOTHING, WorkDepth, summation, tree_depth
from ddl_teach.theory.work_depth.windows import Pooling, of_pooling


@of_pooling
def forward(pool: Pooling) -> WorkDepth:
    """A tree of maxima for each window."""
    return summation(pool.kernel[0] * pool.kernel[1]).copies(pool.windows)


@of_pooling
def input_gradient(pool: Pooling) -> WorkDepth:
    """To each pixel comes the gradient of those windows of which it is the maximum."""
    terms = pool.covering
    if not terms.size:
        return NOTHING
    work = count("planes", pool.planes) * int((3 * terms - 1).sum())
    return WorkDepth(work, 2 + tree_depth(int(terms.max())))
