"""What formula and simulation need to know of real ranks, and what they are then held to.

A rank that runs its layers over k steps takes `begin + k * step` seconds: `begin` is what a call
costs however short it is. Both ranks measure at the same time, because they share a machine.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from ddl_measure.ping_pong import ping_pong
from ddl_measure.repetitions import own_turns
from ddl_teach.comm import Comm
from ddl_teach.operators.recurrence import layer_by_layer as whole
from ddl_teach.operators.recurrence import on_ranks
from ddl_teach.operators.recurrence.stack import Stack
from ddl_teach.theory.fit import fit
from ddl_teach.theory.wavefront import owned


def parts(
    comm: Comm, stack: Stack, x: Tensor, chunks: Sequence[int], turns: int = 5
) -> tuple[np.ndarray, float]:
    """Seconds (turns, chunks) of this rank's own layers over each chunk of steps. On ranks 0 and 1
    also those of a message with the outputs of one step.

    x must be as wide as the layers' outputs, which all but the first rank receive.
    """
    mine = owned(len(stack), comm.size, comm.rank)
    own = Stack(stack.cell, stack.layers[mine.start : mine.stop])
    seconds = _turns(comm, chunks, turns, lambda chunk: whole.forward(own, x[:chunk]))
    return seconds, ping_pong(comm, x[0].nbytes, 50)


def step_and_overhead(
    measured: Sequence[tuple[np.ndarray, float]], chunks: Sequence[int]
) -> tuple[float, float]:
    """From every rank's `parts`: seconds of a step, and what a chunk costs besides, with half a
    message. The rank at its other end has the other half."""
    slowest = np.max([seconds for seconds, _ in measured], axis=0)
    line = fit(chunks, np.median(slowest, axis=0))
    return line.per_byte, line.latency + measured[0][1] / 2


def passes(
    comm: Comm, stack: Stack, x: Tensor, chunks: Sequence[int], turns: int = 5
) -> np.ndarray:
    """Seconds (turns, chunks) of a forward pass on this rank, for each number of steps in a
    message."""
    return _turns(comm, chunks, turns, lambda chunk: on_ranks.forward(comm, stack, x, chunk=chunk))


def _turns(
    comm: Comm, chunks: Sequence[int], turns: int, work: Callable[[int], object]
) -> np.ndarray:
    torch.set_num_threads(1)  # the ranks are as many as there are processors, or more
    return own_turns(comm, [partial(work, chunk) for chunk in chunks], turns)
