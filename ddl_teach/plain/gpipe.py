"""GPipe: rank s holds stage s; all micro-batches go forward, then all go backward.

Time with m micro-batches on P stages: (m + P - 1) (F + B), where F and B are the times of one
micro-batch on one stage. A stage is idle for (P - 1) (F + B), so more micro-batches make the
bubble smaller. But every stage keeps the activations of all m micro-batches.
Huang, Cheng, Bapna, Firat et al., "GPipe: efficient training of giant neural networks using
pipeline parallelism", NeurIPS 2019.
What to look at: between the two loops every stage holds everything.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach import Comm

Forward = Callable[[int, np.ndarray], np.ndarray]
Backward = Callable[[int, np.ndarray | None], np.ndarray]


def step(
    comm: Comm, inputs: list[np.ndarray], width: int, forward: Forward, backward: Backward
) -> None:
    """Run one step. All ranks know the micro-batches; what passes between stages has `width`.

    `forward(m, x)` returns the output y. `backward(m, dy)` adds to the gradients of the weights
    and returns dx. The last stage has the loss: its dy is None.
    """
    first, last = comm.rank == 0, comm.rank == comm.size - 1
    sending = []
    for m, x in enumerate(inputs):
        if not first:
            x = np.empty((len(x), width))
            comm.recv(x, comm.rank - 1)
        y = forward(m, x)
        if not last:
            sending.append(comm.isend(y, comm.rank + 1))
    dy = None
    for m, x in enumerate(inputs):
        if not last:
            dy = np.empty((len(x), width))
            comm.recv(dy, comm.rank + 1)
        dx = backward(m, dy)
        if not first:
            sending.append(comm.isend(dx, comm.rank - 1))
    for request in sending:
        request.wait()
