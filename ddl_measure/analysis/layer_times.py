"""How long each layer really takes, and how fast it computes: the points of a roofline.

A clock is read when a module's forward pass begins and when it ends; what the modules inside it
took is taken off again, so that every second is counted once, at the layer that an analysis knows
by the same name. What to look at: the layers that hold most of the time are not always those that
hold most of the work.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from ddl_measure.analysis.table import Analysis
from ddl_measure.interval import interval


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
    clock = _Clock()
    hooks = [
        hook
        for name, part in module.named_modules()
        for hook in (
            part.register_forward_pre_hook(clock.begin),
            part.register_forward_hook(clock.ending(name), always_call=True),
        )
    ]
    passes = []
    try:
        with torch.no_grad():
            for _ in range(warm_up + repetitions):
                clock.taken.clear()
                module(*inputs, **keywords)
                passes.append(dict(clock.taken))
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


class _Clock:
    """What runs at the moment, outermost first, and what each module has taken by itself."""

    def __init__(self) -> None:
        self.taken: dict[str, float] = defaultdict(float)
        self.running: list[list[float]] = []  # when it began, and what those inside it took

    def begin(self, *_: Any) -> None:
        self.running.append([time.perf_counter(), 0.0])

    def ending(self, name: str) -> Callable[..., None]:
        def end(*_: Any) -> None:
            begun, inside = self.running.pop()
            whole = time.perf_counter() - begun
            self.taken[name] += whole - inside
            if self.running:
                self.running[-1][1] += whole

        return end
