"""Average pooling: the mean of each window. A window as large as the plane: global pooling.

With P planes (batch times channels), H' x W' windows of k = K_h K_w numbers, and c(y, x) windows
over a pixel:

    forward         P H' W' k                                              depth L(k) + 1
    input gradient  P H' W'  +  P sum over pixels of (c(y, x) - 1)         depth 1 + L(max c)

Zeros of the padding count in the mean, as other numbers do. Backwards each window divides its
gradient once; where windows overlap it is summed.
"""

from __future__ import annotations

from ddl_teach.theory.inputs import count
from ddl_teach.theory.work_depth.counting import WorkDepth, elementwise, summation, tree_depth
from ddl_teach.theory.work_depth.windows import Pair, plane_coverage, window_count


def forward(
    planes: int,
    height: int,
    width: int,
    kernel: Pair = (2, 2),
    stride: Pair | None = None,
    padding: Pair = (0, 0),
) -> WorkDepth:
    """A sum for each window, times 1 / k; unless told, windows stand side by side."""
    windows = window_count(height, width, kernel, stride, padding)
    mean = summation(kernel[0] * kernel[1]).then(elementwise(1))
    return mean.copies(count("planes", planes) * windows)


def input_gradient(
    planes: int,
    height: int,
    width: int,
    kernel: Pair = (2, 2),
    stride: Pair | None = None,
    padding: Pair = (0, 0),
) -> WorkDepth:
    """Each window's share, summed where windows overlap."""
    windows = window_count(height, width, kernel, stride, padding)
    covering = plane_coverage((height, width), kernel, stride or kernel, padding)
    terms = covering[covering > 0]
    shares = elementwise(count("planes", planes) * windows)
    overlaps = WorkDepth(planes * int((terms - 1).sum()), tree_depth(int(terms.max(initial=1))))
    return shares.then(overlaps)
