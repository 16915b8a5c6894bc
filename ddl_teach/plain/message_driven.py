"""Message-driven pipeline: no order is given; a stage runs what has arrived.

Stage 0 lets a micro-batch in when fewer than `in_flight` are on their way. Every other stage does
what its neighbours send, first come, first served. Time: a micro-batch needs P (F + B) + 2 (P - 1)
latency there and back. `in_flight` of them pass in that time, but at most one in F + B. Memory:
the activations of `in_flight` micro-batches. Singh and Bhatele, "AxoNN: an asynchronous,
message-driven parallel framework for extreme-scale deep learning", IPDPS 2022 (there `in_flight`
is P). What to look at: the order that comes out.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach import Comm

Forward = Callable[[int, np.ndarray], np.ndarray]
Backward = Callable[[int, np.ndarray | None], np.ndarray]


def step(
    comm: Comm, inputs: list[np.ndarray], width: int, forward: Forward, backward: Backward,
    in_flight: int,
) -> None:  # fmt: skip
    """Run one step, with the same arguments as GPipe."""
    first, last = comm.rank == 0, comm.rank == comm.size - 1
    forward_done = backward_done = 0
    coming, sending, dy = {}, [], None
    while backward_done < len(inputs):
        if first and forward_done < min(len(inputs), backward_done + in_flight):
            arrived, x = "x", inputs[forward_done]
        else:
            # Neighbours keep the order of the micro-batches, so the next of each kind is known.
            if not last and backward_done < forward_done and "dy" not in coming:
                dy = np.empty((len(inputs[backward_done]), width))
                coming["dy"] = comm.irecv(dy, comm.rank + 1)
            if not first and forward_done < len(inputs) and "x" not in coming:
                x = np.empty((len(inputs[forward_done]), width))
                coming["x"] = comm.irecv(x, comm.rank - 1)
            arrived = list(coming)[comm.wait_any(list(coming.values()))]
            del coming[arrived]
        if arrived == "x":
            y = forward(forward_done, x)
            if not last:
                sending.append(comm.isend(y, comm.rank + 1))
            forward_done += 1
        if arrived == "dy" or last:
            dx = backward(backward_done, dy)
            if not first:
                sending.append(comm.isend(dx, comm.rank - 1))
            backward_done += 1
    for request in sending:
        request.wait()
