"""Large batches: what a step gains from more samples, and the wall that throughput hides.

A gradient over a batch of B samples is the true one, of squared length |G|^2, plus noise of
squared length tr(S)/B. With the noise scale N = tr(S)/|G|^2, counted in samples, and the best
rate,

    gain of a step     = gain of a noiseless one / (1 + N/B)
    steps to a target  = fewest (1 + N/B)               never below `fewest`
    samples            = fewest (B + N)                 never below fewest N
    best rate          = greatest / (1 + N/B)           linear while B << N, constant beyond

P ranks with b samples each make batches of P b. Time to the target is steps x seconds a step, so
against one rank the speed-up stays below 1 + N/b. More ranks do not change that. McCandlish et al.
2018; the same three regimes measured in Shallue, Lee, Antognini, Sohl-Dickstein, Frostig and Dahl,
"Measuring the effects of data parallelism on neural network training", JMLR 2019.
What to look at: at B = N, the knee, steps and samples are double the fewest. N grows while the
loss falls.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Numbers = float | np.ndarray


@dataclass(frozen=True)
class StepsToTarget:
    """The steps that a training needs to reach a target, for every batch size, by two numbers."""

    fewest: float  # with a batch without limit
    noise_scale: float  # N, in samples

    def steps(self, batch: Numbers) -> Numbers:
        return self.fewest * (1 + self.noise_scale / batch)

    def samples(self, batch: Numbers) -> Numbers:
        return self.steps(batch) * batch

    def speed_up(self, ranks: Numbers, samples: float, efficiency: Numbers = 1.0) -> Numbers:
        """Time to the target against one rank, each rank with its own `samples` of a batch.

        `efficiency` is how much of P times the throughput is left once messages are paid for.
        """
        return efficiency * self.steps(samples) / self.steps(ranks * samples)

    def wall(self, samples: float) -> float:
        """The speed-up over one rank that no number of ranks reaches: 1 + N/b."""
        return 1 + self.noise_scale / samples


def fit_steps(batches: Sequence[float], steps: Sequence[float]) -> StepsToTarget:
    """The hyperbola through measured steps; relative errors count, so all batches weigh alike. The
    noise scale is zero where steps do not fall with the batch."""
    sizes, counts = np.asarray(batches, float), np.asarray(steps, float)
    if len(np.unique(sizes)) < 2 or sizes.shape != counts.shape:
        raise ValueError(
            f"{len(sizes)} batches and {len(counts)} counts of steps: the fit needs at least two "
            "different batches, and one count of steps for each of them"
        )
    if not (np.isfinite(counts).all() and (counts > 0).all()):
        raise ValueError(
            f"steps={counts.tolist()}: leave out the batches with which the target was not reached"
        )
    terms = np.stack([1 / counts, 1 / sizes / counts], axis=1)  # of relative errors
    (fewest, extra), *_ = np.linalg.lstsq(terms, np.ones_like(counts), rcond=None)
    if extra <= 0:
        return StepsToTarget(float(1 / np.mean(1 / counts)), 0.0)
    if fewest <= 0:
        raise ValueError("the steps fall as fast as batches grow: no limit yet, try larger ones")
    return StepsToTarget(float(fewest), float(extra / fewest))


def best_rate(batch: Numbers, greatest: float, noise_scale: float) -> Numbers:
    """The rate that gains most per step, where `greatest` is best without noise.

    >>> best_rate(100, greatest=1.0, noise_scale=300)
    0.25
    """
    return greatest / (1 + noise_scale / batch)


def noise_and_signal(
    small: float, small_batch: float, large: float, large_batch: float
) -> tuple[float, float]:
    """tr(S) and |G|^2, without bias, from squared lengths of gradients over two sizes of batch.

    Each squared length is |G|^2 + tr(S)/B on average: two equations. In data parallel training
    both are at hand, before the all-reduce and after it. By chance either may be negative: divide
    the means of many steps (McCandlish et al. 2018, appendix A).

    >>> noise_and_signal(small=9.0, small_batch=10, large=5.0, large_batch=50)
    (50.0, 4.0)
    """
    if not 0 < small_batch < large_batch:
        raise ValueError(
            f"batches of {small_batch} and {large_batch}: both must be above 0, and the second "
            "the larger. On one rank there is only one size: split its samples in two."
        )
    noise = (small - large) / (1 / small_batch - 1 / large_batch)
    signal = (large_batch * large - small_batch * small) / (large_batch - small_batch)
    return noise, signal
