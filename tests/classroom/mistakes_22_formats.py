"""The usual mistakes with eight bits: casts, scales, sums; and words of the message for each."""

import numpy as np

from ddl_class.exercises.unit_22.format_judges import (
    four_bits,
    handed_on,
    in_blocks,
    short_add,
    to_e4m3,
)
from ddl_teach import Comm
from ddl_teach.operators.precision.eight_bits import E5M2, cast


def bits(count: int, rounded=np.round, back: bool = True):
    """Right with four bits, and as the other arguments say."""

    def nearest(x: np.ndarray) -> np.ndarray:
        spacing = 2.0 ** (np.frexp(x)[1] - count)
        return rounded(x / spacing) * (spacing if back else 1)

    return nearest


def open_end(x: np.ndarray) -> np.ndarray:
    spacing = 2.0 ** (np.maximum(np.frexp(x)[1], -5) - 4)
    return np.round(x / spacing) * spacing


def no_subnormal(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < 2.0**-6, 0, to_e4m3(x))


def by_logarithm(x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        spacing = 2.0 ** (np.floor(np.log2(np.abs(x))) - 3)
        return np.round(x / spacing) * spacing


def not_back(x: np.ndarray) -> np.ndarray:
    return to_e4m3(448 / np.abs(x).max() * x)


def by_columns(x: np.ndarray, block: int) -> np.ndarray:
    return in_blocks(x.reshape(-1, block).T.ravel(), len(x) // block).reshape(block, -1).T.ravel()


def divided_by_zero(x: np.ndarray, block: int) -> np.ndarray:
    rows = x.reshape(-1, block)
    with np.errstate(all="ignore"):
        scale = 448 / np.abs(rows).max(axis=1, keepdims=True)
        return (to_e4m3(rows * scale) / scale).ravel()


def goes_on(terms: np.ndarray, every: int) -> float:
    total = part = 0.0
    for place, term in enumerate(terms):
        part = short_add(part, term)
        if (place + 1) % every == 0 or place + 1 == len(terms):
            total += part
    return total


def last_forgotten(terms: np.ndarray, every: int) -> float:
    return handed_on(terms[: len(terms) // every * every], every)


def coin(x: np.ndarray, spacing: float, draws: np.ndarray) -> np.ndarray:
    return np.where(draws < 0.5, np.floor(x / spacing), np.ceil(x / spacing)) * spacing


def turned(x: np.ndarray, spacing: float, draws: np.ndarray) -> np.ndarray:
    steps = x / spacing
    up = draws >= steps - np.floor(steps)
    return np.where(up, np.ceil(steps), np.floor(steps)) * spacing


def agreed(combine, own=lambda x: np.abs(x).max(), scale=True):
    """Right, but for what the arguments say."""

    def agree(comm: Comm, x: np.ndarray) -> float:
        mine, arrived, every = np.array([own(x)]), np.empty(1), [own(x)]
        for distance in range(1, comm.size):
            to, source = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
            comm.sendrecv(mine, to, arrived, source)
            every.append(arrived[0])
        return 448 / combine(every) if scale else combine(every)

    return agree


MISTAKES = [
    ("22.round", bits(3), "three significant bits"),
    ("22.round", bits(5), "five significant bits"),
    ("22.round", bits(4, np.trunc), "np.round, not the one nearer to zero"),
    ("22.round", bits(4, back=False), "Multiply by the spacing again"),
    ("22.round", lambda x: np.round(x, 4), "Neighbours are 2^(exponent - 4) apart"),
    ("22.cast", lambda x: four_bits(x).clip(-448, 448), "neighbours come no closer"),
    ("22.cast", open_end, "448 is the largest number"),
    ("22.cast", lambda x: cast(x, E5M2), "That is E5M2"),
    ("22.cast", no_subnormal, "there are still numbers"),
    ("22.cast", by_logarithm, "neighbours come no closer"),
    ("22.scale", to_e4m3, "before the cast"),
    ("22.scale", not_back, "Divide by the scale after the cast"),
    ("22.blocks", lambda x, block: in_blocks(x, len(x)), "one scale for all"),
    ("22.blocks", by_columns, "The blocks are the rows"),
    ("22.blocks", divided_by_zero, "has become nan"),
    ("22.blocks", lambda x, block: to_e4m3(x), "Multiply each block by its scale"),
    ("22.promote", last_forgotten, "after the last full block are missing"),
    ("22.promote", lambda terms, every: handed_on(terms, len(terms)), "never handed over"),
    ("22.promote", lambda terms, every: terms.sum(), "add the terms with short_add"),
    ("22.promote", goes_on, "set it to 0 again"),
    ("22.stochastic", lambda x, gap, draws: np.round(x / gap) * gap, "use the draws"),
    ("22.stochastic", coin, "Up and down come equally often"),
    ("22.stochastic", turned, "Up and down are swapped"),
    (
        "22.stochastic",
        lambda x, gap, draws: np.sign(x) * np.floor(np.abs(x / gap) + draws) * gap,
        "Negative numbers go the wrong way",
    ),
    ("22.stochastic", lambda x, gap, draws: np.floor(x / gap + draws), "by the spacing again"),
    ("22.stochastic", lambda x, gap, draws: np.round(x / gap + draws) * gap, "half a step"),
    ("22.agree", lambda comm, x: 448 / np.abs(x).max(), "the rank's own scale"),
    ("22.agree", agreed(max, own=lambda x: x.max()), "np.abs"),
    ("22.agree", agreed(sum), "That is the sum"),
    ("22.agree", agreed(np.mean), "That is the mean"),
    ("22.agree", agreed(min), "the scale of the smallest amax"),
    ("22.agree", agreed(max, scale=False), "return 448 divided by it"),
]
