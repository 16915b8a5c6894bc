"""An all-reduce behind computation: begin it, compute something else, then wait for it.

Cost: the longer of computation and communication instead of their sum. It is how the gradients of
late layers travel while those of early layers are still being computed. Hoefler, Lumsdaine and
Rehm, "Implementation and performance analysis of non-blocking collective operations for MPI",
2007.
What to look at: on the timeline, messages under the work; and what is left of them after it.
"""

from collections.abc import Callable

from ddl_runtime.core.arrays import Array, Operation
from ddl_teach.collectives import registry
from ddl_teach.comm import Comm, Request


def allreduce(
    comm: Comm,
    x: Array,
    op: Operation = "sum",
    *,
    algorithm: str | Callable[[Comm, Array, Operation], None] = "ring",
) -> Request:
    """Begin to combine the `x` of all ranks, in place; `x` is not yours until `wait()` returns.

    `algorithm` is the name of one or an all-reduce of your own. All ranks must begin their
    background calls in the same order.

    >>> request = allreduce(comm, gradient)
    >>> comm.work(flops=1e9)                    # beside the messages
    >>> request.wait()                          # from here on gradient holds the sum
    """
    if isinstance(algorithm, str):
        algorithm = registry.function(algorithm, "allreduce")
    return comm.background(algorithm, x, op)
