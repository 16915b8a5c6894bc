"""Work and depth of a convolution: by its definition, as a matrix product, by frequencies.

Letters: batch N, channels C_in and C_out in G groups, a kernel K_h x K_w, outputs H' x W'; c(y, x)
windows over a pixel, L(n) = ceil(log2 n). Zeros of the padding get no gradient.
"""

from math import prod

from ddl_teach.theory.convolution_sizes import Convolution
from ddl_teach.theory.inputs import ceil_log2
from ddl_teach.theory.work_depth.counting import (
    Learning,
    WorkDepth,
    dot,
    elementwise,
    matrix_product,
    summation,
    tree_depth,
)
from ddl_teach.theory.work_depth.windows import overlaps


def positions(problem: Convolution) -> int:
    """How many places of the output there are in a plane."""
    return problem.output_height * problem.output_width


def kernels(problem: Convolution) -> int:
    """How many two-dimensional kernels there are."""
    return prod(problem.weight_shape[:2])


def bias_gradient(problem: Convolution) -> WorkDepth:
    """The gradient of the bias, equal for every method: each channel's gradients summed over batch
    and positions."""
    return summation(problem.batch * positions(problem)).copies(problem.out_channels)


def added_bias(problem: Convolution) -> WorkDepth:
    """What a bias adds to a method whose sum it cannot join: one addition for each output."""
    return elementwise(prod(problem.output_shape))


def _direct(problem: Convolution, bias: bool = False) -> WorkDepth:
    """Every output is a dot product; a bias joins the sum as one number more."""
    taps = prod(problem.weight_shape[1:])
    output = WorkDepth(2 * taps, 1 + tree_depth(taps + 1)) if bias else dot(taps)
    return output.copies(prod(problem.output_shape))


def _direct_inputs(problem: Convolution, bias: bool = False) -> WorkDepth:
    """The input gradient by sums: each pixel adds up one product from every window over it and
    every output channel."""
    ours = problem.out_channels // problem.groups
    return overlaps(problem, problem.batch * problem.in_channels, terms=ours, operations=1)


def _direct_parameters(problem: Convolution, bias: bool = False) -> WorkDepth:
    """Each weight sums over the batch and all positions; beside it the bias does the same."""
    taps = problem.kernel[0] * problem.kernel[1]
    weights = dot(problem.batch * positions(problem)).copies(kernels(problem) * taps)
    return weights.beside(bias_gradient(problem)) if bias else weights


direct = Learning(_direct, _direct_inputs, _direct_parameters)
"""A dot product of k = (C_in / G) K_h K_w numbers for each number of the output.

================ ==================================================== ======================
pass             work                                                 depth
================ ==================================================== ======================
forward          N C_out H' W' (2 k - 1)                              1 + L(k)
input gradient   N C_in (sum over pixels of 2 (C_out / G) c(y,x) - 1) 1 + L(max c C_out / G)
weight gradient  C_out k (2 N H' W' - 1)                              1 + L(N H' W')
bias gradient    C_out (N H' W' - 1)                                  L(N H' W')
================ ==================================================== ======================

What to look at: the weight gradient's sum runs over the batch *and all positions*, so it is the
deepest of the three.
"""


def _columns_folded(problem: Convolution, bias: bool = False) -> WorkDepth:
    """The gradient of the columns by a matrix product, then col2im: its sum over the windows."""
    taps = problem.in_channels * problem.kernel[0] * problem.kernel[1]
    ours = problem.out_channels // problem.groups
    columns = matrix_product(taps, ours, problem.batch * positions(problem))
    return columns.then(overlaps(problem, problem.batch * problem.in_channels))


im2col = Learning(_direct, _columns_folded, _direct_parameters)
"""Copy every window into a column, then multiply two matrices.

The forward pass and the weight gradient are the direct ones. The input gradient first has one for
every number of every column, then adds the columns up where they overlap (col2im):

    work   N H' W' C_in K_h K_w (2 C_out / G - 1)  +  N C_in (sum over pixels of c(y, x) - 1)
    depth  1 + L(C_out / G) + L(max c)

What to look at: with padding, gradients of zeros are computed and thrown away.
(Chellapilla, Puri & Simard 2006.)
"""


def points(problem: Convolution) -> tuple[int, int]:
    """Rows and columns of the transforms: the powers of two that hold the padded input."""
    rows, columns = (1 << ceil_log2(size) for size in problem.padded)
    return rows, columns


def _by_frequencies(
    problem: Convolution, there: int, summed: int, planes: int, kept: int
) -> WorkDepth:
    """Work and depth of one pass by transforms: `there` transforms, products that sum `summed`
    terms, and `planes` transforms back, of which `kept` numbers each are scaled."""
    rows, columns = points(problem)
    levels = ceil_log2(rows * columns)
    transform = WorkDepth(5 * rows * columns * levels, 3 * levels)
    product = WorkDepth(8 * summed - 2, 2 + tree_depth(summed)).copies(planes * rows * columns)
    back = transform.copies(planes)
    return transform.copies(there).then(product).then(back).then(elementwise(planes * kept))


def _fft(problem: Convolution, bias: bool = False) -> WorkDepth:
    """Spectra of input and kernels, products summed over input channels, and back."""
    ours, kept = problem.in_channels // problem.groups, problem.batch * problem.out_channels
    there = problem.batch * problem.in_channels + kernels(problem)
    convolved = _by_frequencies(problem, there, ours, kept, positions(problem))
    return convolved.then(added_bias(problem)) if bias else convolved


def _fft_inputs(problem: Convolution, bias: bool = False) -> WorkDepth:
    """Spectra of gradient and kernels, products summed over output channels, and back."""
    ours, kept = problem.out_channels // problem.groups, problem.batch * problem.in_channels
    there = problem.batch * problem.out_channels + kernels(problem)
    return _by_frequencies(problem, there, ours, kept, problem.height * problem.width)


def _fft_parameters(problem: Convolution, bias: bool = False) -> WorkDepth:
    """Spectra of input and gradient, products summed over the batch, and back."""
    there = problem.batch * (problem.in_channels + problem.out_channels)
    taps = problem.kernel[0] * problem.kernel[1]
    weights = _by_frequencies(problem, there, problem.batch, kernels(problem), taps)
    return weights.beside(bias_gradient(problem)) if bias else weights


fft = Learning(_fft, _fft_inputs, _fft_parameters)
"""Transform, multiply frequency by frequency, transform back: circular sums become products.

The planes are padded to F = F_h F_w points, powers of two that hold the padded input; a
two-dimensional radix-2 transform has (F / 2) log2 F butterflies, each one complex product (4
multiplications, 2 additions) and two complex additions:

    transform        5 F log2 F operations, depth 3 log2 F
    frequency        a complex dot product over the n summed channels: 8 n - 2, depth 2 + L(n)

Each pass has N C_in + N C_out + C_out C_in / G transforms: two kinds there, the third back, whose
kept numbers are scaled by 1 / F. That the numbers are real saves half of it in practice. What to
look at: the kernel's size is nowhere in it. (Cooley & Tukey 1965; Mathieu, Henaff & LeCun, "Fast
training of convolutional networks through FFTs", ICLR 2014.)
"""
