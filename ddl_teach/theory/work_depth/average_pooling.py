"""Average pooling: the mean of each window. A window as large as the plane: global pooling.

With P planes (batch times channels), H' x W' windows of k = K_h K_w numbers, and c(y, x) windows
over a pixel:

    forward         P H' W' k                                              depth L(k) + 1
    input gradient  P H' W'  +  P sum over pixels of (c(y, x) - 1)         depth 1 + L(max c)

Zeros of the padding count in the mean, as other numbers do. Backwards each window divides its
gradient once; where windows overlap it is summed.
"""

from ddl_teach.theory.work_depth.counting import WorkDepth, elementwise, summation, tree_depth
from ddl_teach.theory.work_depth.windows import Pooling, of_pooling


@of_pooling
def forward(pool: Pooling) -> WorkDepth:
    """A sum for each window, times 1 / k."""
    mean = summation(pool.kernel[0] * pool.kernel[1]).then(elementwise(1))
    return mean.copies(pool.windows)


@of_pooling
def input_gradient(pool: Pooling) -> WorkDepth:
    """Each window's share, summed where windows overlap."""
    terms = pool.covering
    work = pool.planes * int((terms - 1).sum())
    overlaps = WorkDepth(work, tree_depth(int(terms.max(initial=1))))
    return elementwise(pool.windows).then(overlaps)
