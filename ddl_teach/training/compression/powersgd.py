"""PowerSGD: a matrix of gradients as the product of two thin ones.

One step of power iteration, begun where the last step ended, with all ranks' matrices M:

    P = mean(M Q);   P = orthogonalised P;   Q = mean(M^T P);   instead of M comes P Q^T

Both means are sums over ranks, so any all-reduce can make them, and P Q^T is what one process
would find in the mean of all M. Cost: 4 r (m + n) bytes for m x n numbers; vectors (biases) travel
as they are, and so do matrices too small to gain.
Vogels, Karimireddy & Jaggi, "PowerSGD: practical low-rank gradient compression for distributed
optimization", NeurIPS 2019. What to look at: it is no better than its guess Q in the first steps,
and `Feedback` brings later what the guess has missed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from ddl_teach.comm import Comm
from ddl_teach.theory.inputs import count
from ddl_teach.training.compression.compressor import (
    Allreduce,
    Compressor,
    CompressorState,
    checked,
)

Matrices = Sequence[np.ndarray]


@dataclass(frozen=True)
class Matrix:
    """Where a matrix stands in the vector; it may end beyond it, in zeros."""

    begin: int
    rows: int
    columns: int

    @property
    def end(self) -> int:
        return self.begin + self.rows * self.columns


@dataclass(frozen=True)
class PowerSGD(Compressor):
    """Products of `rank` columns. `shapes` are those of the layers; without, one square matrix."""

    rank: int = 2
    shapes: tuple[tuple[int, ...], ...] = ()
    seed: int = 0
    sums = True

    def __post_init__(self) -> None:
        count("rank", self.rank)

    def stream(self, seed: int = 0) -> CompressorState:
        """All ranks must begin with the same Q: they follow from the compressor's own seed."""
        return PowerLink(self, self.seed)

    def matrices(self, size: int) -> list[Matrix]:
        """The parts of the vector that are compressed."""
        if not self.shapes:
            rows = math.isqrt(max(0, size - 1)) + 1
            found = [Matrix(0, rows, -(-size // rows))]
        else:
            *begins, end = accumulate(map(math.prod, self.shapes), initial=0)
            if end != size:
                raise ValueError(
                    f"the shapes hold {end} numbers, the vector {size}: give the shapes of "
                    "all layers of this vector, or none if it is a part of them"
                )
            found = [
                Matrix(begin, shape[0], math.prod(shape[1:]))
                for begin, shape in zip(begins, self.shapes, strict=True)
                if len(shape) > 1
            ]
        return [it for it in found if self.rank * (it.rows + it.columns) < it.rows * it.columns]

    def encode(self, vector: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        stream = PowerLink(self)
        stream.generator = generator
        return stream.encode(vector)

    def decode(self, message: np.ndarray, size: int) -> np.ndarray:
        found = self.matrices(size)
        lefts, rights, rest = self.parts(message, found)
        vector = np.empty(max([size, *(it.end for it in found)]), np.float32)
        for it, left, right in zip(found, lefts, rights, strict=True):
            vector[it.begin : it.end] = (left @ right.T).ravel()
        vector = vector[:size]
        vector[~inside(found, size)] = rest
        return vector

    def parts(
        self, message: np.ndarray, found: Sequence[Matrix]
    ) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
        """The left and right factors in a message, and what is not compressed."""
        lengths = [self.rank * it.rows for it in found] + [self.rank * it.columns for it in found]
        *factors, rest = np.split(message.view(np.float32), np.cumsum(lengths))
        thin = [factor.reshape(-1, self.rank) for factor in factors]
        return thin[: len(found)], thin[len(found) :], rest

    def nbytes(self, size: int, itemsize: int = 4) -> int:
        found = self.matrices(size)
        factors = sum(self.rank * (it.rows + it.columns) for it in found)
        return 4 * (factors + int((~inside(found, size)).sum()))

    def error(self, size: int) -> float:
        """A projection: it may miss all, and never adds."""
        return 1.0


class PowerLink(CompressorState):
    """Remembers the right factors: the next step begins with them."""

    compressor: PowerSGD
    guesses: Matrices | None = None

    def encode(self, vector: np.ndarray) -> np.ndarray:
        found = self.compressor.matrices(len(checked(vector)))
        lefts, rights = power_step(cut(vector, found), self._guesses(found))
        self.guesses = rights
        return message_of(lefts, rights, vector[~inside(found, len(vector))])

    def average(self, comm: Comm, vector: np.ndarray, allreduce: Allreduce) -> np.ndarray:
        size, found = len(checked(vector)), self.compressor.matrices(len(vector))
        mine, rest = cut(vector, found), ~inside(found, len(vector))
        guesses = self._guesses(found)
        products = [it @ guess for it, guess in zip(mine, guesses, strict=True)]
        first = message_of(products, [], vector[rest] / comm.size).view(np.float32)
        allreduce(comm, first)
        lengths = [product.size for product in products]
        *flat, averaged = np.split(first, np.cumsum(lengths))
        lefts = [orthogonal(it.reshape(-1, self.compressor.rank)) for it in flat]
        rights = [it.T @ left for it, left in zip(mine, lefts, strict=True)]
        own = self.compressor.decode(message_of(lefts, rights, vector[rest]), size)
        second = message_of([], rights, averaged[:0]).view(np.float32)
        allreduce(comm, second)
        means = message_of(lefts, [], second / comm.size).view(np.float32)
        message = np.concatenate([means, averaged]).view(np.uint8)
        vector[:] = self.compressor.decode(message, size)
        self.guesses = self.compressor.parts(message, found)[1]
        return own

    def _guesses(self, found: Sequence[Matrix]) -> Matrices:
        if self.guesses:
            return self.guesses
        draw, rank = self.generator.standard_normal, self.compressor.rank
        return [draw((it.columns, rank), np.float32) for it in found]


def cut(vector: np.ndarray, found: Sequence[Matrix]) -> list[np.ndarray]:
    """The matrices in a vector, the last one filled up with zeros."""
    longest = max([len(vector), *(it.end for it in found)])
    padded = np.pad(vector.astype(np.float32), (0, longest - len(vector)))
    return [padded[it.begin : it.end].reshape(it.rows, it.columns) for it in found]


def inside(found: Sequence[Matrix], size: int) -> np.ndarray:
    """Which entries of the vector belong to a matrix."""
    mask = np.zeros(size, bool)
    for it in found:
        mask[it.begin : it.end] = True
    return mask


def power_step(mine: Matrices, guesses: Matrices) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Left and right factors of each matrix."""
    lefts = [orthogonal(it @ guess) for it, guess in zip(mine, guesses, strict=True)]
    return lefts, [it.T @ left for it, left in zip(mine, lefts, strict=True)]


def orthogonal(columns: np.ndarray) -> np.ndarray:
    """Columns of length one, at right angles, that span what the given ones do."""
    return np.linalg.qr(columns)[0]


def message_of(lefts: Matrices, rights: Matrices, rest: np.ndarray) -> np.ndarray:
    """Numbers one after another, as bytes."""
    numbers = [it.ravel() for it in (*lefts, *rights)] + [rest]
    return np.concatenate(numbers).astype(np.float32).view(np.uint8)
