"""The wavefront on ranks: each owns some layers and sends what they say up to the next rank.

Rank r receives the outputs of `chunk` steps from the rank below, runs its own layers over them,
and sends the results up. Then it goes on, while the rank above works on the last chunk: the
messages leave a wavefront. Backwards the gradients of the outputs travel down, the last chunk
first. The time is that of `ddl_teach.theory.wavefront.time`.
What to look at: the timeline is a parallelogram; its slanted ends are ranks that wait.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ddl_teach.comm import Comm, Phantom
from ddl_teach.operators.recurrence import layer_by_layer as whole
from ddl_teach.operators.recurrence.cell import Tape, Weights
from ddl_teach.operators.recurrence.stack import Stack
from ddl_teach.theory.inputs import count
from ddl_teach.theory.wavefront import owned


@dataclass(frozen=True)
class ForwardShare:
    """What a rank keeps of a forward pass for the gradients."""

    own: Stack  # its layers
    owners: int  # ranks that have any
    like: Tensor  # of the shape of what it received
    tapes: list[list[Tape]]  # of each chunk, of each of its layers
    chunks: list[slice]


def pass_through(
    comm: Comm, to_higher: bool, owners: int, chunks: Iterable[slice],
    room: Any, work: Callable[[slice], Any],
) -> None:  # fmt: skip
    """Chunk after chunk: receive into its part of `room`, work, send the result on."""
    step = 1 if to_higher else -1
    source, dest = comm.rank - step, comm.rank + step
    for chunk in chunks:
        if 0 <= source < owners:
            comm.recv(room[chunk], source)
        result = work(chunk)
        if 0 <= dest < owners:
            comm.send(result, dest)


def chunks_of(steps: int, chunk: int) -> list[slice]:
    """The steps in chunks; the last may be shorter."""
    chunk = count("chunk", chunk)
    return [slice(first, min(first + chunk, steps)) for first in range(0, steps, chunk)]


@torch.no_grad()
def forward(
    comm: Comm, stack: Stack, x: Tensor, *, chunk: int = 1
) -> tuple[Tensor | None, ForwardShare | None]:
    """The outputs of `layer_by_layer.forward` from zero states, on the rank that owns the top
    layer; a rank without layers gets None and None. Of x only the first rank uses more than the
    shape.
    """
    mine = owned(len(stack), comm.size, comm.rank)
    if not mine:
        return None, None
    own = Stack(stack.cell, stack.layers[mine.start : mine.stop])
    outputs = x.new_empty((*x.shape[:2], own.layers[0].hidden.shape[1]))
    below = x if comm.rank == 0 else torch.empty_like(outputs)
    share = ForwardShare(own, min(comm.size, len(stack)), below, [], chunks_of(len(x), chunk))
    states = None

    def work(part: slice) -> Tensor:
        nonlocal states
        with comm.span(f"steps {part.start} to {part.stop - 1}", kind="work"):
            outputs[part], states, tapes = whole.forward(own, below[part], states)
        share.tapes.append(tapes)
        return outputs[part]

    pass_through(comm, True, share.owners, share.chunks, below, work)
    return (outputs if mine.stop == len(stack) else None), share


@torch.no_grad()
def gradients(
    comm: Comm, share: ForwardShare | None, of_outputs: Tensor
) -> tuple[Tensor | None, list[Weights]]:
    """The gradients of x, on the first rank, and of the weights of this rank's own layers;
    `of_outputs` counts on the rank that owns the top layer."""
    if share is None:
        return None, []
    above = of_outputs if comm.rank == share.owners - 1 else torch.empty_like(of_outputs)
    of_below, of_states, totals = torch.empty_like(share.like), None, []
    tapes = reversed(share.tapes)

    def work(part: slice) -> Tensor:
        nonlocal of_states, totals
        with comm.span(f"back from {part.stop - 1} to {part.start}", kind="work"):
            back = whole.gradients(share.own, next(tapes), above[part], of_states)
            of_below[part], of_states, more = back
            totals = [*map(Weights.plus, totals, more)] if totals else more
        return of_below[part]

    pass_through(comm, False, share.owners, share.chunks[::-1], above, work)
    return (of_below if comm.rank == 0 else None), totals


def simple_layer(comm: Comm, x: Any, w: Any, u: Any, seconds: float) -> Any:
    """Layers on ranks by hand, a step at a time. Rank r runs layer r of simple cells, with NumPy
    arrays; each step takes `seconds` more. Returns the outputs (steps, batch, units) of its
    layer."""
    h, outputs = 0 * x[0] @ u, []
    for now in x:
        if comm.rank > 0:
            comm.recv(now, comm.rank - 1)
        comm.work(seconds)
        h = np.tanh(now @ w + h @ u)
        if comm.rank + 1 < comm.size:
            comm.send(h, comm.rank + 1)
        outputs.append(h)
    return np.stack(outputs)


def only_time(
    comm: Comm, layers: int, steps: int, *, flops: float, nbytes: int, chunk: int = 1
) -> None:
    """One pass of a grid without its numbers, for more ranks than there are: cells take `flops`
    operations, and messages of a step are `nbytes` long."""
    mine = len(owned(layers, comm.size, comm.rank))
    room = Phantom(steps * nbytes, itemsize=nbytes)

    def work(part: slice) -> Phantom:
        comm.work(flops=flops * mine * (part.stop - part.start))
        return room[part]

    if mine:
        pass_through(comm, True, min(comm.size, layers), chunks_of(steps, chunk), room, work)
