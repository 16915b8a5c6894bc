"""1F1B: a stage runs ahead as far as it must, then one forward and one backward in turn.

The gradient of the first micro-batch returns to stage s after it has been through the P - 1 - s
later stages. So many micro-batches run forward before the first backward, and no more.
Time with m micro-batches: (m + P - 1) (F + B), as GPipe. Memory: stage s keeps the activations of
at most P - s micro-batches, however large m is.
Narayanan, Harlap, Phanishayee et al., "PipeDream: generalized pipeline parallelism for DNN
training", SOSP 2019; with one update a batch, as here, Fan et al., "DAPPLE", PPoPP 2021.
What to look at: stage 0 keeps the most, the last stage one.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach import Comm

Forward = Callable[[int, np.ndarray], np.ndarray]
Backward = Callable[[int, np.ndarray | None], np.ndarray]


def schedule(stage: int, stages: int, micro_batches: int) -> list[tuple[str, int]]:
    """What a stage does, in order: ("forward", m) and ("backward", m)."""
    ahead = min(stages - 1 - stage, micro_batches)
    order = [("forward", m) for m in range(ahead)]
    for m in range(micro_batches):
        if m + ahead < micro_batches:
            order.append(("forward", m + ahead))
        order.append(("backward", m))
    return order


def step(
    comm: Comm, inputs: list[np.ndarray], width: int, forward: Forward, backward: Backward
) -> None:
    """Run one step, with the same arguments as GPipe."""
    first, last = comm.rank == 0, comm.rank == comm.size - 1
    sending = []
    for way, m in schedule(comm.rank, comm.size, len(inputs)):
        arriving = np.empty((len(inputs[m]), width))
        if way == "forward":
            if not first:
                comm.recv(arriving, comm.rank - 1)
            y = forward(m, inputs[m] if first else arriving)
            if not last:
                sending.append(comm.isend(y, comm.rank + 1))
        else:
            if not last:
                comm.recv(arriving, comm.rank + 1)
            dx = backward(m, None if last else arriving)
            if not first:
                sending.append(comm.isend(dx, comm.rank - 1))
    for request in sending:
        request.wait()
