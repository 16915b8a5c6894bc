"""The wavefront on ranks: each owns some layers and sends what they say up to the next rank.

Rank r receives the outputs of `chunk` steps from the rank below, runs its own layers over them,
sends theirs up, and goes on; while it works on one chunk the rank above works on the last. Nobody
computes a wavefront: it is what the messages leave possible. Backwards the gradients of the
outputs travel down, the last chunk first. The time is that of `ddl_teach.theory.wavefront.time`.

What to look at: the timeline is a parallelogram; its slanted ends are ranks that wait. More ranks
than layers leave some without any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ddl_teach.comm import Comm, Phantom
from ddl_teach.operators.recurrence import stack as whole
from ddl_teach.operators.recurrence.cell import Weights
from ddl_teach.operators.recurrence.stack import Stack
from ddl_teach.theory.inputs import count
from ddl_teach.theory.wavefront import owned


@dataclass(frozen=True)
class Part:
    """What one rank has at the end of a step of training; None where it has nothing to say."""

    outputs: Tensor | None  # of the top layer, on the rank that owns it
    of_x: Tensor | None  # on the rank that owns the first layer
    of_weights: list[Weights]  # of this rank's own layers


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
def train(comm: Comm, stack: Stack, x: Tensor, of_outputs: Tensor, *, chunk: int = 1) -> Part:
    """Forward, then all gradients, from zero states.

    Of the stack a rank uses its own layers; x counts on the first rank, of_outputs on the last
    owner. What is computed is what `stack.forward` and `stack.gradients` compute.
    """
    mine = owned(len(stack), comm.size, comm.rank)
    if not mine:
        return Part(None, None, [])
    own = Stack(stack.cell, stack.layers[mine.start : mine.stop])
    owners = min(comm.size, len(stack))
    lowest, highest = comm.rank == 0, comm.rank == owners - 1
    shape = (*x.shape[:2], own.layers[0].units)
    below = x if lowest else x.new_empty(shape)
    from_above = of_outputs if highest else x.new_empty(shape)
    states, tapes, outputs, of_below = None, {}, x.new_empty(shape), torch.empty_like(below)

    def forward(part: slice) -> Tensor:
        nonlocal states
        with comm.span(f"steps {part.start} to {part.stop - 1}", kind="work"):
            outputs[part], states, tapes[part.start] = whole.forward(own, below[part], states)
        return outputs[part]

    chunks = chunks_of(len(x), chunk)
    pass_through(comm, True, owners, chunks, below, forward)
    of_states, totals = None, []

    def backward(part: slice) -> Tensor:
        nonlocal of_states, totals
        with comm.span(f"back from {part.stop - 1} to {part.start}", kind="work"):
            tape = tapes.pop(part.start)
            of_below[part], of_states, more = whole.gradients(
                own, tape, from_above[part], of_states
            )
            totals = [*map(_sum, totals, more)] if totals else more
        return of_below[part]

    pass_through(comm, False, owners, chunks[::-1], from_above, backward)
    return Part(outputs if highest else None, of_below if lowest else None, totals)


def only_time(
    comm: Comm, layers: int, steps: int, *, flops: float, nbytes: int, chunk: int = 1
) -> None:
    """One pass of a grid whose cells take `flops` operations and whose steps are `nbytes` long.

    The same messages without the numbers: for ranks that nobody has.
    """
    mine = len(owned(layers, comm.size, comm.rank))
    room = Phantom(steps * nbytes, itemsize=nbytes)

    def work(part: slice) -> Phantom:
        comm.work(flops=flops * mine * (part.stop - part.start))
        return room[part]

    if mine:
        pass_through(comm, True, min(comm.size, layers), chunks_of(steps, chunk), room, work)


def _sum(one: Weights, other: Weights) -> Weights:
    return Weights(
        one.input + other.input,
        one.hidden + other.hidden,
        one.input_bias + other.input_bias,
        one.hidden_bias + other.hidden_bias,
    )
