"""The judges of unit 13, first half: a rate that scales and warms up, the noise of gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ddl_class.exercises.exercise import Stage
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

Layers = list[np.ndarray]


def judge_rate(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
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


def judge_noise(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """tr(S) and |G|^2 from what every rank has before and after the all-reduce."""
    for count in sorted(ranks):
        size, samples = int(generator.integers(5, 30)), int(generator.integers(2, 40))
        own = [generator.normal(1.0, 1.0, size) for _ in range(count)]
        outcome = stage.run(count, [(gradient, samples) for gradient in own])
        call = f"noise_and_signal on {count} ranks with {samples} samples each"
        wanted = f"{call}: return two numbers, as in `return noise, signal`"
        for rank, value in enumerate(outcome.results):
            said = numbers(value, ("the noise", "the signal"), f"{wanted}, on rank {rank}")
            usual = _wrong_noises(own, samples, own[rank])
            compare(f"{call}: rank {rank}", said, _noise(own, samples), usual, same=SAME)


def _noise(
    own: Layers, samples: float, small: float | None = None, large: float | None = None
) -> list[float]:
    mean = np.mean(own, axis=0)
    lengths = [float(gradient @ gradient) for gradient in own]
    return list(noise_and_signal(
        float(np.mean(lengths)) if small is None else small, samples,
        float(mean @ mean) if large is None else large, samples * len(own),
    ))  # fmt: skip


def _wrong_noises(own: Layers, samples: int, mine: np.ndarray) -> dict[str, list[float]]:
    count, (noise, signal) = len(own), _noise(own, samples)
    mean, total = np.mean(own, axis=0), np.sum(own, axis=0)
    large, huge = float(mean @ mean), float(total @ total)
    small = float(np.mean([gradient @ gradient for gradient in own]))
    return {
        "The two are swapped: the noise comes first": [signal, noise],
        "That is what is measured, not yet what is behind it: |mean|^2 still has noise in it. "
        "Solve the two equations": [samples * (small - large), large],
        "The noise is that of one sample: multiply by `samples`": [noise / samples, signal],
        "The signal is right. In the noise the share P / (P - 1) is missing: a mean of P "
        "gradients still has 1/P of the noise of one": [samples * (small - large), signal],
        "That is made from this rank's own |g|^2: average that over all ranks too": (
            _noise(own, samples, small=float(mine @ mine))
        ),
        "That is made from the sum of the gradients: divide it by comm.size": (
            _noise(own, samples, large=huge)
        ),
        "add_up changed `gradient` before you took its length: add up a copy": (
            _noise(own, samples, small=huge)
        ),
        "The mean of the |g|^2 is wanted, over the ranks: divide their sum by comm.size": (
            _noise(own, samples, small=count * small)
        ),
    }
