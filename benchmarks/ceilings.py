"""A roofline: operations and bytes a second of this machine, and how close layers come to them.

The fastest arithmetic that torch has is a large matrix product: n x n x n takes 2 n^3 operations
on 3 n^2 numbers, so memory is not in its way. The fastest way through memory is a *triad*,
a = b + s c, two operations on three arrays (STREAM: McCalpin 1995). Bytes are those of the three
arrays; what a cache does beyond that, as reading a line before it is overwritten, is not counted.
Of layers a clock is read when a module's forward pass begins and when it ends; what the modules
inside it took is taken off again, so that every second is counted once, at the layer that an
analysis knows by the same name.
What to look at: bandwidth over the size of the arrays is a staircase, with a step at each cache's
size. And the layers that hold most of the time are not always those that hold most of the work.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from ddl_measure.analysis.table import Analysis
from ddl_measure.interval import interval

DTYPES = (torch.float32, torch.float64, torch.bfloat16)
WORKING_SETS = tuple(2**power for power in range(16, 29))
LONG_ENOUGH = 0.05  # seconds that a clock and a scheduler hardly disturb
ROW = 1e-3  # seconds that short operations are repeated for


@dataclass(frozen=True)
class Rate:
    """Something a second: the median, and the ends of its 95% interval."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Ceilings:
    """What this machine can do with so many threads.

    `operations` are those of a matrix product, by dtype; `bandwidths` are bytes a second by the
    size of what is worked on; `cache` is the best of them, `memory` that of the largest.
    """

    threads: int
    operations: Mapping[str, Rate]
    bandwidths: Mapping[int, Rate]

    @property
    def cache(self) -> Rate:
        return max(self.bandwidths.values(), key=lambda rate: rate.median)

    @property
    def memory(self) -> Rate:
        """The bandwidth at the largest size, which should not fit into any cache."""
        return self.bandwidths[max(self.bandwidths)]


def ceilings(
    *,
    dtypes: Sequence[torch.dtype] = DTYPES,
    working_sets: Sequence[int] = WORKING_SETS,
    repetitions: int = 7,
) -> Ceilings:
    """Measure them, in a few seconds; nothing else should run meanwhile."""
    return Ceilings(
        torch.get_num_threads(),
        {str(it).removeprefix("torch."): peak(it, repetitions) for it in dtypes},
        {size: bandwidth(size, repetitions) for size in working_sets},
    )


def peak(dtype: torch.dtype, repetitions: int = 7) -> Rate:
    """Operations a second of a square matrix product, the first that is large enough to take time.

    Sizes are doubled until one product takes 50 ms.
    """
    size, taken = 128, 0.0
    while taken < LONG_ENOUGH:
        size *= 2
        one, other = (torch.ones(size, size, dtype=dtype) for _ in range(2))
        result = torch.empty_like(one)

        def product(one=one, other=other, result=result) -> None:
            torch.mm(one, other, out=result)

        product()  # the first call of a size prepares
        taken = _seconds(product, 1)
    return _rate(2 * size**3, product, 1, repetitions)


def bandwidth(working_set: int, repetitions: int = 7) -> Rate:
    """Bytes a second of a triad over three arrays that together have `working_set` bytes."""
    elements = working_set // (3 * torch.float32.itemsize)
    if elements < 1:
        raise ValueError(f"working_set={working_set}: three arrays need at least 12 bytes")
    first, second, third = (torch.ones(elements) for _ in range(3))

    def triad() -> None:
        torch.add(first, second, alpha=0.5, out=third)

    triad()
    times = max(1, round(ROW / max(_seconds(triad, 3), 1e-9)))
    return _rate(3 * elements * torch.float32.itemsize, triad, times, repetitions)


def _rate(amount: int, work: Callable[[], None], times: int, repetitions: int) -> Rate:
    seconds, low, high = interval([_seconds(work, times) for _ in range(repetitions)])
    return Rate(amount / seconds, amount / high, amount / low)


def _seconds(work: Callable[[], None], times: int) -> float:
    """Of one call, in a row of so many."""
    begun = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - begun) / times


@dataclass(frozen=True)
class LayerRate:
    """A layer's intensity in operations per byte, its operations a second, and its time.

    `low` and `high` are the ends of the 95% interval of the median `seconds`.
    """

    name: str
    kind: str
    intensity: float
    rate: float
    seconds: float
    low: float
    high: float


def layer_times(
    module: nn.Module, *inputs: Any, repetitions: int = 7, warm_up: int = 2, **keywords: Any
) -> dict[str, np.ndarray]:
    """Seconds that each module took by itself in each of several forward passes, by its name.

    The passes keep nothing for backward. A module that is used twice in a pass has both times.
    """
    if any(weights.is_meta for weights in module.parameters()):
        raise ValueError(
            f"{type(module).__name__} lives on the meta device, where nothing is computed: build "
            "it outside of `with torch.device('meta')` to measure it"
        )
    taken: dict[str, float] = defaultdict(float)
    running: list[list[float]] = []  # outermost first: when it began, what those inside it took

    def begin(*_: Any) -> None:
        running.append([time.perf_counter(), 0.0])

    def end(name: str, *_: Any) -> None:
        begun, inside = running.pop()
        whole = time.perf_counter() - begun
        taken[name] += whole - inside
        if running:
            running[-1][1] += whole

    hooks = []
    for name, part in module.named_modules():
        hooks.append(part.register_forward_pre_hook(begin))
        hooks.append(part.register_forward_hook(partial(end, name), always_call=True))
    passes = []
    try:
        with torch.no_grad():
            for _ in range(warm_up + repetitions):
                taken.clear()
                module(*inputs, **keywords)
                passes.append(dict(taken))
    finally:
        for hook in hooks:
            hook.remove()
    counted = passes[warm_up:]
    return {name: np.array([one[name] for one in counted]) for name in counted[0]}


def layer_rates(analysis: Analysis, times: Mapping[str, np.ndarray]) -> tuple[LayerRate, ...]:
    """The layers that compute something, each with its measured time."""
    found = []
    for layer in analysis.layers:
        if layer.forward.work and layer.name in times:
            seconds, low, high = interval(times[layer.name])
            rate = layer.forward.work / seconds
            intensity = layer.forward.intensity
            found.append(LayerRate(layer.name, layer.kind, intensity, rate, seconds, low, high))
    return tuple(found)
