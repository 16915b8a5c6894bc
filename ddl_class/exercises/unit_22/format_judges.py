"""The judges of formats, scales and accumulators in unit 22, and answers that take the learner's
place until theirs are right."""

from collections.abc import Callable
from functools import partial

import numpy as np

from ddl_class.exercises.kit import AnyOf, Attempt, ask, held, ranks, run_ranks, texts, within
from ddl_teach.operators.precision.eight_bits import E4M3, E5M2, cast, scaled

ROUND, CAST, SCALE, BLOCKS, PROMOTE, CHANCE, AGREE = texts(
    __package__, "round", "cast", "scale", "blocks", "promote", "stochastic", "agree"
)
CLOSE = within(1e-9, 1e-15)
LARGEST = 448.0
Cast = Callable[[np.ndarray], np.ndarray]
to_e4m3: Cast = partial(cast, kind=E4M3)


def four_bits(x: np.ndarray) -> np.ndarray:
    """`x` with four significant bits, whatever its size."""
    _, exponent = np.frexp(x)
    spacing = np.ldexp(1.0, exponent - 4)
    return np.asarray(np.round(x / spacing) * spacing)


def in_blocks(x: np.ndarray, block: int, cast: Cast = to_e4m3) -> np.ndarray:
    """What is left of `x` with a scale of its own for each block."""
    rows = x.reshape(-1, block)
    amax = np.abs(rows).max(axis=1, keepdims=True)
    scale = LARGEST / np.where(amax > 0, amax, 1)
    return np.asarray(cast(rows * scale) / scale).reshape(x.shape)


def short_add(total: float, term: float) -> float:
    """A sum of which an accumulator keeps eight bits."""
    _, exponent = np.frexp(total + term)
    return float(np.ldexp(np.trunc(np.ldexp(total + term, 8 - exponent)), exponent - 8))


def handed_on(
    terms: np.ndarray, every: int, add: Callable[[float, float], float] = short_add
) -> float:
    """The sum, of which a short accumulator never holds more than `every` terms."""
    total = 0.0
    for begin in range(0, len(terms), every):
        part = 0.0
        for term in terms[begin : begin + every]:
            part = add(part, term)
        total += part
    return total


def judge_round(attempt: Attempt) -> None:
    """Four significant bits."""
    for x in (np.array([17.0, 1.1, 0.3, -5.3]), 100 * attempt.generator.standard_normal(20)):
        steps = np.ldexp(1.0, np.frexp(x)[1] - 4)
        ask(attempt, ROUND, (x,), four_bits(x), same=CLOSE).compare(
            three=np.round(x / steps / 2) * steps * 2,
            five=np.round(x / steps * 2) * steps / 2,
            cut=np.trunc(x / steps) * steps,
            undone=np.round(x / steps),
        )


def judge_cast(attempt: Attempt) -> None:
    """E4M3, with its small and large ends."""
    draw = attempt.generator
    samples = [2.0 ** draw.uniform(-3, 8, 20), 2.0 ** draw.uniform(-12, -5, 20)]
    for x in (*samples, np.array([470.0, -1e6, 30.0]), np.zeros(2)):
        right = to_e4m3(x)
        answer = ask(attempt, CAST, (x,), right, same=CLOSE)
        CAST.refuse_if({"call": answer.setting}, not_finite=not np.isfinite(answer.result).all())
        answer.compare(
            no_small=four_bits(x).clip(-LARGEST, LARGEST),
            too_large=np.where(np.abs(x) > LARGEST, four_bits(x), right),
            e5m2=cast(x, E5M2),
            zeros=np.where(np.abs(x) < 2.0**-6, 0, right),
        )


def judge_scale(attempt: Attempt) -> None:
    """Scaled, cast and scaled back."""
    for factor in (1e-4, 1.0, 1e5):
        x = attempt.generator.standard_normal(30) * factor
        x[0] = -4 * factor
        right = scaled(x, E4M3, np.array(LARGEST / np.abs(x).max()))
        ask(attempt, SCALE, (x,), right, same=CLOSE).compare(
            unscaled=to_e4m3(x), not_back=right * LARGEST / np.abs(x).max()
        )


def judge_blocks(attempt: Attempt) -> None:
    """A scale for each block."""
    for size, block in ((8, 4), (64, 16), (6, 6), (12, 4)):
        x = attempt.generator.standard_normal(size) * 10.0 ** np.arange(size)[::-1]
        x[-block:] *= size != 12
        answer = ask(attempt, BLOCKS, (x, block), in_blocks(x, block), same=CLOSE)
        BLOCKS.refuse_if({"call": answer.setting}, zeros=np.isnan(answer.result).any())
        columns = in_blocks(x.reshape(-1, block).T.ravel(), size // block)
        answer.compare(
            whole=in_blocks(x, size),
            columns=columns.reshape(block, -1).T.ravel(),
            unscaled=to_e4m3(x),
        )


def judge_promote(attempt: Attempt) -> None:
    """Short sums into a long one."""
    for count, every in ((64, 16), (70, 16), (5, 8), (300, 32)):
        terms = attempt.generator.uniform(0.5, 1.5, count)
        right = handed_on(terms, every)
        ask(attempt, PROMOTE, (terms, every), right, same=CLOSE).compare(
            last=handed_on(terms[: count // every * every], every),
            never=handed_on(terms, count),
            exact=float(terms.sum()),
            kept=_kept(terms, every),
        )


def _kept(terms: np.ndarray, every: int) -> float:
    """As if the short sum went on after it was handed over."""
    total = part = 0.0
    for place, term in enumerate(terms):
        part = short_add(part, term)
        total += part if (place + 1) % every == 0 or place + 1 == len(terms) else 0.0
    return total


def judge_stochastic(attempt: Attempt) -> None:
    """Up or down, by the draw."""
    for size in (6, 40):
        x, draws = attempt.generator.standard_normal(size), attempt.generator.random(size)
        steps, spacing = x / 0.125, 0.125
        right = np.floor(steps + draws) * spacing
        ask(attempt, CHANCE, (x, spacing, draws), right, same=CLOSE).compare(
            nearest=np.round(steps) * spacing,
            half=np.where(draws < 0.5, np.floor(steps), np.ceil(steps)) * spacing,
            turned=np.where(draws < steps - np.floor(steps), np.floor(steps), np.ceil(steps))
            * spacing,
            toward=np.sign(x) * np.floor(np.abs(steps) + draws) * spacing,
            undone=np.floor(steps + draws),
            noisy=np.round(steps + draws) * spacing,
        )


def judge_agree(attempt: Attempt) -> None:
    """One scale for all ranks."""
    for count in ranks.first(3, attempt.counts):
        own = attempt.generator.standard_normal((count, 6)) * 3.0 ** np.arange(count)[:, None]
        own[:, 0] = -np.abs(own).max(axis=1) - 1
        call, outcome = run_ranks(attempt, AGREE, [(x,) for x in own])
        single = np.abs(own).max(axis=1)
        for rank, answer in reversed(list(enumerate(outcome.results))):
            held(AGREE, call, rank, answer, LARGEST / single.max(), same=CLOSE).compare(
                signed=AnyOf(LARGEST / own.max(), LARGEST / abs(own.max())),
                total=LARGEST / single.sum(),
                mean=LARGEST / single.mean(),
                largest_scale=LARGEST / single.min(),
                alone=LARGEST / single[rank],
                amax=single.max(),
            )
