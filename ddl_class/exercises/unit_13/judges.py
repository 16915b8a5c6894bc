"""The judges of unit 13: a rate that scales and warms up, noise of gradients, LARS over ranks."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramRunner
from ddl_class.exercises.kit.answers import number, numbers
from ddl_class.exercises.kit.compare import any_of, compare, within
from ddl_teach.theory.large_batches import noise_and_signal

SAME = within(1e-9, 1e-12)
BASE = "The warm-up begins at `base`, the rate that is right for the reference, not at zero"
SCHEDULES = (  # batch, base, reference, warm-up
    (256, 0.25, 32, 40),
    (8, 0.5, 32, 10),  # a smaller batch than the reference: the rate falls
    (32, 0.25, 32, 5),
    (128, 0.1, 32, 0),  # no warm-up at all
    (1024, 0.05, 64, 1),
)


def judge_rate(stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """From base to base x batch / reference in so many equal steps, and constant then."""
    drawn = [
        (
            int(generator.integers(1, 2000)), float(generator.uniform(0.01, 1)),
            int(generator.integers(1, 300)), int(generator.integers(2, 60)),
        )
        for _ in range(5)
    ]  # fmt: skip
    for batch, base, reference, warm_up in (*SCHEDULES, *drawn):
        for step in (3 * warm_up + 9, 1, warm_up + 1, warm_up + 2, warm_up, 1 + warm_up // 2):
            if step < 1:
                continue
            given = (step, batch, base, reference, warm_up)
            call = f"learning_rate(step={step}, batch={batch}, base={base:.4g}, "
            call += f"reference={reference}, warm_up={warm_up})"
            said = number(stage.call(*given), f"{call}: return the rate")
            compare(call, said, _rate(*given), _wrong_rates(*given), same=SAME)


def _rate(step: int, batch: int, base: float, reference: int, warm_up: int) -> float:
    peak = base * batch / reference
    return peak if step > warm_up else base + (peak - base) * (step - 1) / warm_up


def _wrong_rates(
    step: int, batch: int, base: float, reference: int, warm_up: int
) -> dict[str, object]:
    """What the usual mistakes give in this step."""
    peak, few = base * batch / reference, max(warm_up, 1)
    share = (step - 1) / few
    usual: dict[str, object] = {
        "The batch is divided by the reference, not the other way round": (
            _rate(step, reference, base, batch, warm_up)
        ),
        "That grows with the square root of the batch; here the rate grows as the batch does": (
            base * math.sqrt(batch / reference)
        ),
    }
    if step > warm_up:
        return usual | {
            "After the warm-up the rate must be base * batch / reference": base,
            "The rate goes on rising after the warm-up: from step warm_up + 1 on it stays": (
                base + (peak - base) * share
            ),
            "Steps are counted from 1: after warm_up steps of the same size the peak is reached, "
            "in step warm_up + 1": base + (peak - base) * (step - 1) / (warm_up + 1),
        }
    return usual | {
        "That is the rate at the end, at once: where is the warm-up?": peak,
        BASE: any_of(peak * share, peak * step / few),
        "Steps are counted from 1: in step 1 nothing has been added yet": (
            base + (peak - base) * step / few
        ),
    }


def judge_noise(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """tr(S) and |G|^2 from what every rank has before and after the all-reduce."""
    for count in sorted(ranks):
        size, samples = int(generator.integers(5, 30)), int(generator.integers(2, 40))
        own = generator.normal(1.0, 1.0, (count, size))
        outcome = stage.run(count, [(gradient, samples) for gradient in own])
        call = f"noise_and_signal on {count} ranks with {samples} samples each"
        wanted = f"{call}: return two numbers, as in `return noise, signal`"
        for rank, value in enumerate(outcome.results):
            said = numbers(value, ("the noise", "the signal"), f"{wanted}, on rank {rank}")
            usual = _wrong_noises(own, samples, own[rank])
            compare(f"{call}: rank {rank}", said, _noise(own, samples), usual, same=SAME)


def _noise(
    own: np.ndarray, samples: float, small: float | None = None, large: float | None = None
) -> list[float]:
    small = (own**2).sum(axis=1).mean() if small is None else small
    large = (own.mean(axis=0) ** 2).sum() if large is None else large
    return list(noise_and_signal(small, samples, large, samples * len(own)))


def _wrong_noises(own: np.ndarray, samples: int, mine: np.ndarray) -> dict[str, list[float]]:
    count, wrong = len(own), partial(_noise, own, samples)
    noise, signal = wrong()
    large, huge = ((vector**2).sum() for vector in (own.mean(axis=0), own.sum(axis=0)))
    small = (own**2).sum(axis=1).mean()
    return {
        "The two are swapped: the noise comes first": [signal, noise],
        "That is what is measured, not yet what is behind it: |mean|^2 still has noise in it. "
        "Solve the two equations": [samples * (small - large), large],
        "The noise is that of one sample: multiply by `samples`": [noise / samples, signal],
        "The signal is right. In the noise the share P / (P - 1) is missing: a mean of P "
        "gradients still has 1/P of the noise of one": [samples * (small - large), signal],
        "That is made from this rank's own |g|^2: average that over all ranks too": (
            wrong(small=mine @ mine)
        ),
        "That is made from the sum of the gradients: divide it by comm.size": wrong(large=huge),
        "add_up changed `gradient` before you took its length: add up a copy": wrong(small=huge),
        "The mean of the |g|^2 is wanted, over the ranks: divide their sum by comm.size": (
            wrong(small=count * small)
        ),
    }


MOMENTUM = 0.9
SHAPES = ((6, 4), (4,), (4, 3))  # three layers
SIZES = [math.prod(shape) for shape in SHAPES]
LAYER = np.repeat(range(len(SHAPES)), SIZES)  # of each number, where all are in one vector


def judge_lars(stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """One step with momentum, of the averaged gradients, each layer by its own |w| / |g|."""
    for count in sorted(ranks, key=lambda count: count == 1):  # there most mistakes look alike
        scales = 10.0 ** generator.uniform(-1, 1, (3, len(SHAPES)))[:, LAYER]
        weights, moments, slopes = scales * generator.standard_normal(scales.shape)
        own = slopes + generator.standard_normal((count, len(slopes)))
        rate = float(generator.uniform(0.01, 0.1))
        parts = [list(map(_layers, (weights, gradient, moments))) for gradient in own]
        outcome = stage.run(count, [(*layers, rate) for layers in parts])
        right = _lars(weights, own.mean(axis=0), moments, rate)
        for rank, (found, _, kept, _) in enumerate(outcome.arguments):
            after = [np.concatenate([np.ravel(layer) for layer in part]) for part in (found, kept)]
            usual = _wrong_steps(weights, own, moments, rate, rank)
            otherwise = (
                "In this order: average the gradient, take the two lengths, "
                "m = 0.9 m + rate * trust * g, w -= m"
            )
            told = f"lars on {count} ranks, rank {rank}: the new weights and moments: your step"
            compare(told, after, right, usual, otherwise)


def _layers(vector: np.ndarray) -> list[np.ndarray]:
    parts = np.split(vector, np.cumsum(SIZES)[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, SHAPES, strict=True)]


def _lars(
    weights: np.ndarray, gradient: np.ndarray, moments: np.ndarray, rate: float, trust: Any = None
) -> list[np.ndarray]:
    """Weights and moments after the step."""
    trust = _trust(weights, gradient) if trust is None else trust
    kept = MOMENTUM * moments + rate * trust * gradient
    return [weights - kept, kept]


def _trust(weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """|w| / |g| of each number's layer."""
    return np.sqrt(np.bincount(LAYER, weights**2) / np.bincount(LAYER, gradient**2))[LAYER]


