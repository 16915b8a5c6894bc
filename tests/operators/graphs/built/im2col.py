"""Graphs of im2col: the windows are copied into columns, then matrices are multiplied.

Copies are no nodes, so forward pass and weight gradient are the same graphs as the direct ones.
The input gradient has a node for each number of each column, and folds them after that.
"""

from __future__ import annotations

import numpy as np
from operators.graphs.built import direct
from operators.graphs.built.windows import fold

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.graph import OperationGraph
from ddl_teach.theory.convolution_sizes import Convolution

forward = direct.forward
parameter_gradient = direct.parameter_gradient


def input_gradient(problem: Convolution, bias: bool = False) -> OperationGraph:
    """gradient, weight -> dx."""
    build = Builder()
    gradient = direct.grouped_gradient(build, problem)
    weight = direct.grouped_weight(build, problem)
    # (batch, group, out, channels, rows, columns, kernel), summed over the outputs' channels
    weight = np.expand_dims(weight, (3, 4))
    columns = build.dot(gradient[:, :, :, None, :, :, None, None], weight, axes=2)
    size = problem.height, problem.width
    folded = fold(build, columns, size, problem.kernel, problem.stride, problem.padding)
    return build.graph(dx=direct.merged(folded))
