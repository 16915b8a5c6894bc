"""The judges of formats, scales and accumulators in unit 22, and answers that take the learner's
place until theirs are right."""

from collections.abc import Callable
from functools import partial

import numpy as np

from ddl_class.exercises.exercise import Attempt, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array, number
from ddl_class.exercises.kit.compare import AnyOf, compare, shown, within
from ddl_class.exercises.kit.texts import texts
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
        call, (_, exponent) = f"nearest({shown(x)})", np.frexp(x)
        steps = np.ldexp(1.0, exponent - 4)
        usual = ROUND.each(
            three=np.round(x / steps / 2) * steps * 2,
            five=np.round(x / steps * 2) * steps / 2,
            cut=np.trunc(x / steps) * steps,
            undone=np.round(x / steps),
        )
        result = array(attempt.call(x), ROUND("wanted"), x.shape)
        compare(call, result, four_bits(x), usual, ROUND("otherwise"), CLOSE)


def judge_cast(attempt: Attempt) -> None:
    """E4M3, with its small and large ends."""
    draw = attempt.generator
    samples = [2.0 ** draw.uniform(-3, 8, 20), 2.0 ** draw.uniform(-12, -5, 20)]
    for x in (*samples, np.array([470.0, -1e6, 30.0]), np.zeros(2)):
        right, call = to_e4m3(x), f"cast({shown(x)})"
        usual = CAST.each(
            no_small=four_bits(x).clip(-LARGEST, LARGEST),
            too_large=np.where(np.abs(x) > LARGEST, four_bits(x), right),
            e5m2=cast(x, E5M2),
            zeros=np.where(np.abs(x) < 2.0**-6, 0, right),
        )
        result = array(attempt.call(x), CAST("wanted"), x.shape)
        CAST.refuse_if({"call": call}, not_finite=not np.isfinite(result).all())
        compare(call, result, right, usual, CAST("otherwise"), CLOSE)


def judge_scale(attempt: Attempt) -> None:
    """Scaled, cast and scaled back."""
    for factor in (1e-4, 1.0, 1e5):
        x = attempt.generator.standard_normal(30) * factor
        x[0] = -4 * factor
        right = scaled(x, E4M3, np.array(LARGEST / np.abs(x).max()))
        result = array(attempt.call(x), SCALE("wanted"), x.shape)
        usual = SCALE.each(unscaled=to_e4m3(x), not_back=right * LARGEST / np.abs(x).max())
        compare(f"scaled({shown(x)})", result, right, usual, SCALE("otherwise"), CLOSE)


def judge_blocks(attempt: Attempt) -> None:
    """A scale for each block."""
    for size, block in ((8, 4), (64, 16), (6, 6), (12, 4)):
        x = attempt.generator.standard_normal(size) * 10.0 ** np.arange(size)[::-1]
        x[-block:] *= size != 12
        call = f"in_blocks({shown(x)}, {block})"
        result = array(attempt.call(x, block), BLOCKS("wanted"), x.shape)
        BLOCKS.refuse_if({"call": call}, zeros=np.isnan(result).any())
        columns = in_blocks(x.reshape(-1, block).T.ravel(), size // block)
        usual = BLOCKS.each(
            whole=in_blocks(x, size),
            columns=columns.reshape(block, -1).T.ravel(),
            unscaled=to_e4m3(x),
        )
        compare(call, result, in_blocks(x, block), usual, BLOCKS("otherwise"), CLOSE)


def judge_promote(attempt: Attempt) -> None:
    """Short sums into a long one."""
    for count, every in ((64, 16), (70, 16), (5, 8), (300, 32)):
        terms = attempt.generator.uniform(0.5, 1.5, count)
        call = f"promoted of {count} terms, every={every}"
        result = number(attempt.call(terms, every), PROMOTE("wanted"))
        usual = PROMOTE.each(
            last=handed_on(terms[: count // every * every], every),
            never=handed_on(terms, count),
            exact=float(terms.sum()),
            kept=_kept(terms, every),
        )
        compare(call, result, handed_on(terms, every), usual, PROMOTE("otherwise"), CLOSE)


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
        result = array(attempt.call(x, spacing, draws), CHANCE("wanted"), x.shape)
        usual = CHANCE.each(
            nearest=np.round(steps) * spacing,
            half=np.where(draws < 0.5, np.floor(steps), np.ceil(steps)) * spacing,
            turned=np.where(draws < steps - np.floor(steps), np.floor(steps), np.ceil(steps))
            * spacing,
            toward=np.sign(x) * np.floor(np.abs(steps) + draws) * spacing,
            undone=np.floor(steps + draws),
            noisy=np.round(steps + draws) * spacing,
        )
        right = np.floor(steps + draws) * spacing
        call = f"by_chance({shown(x)}, {spacing}, draws)"
        compare(call, result, right, usual, CHANCE("otherwise"), CLOSE)


def judge_agree(attempt: Attempt) -> None:
    """One scale for all ranks."""
    for count in ranks.first(3, attempt.counts):
        own = attempt.generator.standard_normal((count, 6)) * 3.0 ** np.arange(count)[:, None]
        own[:, 0] = -np.abs(own).max(axis=1) - 1
        call = AGREE("call", ranks=ranks_text(count))
        outcome = ranks.run(attempt, count, [(x.copy(),) for x in own], call)
        amax = np.abs(own).max()
        for rank, answer in reversed(list(enumerate(outcome.results))):
            result = number(answer, AGREE("wanted", rank=rank))
            single = np.abs(own).max(axis=1)
            usual = AGREE.each(
                signed=AnyOf(LARGEST / own.max(), LARGEST / abs(own.max())),
                total=LARGEST / single.sum(),
                mean=LARGEST / single.mean(),
                largest_scale=LARGEST / single.min(),
                alone=LARGEST / single[rank],
                amax=amax,
            )
            message = f"{call}: on rank {rank} it"
            compare(message, result, LARGEST / amax, usual, AGREE("otherwise"), CLOSE)