def _wrong_steps(
    weights: np.ndarray, own: np.ndarray, moments: np.ndarray, rate: float, rank: int
) -> dict[str, list[np.ndarray]]:
    """Weights and moments after the usual mistakes."""
    mean, mine = own.mean(axis=0), own[rank]
    trust, wrong = _trust(weights, mean), partial(_lars, weights, mean, moments, rate)
    _, kept = wrong()
    late = MOMENTUM * moments + mean
    whole = np.linalg.norm(weights) / np.linalg.norm(mean)
    return {
        "the weights are as they were. `w = ...` only gives a name to something new; `w -= ...` "
        "changes the array": [weights, moments],
        "the moments are right, but nothing was taken off the weights: w -= m": [weights, kept],
        "that step goes up the hill: w -= m": [weights + kept, kept],
        "that is the step of this rank's own gradients, and every rank makes another one: average "
        "them first": _lars(weights, mine, moments, rate),
        "the lengths are those of this rank's own gradients, and ranks drift apart: average "
        "first, then take the length": wrong(_trust(weights, mine)),
        "that is plain momentum, one rate for all layers: multiply by |w| / |g| of the layer": (
            wrong(1.0)
        ),
        "the ratio is upside down: |w| / |g|. A layer with large gradients steps less": (
            wrong(1 / trust)
        ),
        "those are the lengths of the whole network, one ratio for all: take each layer's own": (
            wrong(whole)
        ),
        "the moments of the steps before are forgotten: m = 0.9 m + ..., in place": (
            _lars(weights, mean, 0 * moments, rate)
        ),
        "rate * trust belongs into the moment: a step that was scaled then is not to be scaled "
        "again by today's lengths": [weights - rate * trust * late, late],
        "the rate is missing: m = 0.9 m + rate * trust * g": wrong(trust / rate),
    }
