"""An operation graph: nodes are numbers, and each names the one or two it is computed from.

Node k is computed by `OPERATIONS[operation[k]]` from nodes `left[k]` and `right[k]`, which come
before it; -1 stands for none. Inputs and constants cost nothing. Work is the number of operations;
the level of a node is one more than that of the latest it needs, and depth the highest level. What
to look at: `width`, how many operations each level has: enough processors do a level in a step.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
from scipy import special

from ddl_teach.theory.work_depth.counting import WorkDepth

GIVEN = "given"
NOT_AN_OPERATION = -1

OPERATIONS: Mapping[str, Callable[..., np.ndarray] | None] = MappingProxyType(
    {
        GIVEN: None,
        "add": np.add,
        "subtract": np.subtract,
        "multiply": np.multiply,
        "divide": np.divide,
        "maximum": np.maximum,
        "negative": np.negative,
        "equal": lambda a, b: (a == b).astype(float),
        # A choice: the first number where the second is positive, else nothing.
        "where_positive": lambda a, b: np.where(b > 0, a, 0.0),
        "exp": np.exp,
        "tanh": np.tanh,
        "sigmoid": special.expit,
        "erf": special.erf,
        "inverse_root": lambda a: 1 / np.sqrt(a),
    }
)
CODES = MappingProxyType({name: code for code, name in enumerate(OPERATIONS)})
NAMES = tuple(OPERATIONS)


@dataclass(frozen=True)
class OperationGraph:
    """The operations of one pass; `inputs` and `outputs` are arrays of nodes by name."""

    operation: np.ndarray
    left: np.ndarray
    right: np.ndarray
    level: np.ndarray
    constant: np.ndarray  # the numbers of constants; what other nodes have there means nothing
    inputs: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]

    @property
    def work(self) -> int:
        return int(np.count_nonzero(self.operation))

    @property
    def depth(self) -> int:
        return int(self.level.max(initial=0))

    @property
    def counted(self) -> WorkDepth:
        return WorkDepth(self.work, self.depth)

    @cached_property
    def width(self) -> np.ndarray:
        """How many operations stand on each level, the first level first."""
        return np.bincount(self.level, minlength=1)[1:]

    def predecessors(self) -> list[list[int]]:
        """For each operation, numbered from 0 on, those it waits for: what a scheduler needs."""
        chosen = np.flatnonzero(self.operation)
        # Given numbers, and the operand that there is not (node -1, the last place), get a -1.
        number = np.full(len(self.operation) + 1, NOT_AN_OPERATION)
        number[chosen] = np.arange(len(chosen))
        left, right = number[self.left[chosen]], number[self.right[chosen]]
        right[right == left] = NOT_AN_OPERATION
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        return [[node for node in pair if node >= 0] for pair in pairs]

    def names(self) -> list[str]:
        """What each operation does, in the order of `predecessors`."""
        return [NAMES[code] for code in self.operation if code]

    def evaluate(self, **arrays: np.ndarray) -> dict[str, np.ndarray]:
        """The outputs for these inputs, level by level, as on one processor for each operation."""
        value = self.constant.copy()
        if set(arrays) != set(self.inputs):
            names, given = ", ".join(self.inputs), ", ".join(arrays)
            raise ValueError(f"this graph's inputs are {names}, but {given} were given")
        for name, nodes in self.inputs.items():
            shape = np.shape(arrays[name])
            if shape != nodes.shape:
                raise ValueError(f"{name} has shape {shape}, but the graph is for {nodes.shape}")
            value[nodes] = arrays[name]
        # Within a level no node waits for another: all nodes of one kind at once.
        order = np.lexsort((self.operation, self.level))
        order = order[self.operation[order] > 0]
        kinds = self.level[order].astype(np.int64) * len(NAMES) + self.operation[order]
        for nodes in np.split(order, np.flatnonzero(np.diff(kinds)) + 1):
            if not len(nodes):
                break
            function = OPERATIONS[NAMES[self.operation[nodes[0]]]]
            operands = [value[self.left[nodes]]]
            if self.right[nodes[0]] >= 0:
                operands.append(value[self.right[nodes]])
            value[nodes] = function(*operands)
        return {name: value[nodes] for name, nodes in self.outputs.items()}
