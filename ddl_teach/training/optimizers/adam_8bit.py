"""Adam with states of 8 bits: each block of 2048 numbers has a scale, each number one byte.

    scale = max |x| of the block;    byte = the nearest of 256 values to x / scale

The values lie closer near zero: decade by decade, from 10^-7 to 1, with twice as many in each
decade as in the one below it. So small numbers keep their order of magnitude, and large ones their
digits. Adam divides by the root of the second state. If the nearest value of a small square is
zero, its step becomes huge: so here squares above zero get at least the `least` value above it.
Memory: 2 n + 8 n / 2048 bytes of states where Adam in float32 has 8 n. Dettmers, Lewis, Shleifer
and Zettlemoyer, "8-bit optimizers via block-wise quantization", ICLR 2022.
(The paper takes the nearest value, `least=0`, and keeps embeddings in 32 bits.) The vectors of
states hold here what the bytes stand for; `encode` makes the bytes.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from ddl_runtime.core.arrays import Array
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.settings import Checked, Rate, States, at

DECADES = 7


@cache
def code(signed: bool) -> np.ndarray:
    """The 256 values, ascending; of both signs, or from zero on."""
    values = [0.0, 1.0]
    for decade in range(DECADES):
        edges = np.linspace(0.1, 1, (1 if signed else 2) * 2**decade + 1)
        middles = (edges[1:] + edges[:-1]) / 2 * 10.0 ** (decade + 1 - DECADES)
        values += [*middles, *(-middles if signed else ())]
    return np.sort(values)


def encode(
    x: np.ndarray, signed: bool, block: int = 2048, least: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """A byte for each number of a vector, no less than `least` unless it is zero; and the scale of
    each block."""
    rows = np.zeros((-(-len(x) // block), block))
    rows.reshape(-1)[: len(x)] = x
    scales = np.abs(rows).max(axis=1)
    values = code(signed)
    middles = (values[1:] + values[:-1]) / 2
    places = np.searchsorted(middles, rows / np.where(scales > 0, scales, 1)[:, None])
    places = np.maximum(places, least * (rows > 0))
    return places.astype(np.uint8).reshape(-1)[: len(x)], scales.astype(np.float32)


def decode(places: np.ndarray, scales: np.ndarray, signed: bool, block: int = 2048) -> np.ndarray:
    """The numbers that these bytes and scales stand for."""
    values: np.ndarray = code(signed)[places] * np.repeat(scales, block)[: len(places)]
    return values


def state_bytes(size: int, block: int = 2048) -> int:
    """The bytes of both states of `size` weights."""
    return 2 * (size + 4 * -(-size // block))


@dataclass(frozen=True)
class Adam8Bit(Checked):
    """Adam whose states are rounded to bytes after each step. Tensors must be in host memory."""

    rate: Rate = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    block: int = 2048
    least: int = 1
    states = 2
    elementwise = False  # a block has one scale

    def __call__(self, weights: Array, gradient: Array, states: States, step: int) -> None:
        adam = Adam(betas=self.betas, epsilon=self.epsilon)
        weights -= at(self.rate, step) * adam.direction(gradient, states, step)
        for state, signed, least in zip(states, (True, False), (0, self.least), strict=True):
            numbers = np.asarray(state)  # the same memory, if it was a tensor
            bytes_and_scales = encode(numbers, signed, self.block, least)
            numbers[:] = decode(*bytes_and_scales, signed, self.block)
