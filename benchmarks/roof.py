"""Roofline: whether arithmetic or memory limits a layer, from two numbers of the machine.

A machine computes at most F operations a second and moves at most B bytes a second. A layer that
does W operations on Q moved bytes, with intensity I = W / Q, takes at least

    seconds >= max(W / F, Q / B),        so it computes at most  min(F, B I)  a second.

Over I that is a roof: a slope where memory limits, flat where arithmetic does, and the ridge at
I* = F / B. What to look at: left of the ridge a layer gets faster only by moving less.

Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for multicore
architectures", CACM 52(4), 2009.
"""

from dataclasses import dataclass

import numpy as np

Number = float | np.ndarray


@dataclass(frozen=True)
class Roof:
    """A machine's two ceilings: operations and bytes a second."""

    operations_per_second: float
    bytes_per_second: float

    def __post_init__(self) -> None:
        for name in ("operations_per_second", "bytes_per_second"):
            value = getattr(self, name)
            if not 0 < value < np.inf:
                raise ValueError(f"{name} must be a positive finite number, not {value!r}")

    @property
    def ridge(self) -> float:
        """The intensity from which on arithmetic is the limit, in operations per byte."""
        return self.operations_per_second / self.bytes_per_second

    def attainable(self, intensity: Number) -> Number:
        """Operations a second that no layer of this intensity exceeds."""
        return np.minimum(self.operations_per_second, self.bytes_per_second * intensity)

    def seconds(self, work: Number, nbytes: Number) -> Number:
        """No layer with so much work on so many moved bytes is faster."""
        return np.maximum(work / self.operations_per_second, nbytes / self.bytes_per_second)

    def limit(self, intensity: float) -> str:
        """What holds such a layer back: "memory" or "arithmetic"."""
        return "memory" if intensity < self.ridge else "arithmetic"
