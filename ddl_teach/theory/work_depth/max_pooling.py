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

from __future__ import annotations

from ddl_teach.theory.inputs import count
from ddl_teach.theory.work_depth.counting import NOTHING, WorkDepth, summation, tree_depth
from ddl_teach.theory.work_depth.windows import Pair, plane_coverage, window_count


def forward(
    planes: int,
    height: int,
    width: int,
    kernel: Pair = (2, 2),
    stride: Pair | None = None,
    padding: Pair = (0, 0),
) -> WorkDepth:
    """A tree of maxima for each window; unless told, windows stand side by side."""
    windows = window_count(height, width, kernel, stride, padding)
    return summation(kernel[0] * kernel[1]).copies(count("planes", planes) * windows)


def input_gradient(
    planes: int,
    height: int,
    width: int,
    kernel: Pair = (2, 2),
    stride: Pair | None = None,
    padding: Pair = (0, 0),
) -> WorkDepth:
    """To each pixel comes the gradient of those windows of which it is the maximum."""
    covering = plane_coverage((height, width), kernel, stride or kernel, padding)
    terms = covering[covering > 0]
    if not terms.size:
        return NOTHING
    work = count("planes", planes) * int((3 * terms - 1).sum())
    return WorkDepth(work, 2 + tree_depth(int(terms.max())))
