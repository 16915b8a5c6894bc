"""The judges of unit 13, first half: a rate that scales and warms up, the noise of gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ddl_teach.course.exercises.answers import number
from ddl_teach.course.exercises.exercise import Stage, Wrong
from ddl_teach.theory.large_batches import noise_and_signal

CLOSE = 1e-9
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
            right = _rate(*given)
            if not _same(said, right):
                near = next((why for wrong, why in _wrong_rates(*given) if _same(said, wrong)), "")
                raise Wrong(f"{call} gives {said:.6g}, and {right:.6g} is right. {near}".rstrip())


def _rate(step: int, batch: int, base: float, reference: int, warm_up: int) -> float:
    peak = base * batch / reference
    return peak if step > warm_up else base + (peak - base) * (step - 1) / warm_up


def _wrong_rates(
    step: int, batch: int, base: float, reference: int, warm_up: int
) -> Iterator[tuple[float, str]]:
    """What the usual mistakes give in this step."""
    peak = base * batch / reference
    share = (step - 1) / max(warm_up, 1)
    yield (
        _rate(step, reference, base, batch, warm_up),
        "The batch is divided by the reference, not the other way round.",
    )
    yield (
        _rate(step, 1, base * math.sqrt(batch / reference), 1, 0),
        "That grows with the square root of the batch; here the rate grows as the batch does.",
    )
    if step > warm_up:
        yield base, "After the warm-up the rate must be base * batch / reference."
        yield (
            base + (peak - base) * share,
            "The rate goes on rising after the warm-up: from step warm_up + 1 on it stays.",
        )
        yield (
            base + (peak - base) * (step - 1) / (warm_up + 1),
            "Steps are counted from 1: after warm_up steps of the same size the peak is reached, "
            "in step warm_up + 1.",
        )
    else:
        yield peak, "That is the rate at the end, at once: where is the warm-up?"
        yield (
            peak * share,
            "The warm-up begins at `base`, the rate that is right for the reference, not at zero.",
        )
        yield (
            peak * step / max(warm_up, 1),
            "The warm-up begins at `base`, the rate that is right for the reference, not at zero.",
        )
        yield (
            base + (peak - base) * step / max(warm_up, 1),
            "Steps are counted from 1: in step 1 nothing has been added yet.",
        )


def judge_noise(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """tr(S) and |G|^2 from what every rank has before and after the all-reduce."""
    for count in sorted(ranks):
        size, samples = int(generator.integers(5, 30)), int(generator.integers(2, 40))
        own = [generator.normal(1.0, 1.0, size) for _ in range(count)]
        right = _noise(own, samples)
        usual = dict(_wrong_noises(own, samples))
        outcome = stage.run(count, [(gradient, samples) for gradient in own])
        call = f"noise_and_signal on {count} ranks with {samples} samples each"
        for rank, value in enumerate(outcome.results):
            said = _pair(value, f"{call}: return two numbers, the noise and the signal", rank)
            if all(map(_same, said, right)):
                continue
            near = next(
                (why for why, wrong in usual.items() if all(map(_same, said, wrong(rank)))), ""
            )
            raise Wrong(
                f"{call}: rank {rank} returns {said[0]:.6g} and {said[1]:.6g}, and {right[0]:.6g} "
                f"and {right[1]:.6g} are right. {near}".rstrip()
            )


def _noise(
    own: Layers, samples: float, small: float | None = None, large: float | None = None
) -> tuple[float, float]:
    mean = np.mean(own, axis=0)
    lengths = [float(gradient @ gradient) for gradient in own]
    return noise_and_signal(
        float(np.mean(lengths)) if small is None else small, samples,
        float(mean @ mean) if large is None else large, samples * len(own),
    )  # fmt: skip


def _wrong_noises(
    own: Layers, samples: int
) -> Iterator[tuple[str, Callable[[int], tuple[float, float]]]]:
    count, (noise, signal) = len(own), _noise(own, samples)
    mean, total = np.mean(own, axis=0), np.sum(own, axis=0)
    large, huge = float(mean @ mean), float(total @ total)
    small = float(np.mean([gradient @ gradient for gradient in own]))
    yield "The two are swapped: the noise comes first.", lambda rank: (signal, noise)
    yield (
        "That is what is measured, not yet what is behind it: |mean|^2 still has noise in it. "
        "Solve the two equations.",
        lambda rank: (samples * (small - large), large),
    )
    yield (
        "The noise is that of one sample: multiply by `samples`.",
        lambda rank: (noise / samples, signal),
    )
    yield (
        "The signal is right. In the noise the share P / (P - 1) is missing: a mean of P "
        "gradients still has 1/P of the noise of one.",
        lambda rank: (samples * (small - large), signal),
    )
    yield (
        "That is made from this rank's own |g|^2: average that over all ranks too.",
        lambda rank: _noise(own, samples, small=float(own[rank] @ own[rank])),
    )
    yield (
        "That is made from the sum of the gradients: divide it by comm.size.",
        lambda rank: _noise(own, samples, large=huge),
    )
    yield (
        "add_up changed `gradient` before you took its length: add up a copy.",
        lambda rank: _noise(own, samples, small=huge),
    )
    yield (
        "The mean of the |g|^2 is wanted, over the ranks: divide their sum by comm.size.",
        lambda rank: _noise(own, samples, small=count * small),
    )


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=CLOSE, abs_tol=1e-12)


def _pair(value: Any, wanted: str, rank: int) -> tuple[float, float]:
    if value is None:
        raise Wrong(f"{wanted}; rank {rank} returns None. Is a `return` missing?")
    try:
        noise, signal = value
    except (TypeError, ValueError):
        raise Wrong(f"{wanted}, as in `return noise, signal`; not {str(value)[:60]}.") from None
    return number(noise, wanted, part="the noise"), number(signal, wanted, part="the signal")
