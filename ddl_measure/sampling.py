"""What samplers hand out: the classes of each rank, samples left out, and how long it takes.

A rank that sees few classes computes gradients of another problem, and no average later knows of
it. How far a share of n samples is from the data's own balance p is half the sum of absolute
differences (total variation). Chance alone makes it about

    1/2 sum over classes of sqrt(2 p (1-p) / (pi n))

so that is what a bias has to be compared with. (Deep500 calls it dataset bias: Ben-Nun et al.
2019.) What to look at: biases of a fair sampler fall like 1/sqrt(n), those of an unfair one stay.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ddl_runtime.core.checks import whole_number

Sampler = Callable[[int, int, int], np.ndarray]
"""`sampler(part, parts, step)`: the places of the samples that this part gets in this step."""


@dataclass(frozen=True)
class Balance:
    """How often each part was given each class, and the data's own shares of the classes.

    `seen` says of every sample how often it was handed out, to whomever.
    """

    counts: np.ndarray
    shares: np.ndarray
    seen: np.ndarray

    @property
    def bias(self) -> np.ndarray:
        """The bias of each part, from 0 (balanced as the data are) to nearly 1 (one rare class
        alone)."""
        own = self.counts / self.counts.sum(axis=1, keepdims=True)
        return np.abs(own - self.shares).sum(axis=1) / 2

    @property
    def chance(self) -> np.ndarray:
        """The bias that is expected of each part if samples are drawn blindly."""
        drawn = self.counts.sum(axis=1, keepdims=True)
        spread = 2 * self.shares * (1 - self.shares) / (np.pi * drawn)
        return np.sqrt(spread).sum(axis=1) / 2

    @property
    def never_seen(self) -> float:
        return float(np.mean(self.seen == 0))


def class_balance(sampler: Sampler, classes: np.ndarray, parts: int, steps: int) -> Balance:
    """Call the sampler for all parts and `steps` steps, and count the classes of each part and how
    often each sample came.

    `classes` are those of all samples, whole numbers from 0.
    """
    classes = np.asarray(classes)
    if classes.ndim != 1 or classes.dtype.kind not in "iu" or classes.min(initial=0) < 0:
        raise ValueError(
            f"classes of shape {classes.shape} and type {classes.dtype}: give one whole number "
            "from 0 for every sample"
        )
    whole_number(parts, f"parts={parts}", least=1)
    whole_number(steps, f"steps={steps}", least=1)
    kinds = int(classes.max()) + 1
    counts, seen = np.zeros((parts, kinds), np.int64), np.zeros(len(classes), np.int64)
    for part, step in np.ndindex(parts, steps):
        places = np.asarray(sampler(part, parts, step))
        wrong, last = "", len(classes) - 1
        if not places.size:
            wrong = "nothing at all"
        elif places.dtype.kind not in "iu":
            wrong = f"{places.dtype}: places are whole numbers"
        elif places.min() < 0 or places.max() > last:
            wrong = f"places {places.min()} to {places.max()}, but samples are 0 to {last}"
        if wrong:
            raise ValueError(f"the sampler gave part {part} of {parts} in step {step} {wrong}")
        counts[part] += np.bincount(classes[places], minlength=kinds)
        np.add.at(seen, places, 1)
    return Balance(counts, np.bincount(classes, minlength=kinds) / len(classes), seen)


def sampler_latency(
    sampler: Callable[[int], object], steps: int, *, clock: Callable[[], float] = time.perf_counter
) -> np.ndarray:
    """The seconds of each of `steps` calls `sampler(step)`, one after the other, first included.

    The first call of a pass often shuffles: it belongs to what a training waits for.
    """
    seconds = np.empty(whole_number(steps, f"steps={steps}", least=1))
    for step in range(steps):
        begun = clock()
        sampler(step)
        seconds[step] = clock() - begun
    return seconds
