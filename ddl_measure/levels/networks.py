"""Level 1, networks: what each part takes forward and backward, in seconds and in bytes.

A network is a row of parts; a part is two plain functions, `forward(x)` and `backward(x, towards)`
with the gradient of the result in and that of `x` out. Seconds are taken in whole passes, so that
caches are as they are in training; memory in a pass of its own, because to count it costs time.
Ben-Nun et al. 2019 (Deep500), level 1. What to look at: backward takes about twice as long as
forward where weights have gradients too; peak memory belongs to the part with the most to keep.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ddl_measure.allocations import peak_allocation, peak_numpy_allocation
from ddl_measure.interval import Summary, summarise
from ddl_measure.levels.events import Events

FORWARD, BACKWARD = "forward", "backward"


@dataclass(frozen=True)
class Part:
    """One layer, or several: its forward pass, and its backward pass if there is one.

    `forget()` is called before every pass, neither timed nor counted: it throws old gradients
    away.
    """

    name: str
    forward: Callable[[Any], Any]
    backward: Callable[[Any, Any], Any] | None = None
    forget: Callable[[], Any] = lambda: None


@dataclass(frozen=True)
class PartCost:
    """Seconds and peak bytes of a part; `backward` ones are None where only forward was asked."""

    name: str
    forward: Summary
    backward: Summary | None
    forward_bytes: int
    backward_bytes: int | None


@dataclass(frozen=True)
class NetworkCost:
    """The costs of each part in order, and of whole passes."""

    parts: tuple[PartCost, ...]
    forward: Summary
    backward: Summary | None


def as_one(name: str, parts: Sequence[Part]) -> Part:
    """All parts as one part, in order: for a gradient check of the whole, for instance."""
    inputs: list[Any] = []

    def forward(x: Any) -> Any:
        inputs.clear()
        for part in parts:
            inputs.append(x)
            x = part.forward(x)
        return x

    def backward(_: Any, towards: Any) -> Any:
        for part, x in zip(reversed(parts), reversed(inputs), strict=True):
            towards = part.backward(x, towards)
        return towards

    def forget() -> None:
        for part in parts:
            part.forget()

    return Part(name, forward, backward, forget)


def measure_network(
    parts: Sequence[Part],
    x: Any,
    towards: Callable[[Any], Any] | None = None,
    *,
    repetitions: int = 11,
    warm_up: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> NetworkCost:
    """Pass `x` through, and back if `towards(result)` gives the gradient to begin with."""
    names = [part.name for part in parts]
    if not parts or len(set(names)) < len(names):
        raise ValueError(f"a network needs parts with different names, not {names}")
    missing = [part.name for part in parts if towards is not None and part.backward is None]
    if missing:
        raise ValueError(f"{missing} cannot go backward: give these parts a backward function")
    for _ in range(2):  # the first time libraries take what they keep for ever
        bytes_of = _held(parts, x, towards)
    for _ in range(warm_up):
        pass_through(parts, x, towards, Events())
    events = Events(clock)
    for _ in range(repetitions):
        pass_through(parts, x, towards, events)

    def taken(name: str) -> Summary | None:
        return summarise(events.seconds[name]) if name in events.seconds else None

    return NetworkCost(
        tuple(
            PartCost(
                name, taken(f"{name} {FORWARD}"), taken(f"{name} {BACKWARD}"),
                bytes_of[name, FORWARD], bytes_of.get((name, BACKWARD)),
            )
            for name in names
        ),
        taken(FORWARD), taken(BACKWARD),
    )  # fmt: skip


def pass_through(parts: Sequence[Part], x: Any, towards: Callable | None, events: Events) -> None:
    """One pass, and one back if `towards(result)` gives the gradient to begin with."""
    inputs = []
    for part in parts:
        part.forget()
    with events(FORWARD):
        for part in parts:
            inputs.append(x)
            with events(f"{part.name} {FORWARD}"):
                x = part.forward(x)
    if towards is None:
        return
    gradient = towards(x)
    with events(BACKWARD):
        for part in reversed(parts):
            with events(f"{part.name} {BACKWARD}"):
                gradient = part.backward(inputs.pop(), gradient)


def _held(parts: Sequence[Part], x: Any, towards: Callable | None) -> dict[tuple[str, str], int]:
    """The most that each part held beyond what stood before it."""
    held, inputs = {}, []
    for part in parts:
        part.forget()
    for part in parts:
        inputs.append(x)
        x, held[part.name, FORWARD] = _peak(part.forward, x)
    if towards is not None:
        gradient = towards(x)
        for part in reversed(parts):
            gradient, held[part.name, BACKWARD] = _peak(part.backward, inputs.pop(), gradient)
    return held


def _peak(function: Callable, *args: Any) -> tuple[Any, int]:
    """What it returns, and the bytes it held at most, torch's memory and NumPy's."""
    results, arrays = [], []  # results stay alive, as what is kept for the way back does

    def work() -> None:
        arrays.append(peak_numpy_allocation(lambda: results.append(function(*args))))

    tensors = peak_allocation(work)
    return results[0], tensors + arrays[0]
