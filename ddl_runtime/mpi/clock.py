"""Time on a real rank: the machine's."""

import time

import numpy as np

from ddl_runtime.core import arrays, parts
from ddl_runtime.core.arrays import Array, Operation
from ddl_runtime.mpi.context import MPIContext


class Clock(parts.Clock):
    """The clock that all ranks of a node share, and what passes the time."""

    def __init__(self, context: MPIContext) -> None:
        self._context = context
        self._records = context.records

    def now(self) -> float:
        return time.perf_counter() - self._records.began

    def note(self, name: str, kind: str, begun: float, nbytes: int = 0) -> None:
        if self._records.spans is not None:
            self._records.spans.append((name, kind, begun, self.now(), -1, -1, nbytes))

    def work(self, seconds: float, flops: float) -> None:
        with self.span("work", kind="work"):
            time.sleep(seconds)
            _multiply_and_add(flops)

    def combine(self, a: Array, b: Array, out: Array, op: Operation) -> None:
        if self._context.spans is None:
            arrays.combine(op, a, b, out)
        else:
            begun = self.now()
            arrays.combine(op, a, b, out)
            self.note("reduce", "reduce", begun, out.nbytes)


def _multiply_and_add(flops: float) -> None:
    """Execute that many floating-point operations, in products of small matrices."""
    width = 128
    matrix = np.ones((width, width))
    each = 2 * width**3
    for _ in range(int(flops // each)):
        matrix @ matrix
    rows = int(flops % each / (2 * width**2))
    matrix[:rows] @ matrix
