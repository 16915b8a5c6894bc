"""im2col: copy every window into a column, then multiply two matrices.

Copies are no operations, so the forward pass and the weight gradient are the direct ones to the
digit: what im2col buys is a fast matrix product, and what it costs is memory. Only the input
gradient differs. It first has a gradient for every number of every column, N H' W' C_in K_h K_w
dot products over C_out / G, then adds the columns up where they overlap (col2im):

    work   N H' W' C_in K_h K_w (2 C_out / G - 1)  +  N C_in (sum over pixels of c(y, x) - 1)
    depth  1 + L(C_out / G) + L(max c)

What to look at: without padding that is the direct work in another order, with a depth that is
larger by one at most; with padding, gradients of zeros are computed and thrown away.
(Chellapilla, Puri & Simard 2006.)
"""

from ddl_teach.theory.convolution_tiles import Shape
from ddl_teach.theory.work_depth import direct
from ddl_teach.theory.work_depth.counting import NOTHING, WorkDepth, matrix_product, tree_depth
from ddl_teach.theory.work_depth.windows import pixel_coverage

forward = direct.forward
parameter_gradient = direct.parameter_gradient


def input_gradient(problem: Shape, bias: bool = False) -> WorkDepth:
    """The gradient of the columns by a matrix product, then its sum over the windows."""
    taps = problem.in_channels * problem.kernel[0] * problem.kernel[1]
    columns = matrix_product(
        taps, problem.out_channels // problem.groups, problem.batch * direct.positions(problem)
    )
    return columns.then(folded(problem))


def folded(problem: Shape) -> WorkDepth:
    """col2im: each pixel is the sum of the windows over it."""
    covering = pixel_coverage(problem)
    terms = covering[covering > 0]
    if not terms.size:
        return NOTHING
    planes = problem.batch * problem.in_channels
    return WorkDepth(planes * int((terms - 1).sum()), tree_depth(int(terms.max())))
