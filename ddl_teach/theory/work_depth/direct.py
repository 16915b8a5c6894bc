"""Direct convolution: a dot product of C_in K_h K_w numbers for each number of the output.

With batch N, channels C_in and C_out in G groups, a kernel K_h x K_w, outputs H' x W',
c(y, x) windows over a pixel, L(n) = ceil(log2 n), and k = (C_in / G) K_h K_w:

================ ==================================================== ======================
pass             work                                                 depth
================ ==================================================== ======================
forward          N C_out H' W' (2 k - 1)                              1 + L(k)
input gradient   N C_in (sum over pixels of 2 (C_out / G) c(y,x) - 1) 1 + L(max c C_out / G)
weight gradient  C_out k (2 N H' W' - 1)                              1 + L(N H' W')
bias gradient    C_out (N H' W' - 1)                                  L(N H' W')
================ ==================================================== ======================

A pixel under no window costs nothing. Zeros of the padding are multiplied as other numbers are,
but get no gradient. What to look at: the weight gradient's sum runs over the batch *and all
positions*, so it is the deepest of the three, and the least parallel one in shallow layers of few
weights.
"""

from ddl_teach.theory.convolution_tiles import Shape
from ddl_teach.theory.work_depth.counting import (
    NOTHING,
    WorkDepth,
    dot,
    elementwise,
    summation,
    tree_depth,
)
from ddl_teach.theory.work_depth.windows import pixel_coverage


def forward(problem: Shape, bias: bool = False) -> WorkDepth:
    """Every output is a dot product; a bias joins the sum as one number more."""
    taps = problem.in_channels // problem.groups * problem.kernel[0] * problem.kernel[1]
    one = WorkDepth(2 * taps, 1 + tree_depth(taps + 1)) if bias else dot(taps)
    return one.copies(problem.batch * problem.out_channels * positions(problem))


def input_gradient(problem: Shape, bias: bool = False) -> WorkDepth:
    """To each pixel comes what every window over it sends back, from every output channel."""
    covering = pixel_coverage(problem)
    terms = covering[covering > 0] * (problem.out_channels // problem.groups)
    if not terms.size:
        return NOTHING
    planes = problem.batch * problem.in_channels
    return WorkDepth(planes * int((2 * terms - 1).sum()), 1 + tree_depth(int(terms.max())))


def parameter_gradient(problem: Shape, bias: bool = False) -> WorkDepth:
    """Each weight sums over the batch and all positions; beside it the bias does the same."""
    taps = problem.in_channels // problem.groups * problem.kernel[0] * problem.kernel[1]
    weights = dot(problem.batch * positions(problem)).copies(problem.out_channels * taps)
    return weights.beside(bias_gradient(problem)) if bias else weights


def bias_gradient(problem: Shape) -> WorkDepth:
    """The same for every method: each channel's gradients summed over batch and positions."""
    return summation(problem.batch * positions(problem)).copies(problem.out_channels)


def positions(problem: Shape) -> int:
    """How many places of the output there are in a plane."""
    return problem.output_height * problem.output_width


def added_bias(problem: Shape) -> WorkDepth:
    """What a bias adds to a method whose sum it cannot join: one addition for each output."""
    return elementwise(problem.batch * problem.out_channels * positions(problem))
