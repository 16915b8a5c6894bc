"""The puzzle of unit 01: a training step to be scheduled, and how a schedule of it is carried out.

A network of two modules, each with three branches. After the loss each layer has two operations:
the gradient of its input, which the layer before needs, and that of its weights.
"""

from collections.abc import Sequence

import numpy as np

from ddl_teach.operators.graphs.schedule import OperationSchedule

PROCESSORS = 3
HAND_OVER = 2  # seconds until a result is there on another processor
MODULES: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((2,), (2, 3), (3, 2, 4)),
    ((3,), (2, 4), (4, 3, 2)),
)  # forward seconds, by branches


class Stuck(Exception):
    """Processors that wait for each other: the operation that each of them cannot begin."""

    def __init__(self, waiting: dict[int, int]) -> None:
        super().__init__(
            f"no processor can go on; each should begin {waiting}: the check says why"
        )
        self.waiting = waiting


def _written_down() -> tuple[list[str], list[list[int]], list[int]]:
    """Kinds, predecessors and seconds of all operations: forward, then backward."""
    kinds, predecessors, lengths = list[str](), list[list[int]](), list[int]()

    def add(kind: str, seconds: int, *before: int) -> int:
        """The number of a new operation."""
        kinds.append(kind)
        lengths.append(seconds)
        predecessors.append([*before])
        return len(kinds) - 1

    forward, arrived = [], list[int]()
    for module in MODULES:
        branches = []
        for branch in module:
            last, layers = arrived, list[int]()
            for seconds in branch:
                last = [add("F", seconds, *last)]
                layers += last
            branches.append(layers)
        forward.append(branches)
        arrived = [add("J", 1, *(layers[-1] for layers in branches))]
    gradient = add("L", 1, *arrived)
    for module, branches in zip(MODULES[::-1], forward[::-1], strict=True):
        ends = []
        for branch, layers in zip(module, branches, strict=True):
            above = gradient
            for seconds, layer in zip(branch[::-1], layers[::-1], strict=True):
                add("W", seconds, above, layer)
                above = add("I", seconds, above, layer)
            ends.append(above)
        if module is not MODULES[0]:
            gradient = add("J", 1, *ends)
    return kinds, predecessors, lengths


# F: forward; I, W: the gradients of a layer's input and weights; J: branches meet; L: the loss.
KINDS, PREDECESSORS, SECONDS = _written_down()


def carried_out(rows: Sequence[Sequence[int]]) -> OperationSchedule:
    """Let each processor do its row in order, each operation as soon as what it needs is there."""
    processor = {operation: place for place, row in enumerate(rows) for operation in row}
    start, ended, free = np.zeros(len(KINDS)), dict[int, float](), [0.0] * len(rows)
    left = [list(row) for row in rows]
    while any(left):
        ready = [
            place
            for place, row in enumerate(left)
            if row and all(before in ended for before in PREDECESSORS[row[0]])
        ]
        if not ready:
            raise Stuck({place: row[0] for place, row in enumerate(left) if row})
        for place in ready:
            operation = left[place].pop(0)
            arrivals = [
                ended[before] + HAND_OVER * (processor[before] != place)
                for before in PREDECESSORS[operation]
            ]
            start[operation] = max([free[place], *arrivals])
            ended[operation] = free[place] = start[operation] + SECONDS[operation]
    seats = np.array([processor[operation] for operation in range(len(KINDS))])
    return OperationSchedule(start, np.array(SECONDS, float), seats, len(rows))
