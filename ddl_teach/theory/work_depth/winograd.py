"""Winograd's convolution F(m x m, r x r): tiles of m + r - 1 numbers to a side.

A tile of t x t inputs, t = m + r - 1, gives m x m outputs by t^2 products, not m^2 r^2. The price
is three small transforms with fixed matrices (data t x t, kernel t x r, output m x t):

    Y = A^T [ (G g G^T) * (B^T d B), summed over input channels ] A

With T = ceil(H'/m) ceil(W'/m) tiles and the transforms' works w_d, w_k, w_o:

    forward    N C_in T w_d + (C_out C_in / G) w_k + N C_out T (t^2 (2 C_in / G - 1) + w_o)

A zero in a matrix costs nothing, a one or minus one no multiplication. The input gradient is a
forward pass over the gradient with turned kernels; the weight gradient is G^T [ (B^T d B) *
(A g A^T), summed over batch and tiles ] G. Transformed entries are ready at different times, so
depths are followed level by level. What to look at: t^2 products for m^2 outputs. The direct one
has 9 an output, F(2,3) has 4, F(4,3) has 2.25, but the transforms grow. (Winograd 1980; Lavin &
Gray, "Fast algorithms for convolutional neural networks", CVPR 2016.)
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ddl_teach.theory.convolution_sizes import Convolution
from ddl_teach.theory.inputs import ceil_log2
from ddl_teach.theory.work_depth.convolution import added_bias, bias_gradient, kernels
from ddl_teach.theory.work_depth.counting import WorkDepth

Transforms = Sequence[np.ndarray]
"""The matrices (data, kernel, output): t x t, t x r and m x t."""


class TransformStage(NamedTuple):
    """Work so far, and from which level on each number of a tile is ready."""

    work: int
    ready: np.ndarray


def forward(problem: Convolution, transforms: Transforms, bias: bool = False) -> WorkDepth:
    """Transform tiles and kernels, multiply and sum over input channels, transform back."""
    tiles = _tiles(problem.output_height, problem.output_width, problem, transforms)
    channels = problem.in_channels, problem.out_channels
    tiled = _convolved(problem.batch * tiles, *channels, problem, transforms)
    depth = int(tiled.ready.max())
    if not bias:
        return WorkDepth(tiled.work, depth)
    # Of a tile that reaches over the border some numbers are thrown away, and get no bias.
    kept = tiled.ready[: problem.output_height, : problem.output_width]
    return WorkDepth(tiled.work + added_bias(problem).work, max(depth, int(kept.max()) + 1))


def input_gradient(problem: Convolution, transforms: Transforms, bias: bool = False) -> WorkDepth:
    """Winograd's method on the gradient: channels change places, and outputs are the input's
    pixels."""
    tiles = _tiles(problem.height, problem.width, problem, transforms)
    channels = problem.out_channels, problem.in_channels
    tiled = _convolved(problem.batch * tiles, *channels, problem, transforms)
    return WorkDepth(tiled.work, int(tiled.ready.max()))


def parameter_gradient(
    problem: Convolution, transforms: Transforms, bias: bool = False
) -> WorkDepth:
    """Transform tiles of input and gradient, multiply and sum over batch and tiles, and back."""
    data, kernel, output = transforms
    tiles = _tiles(problem.output_height, problem.output_width, problem, transforms)
    summed = problem.batch * tiles
    inputs, gradients = transformed(data), transformed(output.T)
    product = _product(inputs.ready, gradients.ready, summed)
    back = transformed(kernel.T, product.ready)
    work = summed * (
        problem.in_channels * inputs.work + problem.out_channels * gradients.work
    ) + kernels(problem) * (product.work + back.work)
    weights = WorkDepth(work, int(back.ready.max()))
    return weights.beside(bias_gradient(problem)) if bias else weights


def transformed(matrix: np.ndarray, ready: np.ndarray | None = None) -> TransformStage:
    """M X M^T for a tile X, `ready` at once or at these levels: what it costs, and when each
    number of the result is there."""
    if ready is None:
        ready = np.zeros((matrix.shape[1],) * 2, int)
    first = _rows_combined(matrix, ready)
    second = _rows_combined(matrix, first.ready.T)
    return TransformStage(first.work + second.work, second.ready.T)


def _rows_combined(matrix: np.ndarray, ready: np.ndarray) -> TransformStage:
    """M X: each row of M weighs the rows of X; a number joins the sum when it is there."""
    result, work = np.zeros((len(matrix), ready.shape[1]), int), 0
    for place, weights in enumerate(matrix):
        used = np.flatnonzero(weights)
        multiplied = np.abs(weights[used]) != 1
        # A sum that begins with a minus needs one operation more, to turn its sign.
        turned = bool(len(used)) and bool((weights[used] == -1).all())
        each = int(multiplied.sum()) + max(len(used) - 1, 0) + turned
        work += each * ready.shape[1]
        for column, levels in enumerate((ready[used] + multiplied[:, None]).T):
            # An empty sum is a zero, and costs nothing.
            summed = ceil_log2(sum(1 << int(level) for level in levels)) if len(used) else 0
            result[place, column] = summed + turned
    return TransformStage(work, result)


def _product(first: np.ndarray, other: np.ndarray, summed: int) -> TransformStage:
    """Entry by entry a dot product of `summed` numbers; a factor counts from when it is ready."""
    ready = np.maximum(first, other) + 1 + ceil_log2(summed)
    return TransformStage(ready.size * (2 * summed - 1), ready)


def _convolved(
    tiles: int, channels_in: int, channels_out: int, problem: Convolution, transforms: Transforms
) -> TransformStage:
    data, kernel, output = transforms
    inputs, weights = transformed(data), transformed(kernel)
    product = _product(inputs.ready, weights.ready, channels_in // problem.groups)
    back = transformed(output, product.ready)
    work = (
        tiles * channels_in * inputs.work
        + kernels(problem) * weights.work
        + tiles * channels_out * (product.work + back.work)
    )
    return TransformStage(work, back.ready)


def _tiles(height: int, width: int, problem: Convolution, transforms: Transforms) -> int:
    """How many tiles cover a plane of outputs; the matrices must fit kernel and stride."""
    data, kernel, output = transforms
    taps, outputs = kernel.shape[1], len(output)
    shapes = (taps + outputs - 1,) * 2
    if data.shape != shapes or kernel.shape[0] != shapes[0] or output.shape[1] != shapes[0]:
        raise ValueError(
            f"transforms: for {outputs} outputs and {taps} taps the matrices must be "
            f"{shapes[0]} x {shapes[0]}, {shapes[0]} x {taps} and {outputs} x {shapes[0]}, not "
            + ", ".join(" x ".join(map(str, np.shape(matrix))) for matrix in transforms)
        )
    if problem.kernel != (taps, taps) or problem.stride != (1, 1):
        raise ValueError(
            f"problem: these transforms are for kernels {taps} x {taps} that move by 1, not "
            f"{problem.kernel} by {problem.stride}; take another method"
        )
    return -(-height // outputs) * -(-width // outputs)
