"""Convolution by FFT: transform, multiply frequency by frequency, transform back.

Circular sums become products of frequencies. The planes are padded to F = F_h F_w points, powers
of two that hold the padded input; a two-dimensional radix-2 transform has (F / 2) log2 F
butterflies, each one complex product (4 multiplications, 2 additions) and two complex additions:

    transform        5 F log2 F operations, depth 3 log2 F
    frequency        a complex dot product over the summed channels: 8 n - 2, depth 2 + L(n)

================ =========== ================ ===============
pass             sums over n frequencies      scaled by 1 / F
================ =========== ================ ===============
forward          C_in / G    N C_out F        N C_out H' W'
input gradient   C_out / G   N C_in F         N C_in H W
weight gradient  N           C_out C_in / G F all weights
================ =========== ================ ===============

Each pass has N C_in + N C_out + C_out C_in / G transforms: two kinds there, the third back.

Whole complex transforms are counted, as a textbook writes them; that the numbers are real saves
half of it in practice. What to look at: the kernel's size is nowhere in it. (Cooley & Tukey 1965;
Mathieu, Henaff & LeCun, "Fast training of convolutional networks through FFTs", ICLR 2014.)
"""

from ddl_teach.theory.convolution_tiles import Shape
from ddl_teach.theory.inputs import ceil_log2
from ddl_teach.theory.work_depth.counting import WorkDepth, elementwise, tree_depth
from ddl_teach.theory.work_depth.direct import added_bias, bias_gradient, positions


def forward(problem: Shape, bias: bool = False) -> WorkDepth:
    """Spectra of input and kernels, products summed over input channels, and back."""
    ours = problem.in_channels // problem.groups
    kept = problem.batch * problem.out_channels
    there = transform(problem).copies(problem.batch * problem.in_channels + kernels(problem))
    convolved = _and_back(problem, there, ours, kept, positions(problem))
    return convolved.then(added_bias(problem)) if bias else convolved


def input_gradient(problem: Shape, bias: bool = False) -> WorkDepth:
    """Spectra of gradient and kernels, products summed over output channels, and back."""
    ours = problem.out_channels // problem.groups
    kept = problem.batch * problem.in_channels
    there = transform(problem).copies(problem.batch * problem.out_channels + kernels(problem))
    return _and_back(problem, there, ours, kept, problem.height * problem.width)


def parameter_gradient(problem: Shape, bias: bool = False) -> WorkDepth:
    """Spectra of input and gradient, products summed over the batch, and back."""
    planes = problem.batch * (problem.in_channels + problem.out_channels)
    there = transform(problem).copies(planes)
    taps = problem.kernel[0] * problem.kernel[1]
    weights = _and_back(problem, there, problem.batch, kernels(problem), taps)
    return weights.beside(bias_gradient(problem)) if bias else weights


def points(problem: Shape) -> tuple[int, int]:
    """Rows and columns of the transforms: the powers of two that hold the padded input."""
    sizes = zip((problem.height, problem.width), problem.padding, strict=True)
    rows, columns = (1 << ceil_log2(size + 2 * padding) for size, padding in sizes)
    return rows, columns


def transform(problem: Shape) -> WorkDepth:
    """One transform of a plane, in either direction: 5 F log2 F, depth 3 log2 F."""
    rows, columns = points(problem)
    levels = ceil_log2(rows * columns)
    return WorkDepth(5 * rows * columns * levels, 3 * levels)


def kernels(problem: Shape) -> int:
    """How many two-dimensional kernels there are."""
    return problem.out_channels * problem.in_channels // problem.groups


def _and_back(problem: Shape, there: WorkDepth, summed: int, planes: int, kept: int) -> WorkDepth:
    """From spectra to results: `planes` of which `kept` numbers each are scaled by 1 / F."""
    rows, columns = points(problem)
    product = WorkDepth(8 * summed - 2, 2 + tree_depth(summed)).copies(planes * rows * columns)
    back = transform(problem).copies(planes)
    return there.then(product).then(back).then(elementwise(planes * kept))
