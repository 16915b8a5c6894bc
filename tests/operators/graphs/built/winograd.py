"""Graphs of Winograd's convolution: three small transforms around products of whole tiles.

`transforms` are the matrices (data, kernel, output) of
`ddl_teach.operators.convolution.winograd_matrices.matrices(outputs, taps)`.
"""

from __future__ import annotations

import heapq

import numpy as np
from operators.graphs.built import direct
from operators.graphs.built.windows import Pair, cut

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.graph import OperationGraph
from ddl_teach.theory.convolution_sizes import Convolution
from ddl_teach.theory.work_depth.winograd import Transforms


def forward(problem: Convolution, transforms: Transforms, bias: bool = False) -> OperationGraph:
    """x, weight, bias -> y."""
    build = Builder()
    x = build.input("x", problem.batch, problem.in_channels, problem.height, problem.width)
    x = x.reshape(problem.batch, problem.groups, -1, *x.shape[2:])
    weight = direct.grouped_weight(build, problem)
    size = problem.output_height, problem.output_width
    y = direct.merged(_correlate(build, x, weight, problem.padding, size, transforms))
    if bias:
        y = build.add(y, build.input("bias", problem.out_channels)[:, None, None])
    return build.graph(y=y)


def input_gradient(
    problem: Convolution, transforms: Transforms, bias: bool = False
) -> OperationGraph:
    """gradient, weight -> dx: the gradient under kernels turned by half a circle."""
    build = Builder()
    gradient = direct.grouped_gradient(build, problem)
    turned = direct.grouped_weight(build, problem).swapaxes(1, 2)[..., ::-1, ::-1]
    border = [
        taps - 1 - space for taps, space in zip(problem.kernel, problem.padding, strict=True)
    ]
    size = problem.height, problem.width
    return build.graph(
        dx=direct.merged(_correlate(build, gradient, turned, border, size, transforms))
    )


def parameter_gradient(
    problem: Convolution, transforms: Transforms, bias: bool = False
) -> OperationGraph:
    """x, gradient -> dweight, dbias: the forward pass, transposed."""
    build = Builder()
    data, kernel, output = transforms
    x = build.input("x", problem.batch, problem.in_channels, problem.height, problem.width)
    x = x.reshape(problem.batch, problem.groups, -1, *x.shape[2:])
    given = direct.grouped_gradient(build, problem)
    grid = _grid((problem.output_height, problem.output_width), len(output))
    tiles = _transform(build, data, _cut(build, x, problem.padding, grid, len(data), len(output)))
    blocks = _cut(build, given, (0, 0), grid, len(output), len(output))
    blocks = _transform(build, output.T, blocks)
    # (tile, tile, batch, group, out, channels, tiles down, tiles across)
    products = build.dot(tiles[:, :, :, :, None], blocks[:, :, :, :, :, None], axes=(2, 6, 7))
    dweight = np.moveaxis(_transform(build, kernel.T, products), (0, 1), (-2, -1))
    dweight = dweight.reshape(problem.out_channels, -1, *problem.kernel)
    return build.graph(dweight=dweight, **direct.bias_gradient(build, given, bias))


def _correlate(
    build: Builder,
    x: np.ndarray,
    weight: np.ndarray,
    padding: Pair,
    size: Pair,
    transforms: Transforms,
) -> np.ndarray:
    """(batch, group, channels, ...) with (group, out, channels, ...): outputs of this size."""
    data, kernel, output = transforms
    grid = _grid(size, len(output))
    tiles = _transform(build, data, _cut(build, x, padding, grid, len(data), len(output)))
    filters = _transform(build, kernel, np.moveaxis(weight, (-2, -1), (0, 1)))
    # (tile, tile, batch, group, out, channels, tiles down, tiles across)
    filters = filters[:, :, None, ..., None, None]
    products = build.dot(tiles[:, :, :, :, None], filters, axes=5)
    results = _transform(build, output, products)
    # From (m, m, ..., down, across) to (..., down, m, across, m).
    results = np.moveaxis(results, (0, 1), (-3, -1))
    whole = results.reshape(*results.shape[:3], grid[0] * len(output), -1)
    return whole[..., : size[0], : size[1]]


def _grid(size: Pair, outputs: int) -> tuple[int, int]:
    """How many tiles go down and across."""
    return -(-size[0] // outputs), -(-size[1] // outputs)


def _cut(
    build: Builder, planes: np.ndarray, padding: Pair, grid: Pair, length: int, step: int
) -> np.ndarray:
    """Tiles of `length` numbers to a side, `step` apart: (length, length, ..., down, across)."""
    nothing = int(build.constant(0.0))
    for axis, space, count in zip((-2, -1), padding, grid, strict=True):
        # More padding than the kernel reaches over: such rows of the gradient matter to nobody.
        planes = np.take(planes, range(max(-space, 0), planes.shape[axis]), axis)
        room = [(0, 0)] * planes.ndim
        after = (count - 1) * step + length - max(space, 0) - planes.shape[axis]
        room[axis] = (max(space, 0), max(after, 0))
        planes = np.pad(planes, room, constant_values=nothing)
    return np.moveaxis(cut(planes, (length, length), (step, step)), (-2, -1), (0, 1))[
        ..., : grid[0], : grid[1]
    ]


def _transform(build: Builder, matrix: np.ndarray, tiles: np.ndarray) -> np.ndarray:
    """M X M^T; entry by entry, because each is ready at its own time."""
    columns = [combine(build, matrix, tiles[:, place]) for place in range(tiles.shape[1])]
    rows = np.stack(columns, axis=1)
    return np.stack([combine(build, matrix, row) for row in rows])


def combine(build: Builder, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """A fixed matrix times rows of nodes: zeros cost nothing, ones and minus ones no product.

    A minus sign moves along with its term until it meets another one; only a sum that is all minus
    needs an operation to turn its sign.
    """
    return np.stack([_combined(build, row, rows) for row in weights])


def _combined(build: Builder, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    ready = []
    for place, (weight, row) in enumerate(zip(weights, rows, strict=True)):
        if weight:
            plain = abs(weight) == 1
            term = row if plain else build.scale(row, float(weight))
            ready.append((build.level(term), place, plain and weight < 0, term))
    if not ready:
        return build.constant(np.zeros(rows.shape[1:]))
    heapq.heapify(ready)
    for place in range(len(weights), len(weights) + len(ready) - 1):
        (_, _, minus, one), (_, _, other_minus, other) = heapq.heappop(ready), heapq.heappop(ready)
        if minus == other_minus:
            both = build.add(one, other)
        else:
            both = build.subtract(other, one) if minus else build.subtract(one, other)
            minus = False
        heapq.heappush(ready, (build.level(both), place, minus, both))
    ((_, _, minus, result),) = ready
    return build.operate("negative", result) if minus else result
