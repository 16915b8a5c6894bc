"""Which activations to keep, which to forget and compute again: plans for a chain of layers.

A plan is a list. A number in it is a layer whose activations are kept; a list in it is a stretch
that is forgotten: only its input stays, and the backward pass computes it again, by the plan that
the inner list is. [[0, 1], [2, 3], 4, 5] forgets two stretches, [[[0, 1], 2], 3] 0 and 1 twice.

    keep all               L activations at once      L layers computed forward
    equal stretches        2 sqrt(L) - 1              2 L - sqrt(L)
    stretches of p, p-1, ..., 1 layers   p = about sqrt(2 L)   2 L - 1
    stretches in stretches   as little as 2           up to about L^2 / 2

Equal ones: Chen, Xu, Zhang & Guestrin, "Training deep nets with sublinear memory cost", 2016. The
plan of least time in a given memory, for layers that are uneven, is a dynamic program: Beaumont,
Eyraud-Dubois, Herrmann, Joly & Shilova, "Optimal checkpointing for heterogeneous chains", 2019;
for even ones Griewank & Walther, "Algorithm 799: revolve", 2000.
What to look at: `trace`, the bytes held after each layer that is computed, forward or backward.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeAlias

Plan: TypeAlias = "Sequence[int | Plan]"

SLOTS = 128  # into which the memory is cut: what is finer is rounded up


@dataclass(frozen=True)
class Chain:
    """Layers one after another; the three have one entry a layer."""

    seconds: tuple[float, ...]  # to compute it forward, or any other measure of work
    outputs: tuple[int, ...]  # bytes of its output
    inside: tuple[int, ...]  # bytes that its backward pass needs besides input and output

    @classmethod
    def even(cls, layers: int) -> Chain:
        """Layers of one second and one byte each."""
        return cls((1.0,) * layers, (1,) * layers, (0,) * layers)

    def __len__(self) -> int:
        return len(self.seconds)

    def kept(self, layer: int) -> int:
        """The bytes held while a layer that is kept waits for its backward pass."""
        return self.outputs[layer] + self.inside[layer]


class Moment(NamedTuple):
    """A layer was computed."""

    what: str  # "forward", "forget" (forward, nothing kept) or "backward"
    layer: int
    held: int  # bytes of activations, the input of the chain apart


def trace(plan: Plan, chain: Chain, held: int = 0) -> Iterator[Moment]:
    """Everything that is computed, in order, and the bytes held once it is there."""
    for step in plan:
        if isinstance(step, int):
            held += chain.kept(step)
            yield Moment("forward", step, held)
        else:
            *others, last = layers_of(step)
            yield from (Moment("forget", layer, held) for layer in others)
            held += chain.outputs[last]
            yield Moment("forget", last, held)
    for step in reversed(plan):
        if isinstance(step, int):
            yield Moment("backward", step, held)
            held -= chain.kept(step)
        else:
            held -= chain.outputs[layers_of(step)[-1]]
            yield from trace(step, chain, held)


def peak(plan: Plan, chain: Chain) -> int:
    """The bytes of activations held at most."""
    return max((moment.held for moment in trace(plan, chain)), default=0)


def seconds(plan: Plan, chain: Chain) -> float:
    """The time of all that is computed forward."""
    return sum(chain.seconds[m.layer] for m in trace(plan, chain) if m.what != "backward")


def layers_of(plan: Plan) -> list[int]:
    """The layers of a plan, in order."""
    return [
        layer for step in plan for layer in ([step] if isinstance(step, int) else layers_of(step))
    ]


def check_plan(plan: Plan, layers: int) -> None:
    """Refuse a plan that does not have each layer once, in order."""
    if layers_of(plan) != list(range(layers)):
        raise ValueError(
            f"a plan for {layers} layers must name the layers 0 to {layers - 1} once each, in "
            f"this order; this plan names {layers_of(plan)}"
        )


def equal_stretches(layers: int, stretches: int | None = None) -> list[Any]:
    """So many stretches of equal length, sqrt(L) unless said otherwise; the last one is kept.

    >>> equal_stretches(9)
    [[0, 1, 2], [3, 4, 5], 6, 7, 8]
    """
    count = max(1, round(math.sqrt(layers))) if stretches is None else stretches
    bounds = [layers * cut // count for cut in range(count + 1)]
    *forgotten, last = [list(range(a, b)) for a, b in pairwise(bounds)]
    return [*filter(None, forgotten), *last]


def shrinking_stretches(layers: int) -> list[Any]:
    """Stretches of p, p-1, p-2, ... layers, with the least p that is enough; the last one is kept.

    >>> shrinking_stretches(6)
    [[0, 1, 2], [3, 4], 5]
    """
    length = math.ceil((math.sqrt(8 * layers + 1) - 1) / 2)
    stretches, first = [], 0
    while first < layers:
        stretches.append(list(range(first, min(first + length, layers))))
        first, length = first + length, length - 1
    return [*stretches[:-1], *stretches[-1]] if stretches else []


def cheapest(chain: Chain, memory: int) -> list[Any]:
    """The plan of least time that never holds more than `memory` bytes.

    Sizes are rounded up to 1/128 of the memory where they have no large common divisor.

    >>> cheapest(Chain.even(6), 3)
    [[0, 1, 2], [3, 4], 5]
    """
    kept = [chain.kept(layer) for layer in range(len(chain))]
    unit = max(math.gcd(*chain.outputs, *kept), 1)
    if memory // unit > SLOTS:
        unit = -(-memory // SLOTS)
    holds, passes = ([-(-size // unit) for size in sizes] for sizes in (kept, chain.outputs))
    before = [0.0, *accumulate(chain.seconds)]

    @cache
    def least(first: int, stop: int, room: int) -> tuple[float, int]:
        """The least time of the layers first .. stop-1 in so much room, their input not counted,
        and where the first forgotten stretch ends; the layer itself where it is kept."""
        if first == stop:
            return 0.0, first
        ways = []
        if holds[first] <= room:
            rest = least(first + 1, stop, room - holds[first])[0]
            ways.append((chain.seconds[first] + rest, first))
        for cut in range(first + 1, stop):
            left = room - passes[cut - 1]
            if left >= 0:
                forward = before[cut] - before[first]
                again = least(cut, stop, left)[0] + least(first, cut, room)[0]
                ways.append((forward + again, cut))
        return min(ways, default=(math.inf, first))

    def plan(first: int, stop: int, room: int) -> list[Any]:
        steps: list[Any] = []
        while first < stop:
            _, cut = least(first, stop, room)
            steps.append(first if cut == first else plan(first, cut, room))
            room -= holds[first] if cut == first else passes[cut - 1]
            first = max(cut, first + 1)
        return steps

    room = memory // unit
    if math.isinf(least(0, len(chain), room)[0]):
        raise ValueError(
            f"no plan fits into {memory:,} bytes: the largest layer alone holds {max(kept):,}, "
            "besides the input of its stretch. Give more memory"
        )
    return plan(0, len(chain), room)
