"""PowerSGD: a matrix of gradients as the product of two thin ones.

One step of power iteration, begun where the last step ended, with all ranks' matrices M:

    P = mean(M Q);   P = orthogonalised P;   Q = mean(M^T P);   instead of M comes P Q^T

Any all-reduce can make both means, and P Q^T is what one process would find in the mean of all M.
Cost: 4 r (m + n) bytes for m x n numbers; vectors (biases) travel as they are, and so do matrices
too small to gain. Vogels, Karimireddy & Jaggi, "PowerSGD: practical low-rank gradient compression
for distributed optimization", NeurIPS 2019. What to look at: in the first steps it is no better
than its guess Q, and `Feedback` brings later what that has missed.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

import numpy as np

from ddl_teach.comm import Comm
from ddl_teach.training.compression.compressor import (
    Allreduce,
    Compressor,
    CompressorState,
    checked,
)


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
    sums = True

    def stream(self, seed: int = 0) -> CompressorState:
        return PowerLink(self)  # all ranks must begin with the same Q

    def matrices(self, size: int) -> list[Matrix]:
        if not self.shapes:
            rows = math.isqrt(max(0, size - 1)) + 1
            cut = [Matrix(0, rows, -(-size // rows))]
        else:
            *begins, end = accumulate(map(math.prod, self.shapes), initial=0)
            if end != size:
                advice = "give those of all its layers, or none if it is a part of them"
                raise ValueError(f"the shapes hold {end} numbers, the vector {size}: {advice}")
            placed = zip(begins, self.shapes, strict=True)
            cut = [Matrix(b, s[0], math.prod(s[1:])) for b, s in placed if len(s) > 1]
        return [
            matrix
            for matrix in cut
            if self.rank * (matrix.rows + matrix.columns) < matrix.rows * matrix.columns
        ]

    def encode(self, vector: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        stream = PowerLink(self)
        stream.generator = generator
        return stream.encode(vector)

    def decode(self, message: np.ndarray, size: int) -> np.ndarray:
        matrices = self.matrices(size)
        lefts, rights, rest = self.parts(message, matrices)
        vector = np.empty(max([size, *(matrix.end for matrix in matrices)]), np.float32)
        for matrix, left, right in zip(matrices, lefts, rights, strict=True):
            vector[matrix.begin : matrix.end] = (left @ right.T).ravel()
        vector = vector[:size]
        vector[~inside(matrices, size)] = rest
        return vector

    def parts(
        self, message: np.ndarray, matrices: Sequence[Matrix]
    ) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
        """The left and right factors in a message, and what is not compressed."""
        lengths = [self.rank * matrix.rows for matrix in matrices] + [
            self.rank * matrix.columns for matrix in matrices
        ]
        *factors, rest = np.split(message.view(np.float32), np.cumsum(lengths))
        thin = [factor.reshape(-1, self.rank) for factor in factors]
        return thin[: len(matrices)], thin[len(matrices) :], rest

    def nbytes(self, size: int, itemsize: int = 4) -> int:
        matrices = self.matrices(size)
        factors = sum(self.rank * (matrix.rows + matrix.columns) for matrix in matrices)
        return 4 * (factors + int((~inside(matrices, size)).sum()))

    def error(self, size: int) -> float:
        """A projection: it may miss all, and never adds."""
        return 1.0


class PowerLink(CompressorState):
    """Remembers the right factors: the next step begins with them."""

    compressor: PowerSGD
    guesses: list[np.ndarray] | None = None

    def encode(self, vector: np.ndarray) -> np.ndarray:
        return self._messages(vector, 1, lambda factors: None)[1]

    def average(self, comm: Comm, vector: np.ndarray, allreduce: Allreduce) -> np.ndarray:
        own, mean = self._messages(vector, comm.size, partial(allreduce, comm))
        decoded = self.compressor.decode(own, len(vector))
        vector[:] = self.compressor.decode(mean, len(vector))
        return decoded

    def _messages(
        self, vector: np.ndarray, ranks: int, add_up: Callable[[np.ndarray], None]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Do one step of power iteration on the matrices of all ranks. Returns two messages: this
        rank's share of the result, and the result."""
        matrices, rank = self.compressor.matrices(len(checked(vector))), self.compressor.rank
        mine, rest = cut(vector, matrices), vector[~inside(matrices, len(vector))]
        if not self.guesses:
            draw = self.generator.standard_normal
            self.guesses = [draw((matrix.columns, rank), np.float32) for matrix in matrices]
        products = [own @ guess for own, guess in zip(mine, self.guesses, strict=True)]
        first = message_of(*products, rest / ranks).view(np.float32)
        add_up(first)
        *sums, averaged = np.split(first, np.cumsum([product.size for product in products]))
        lefts = [np.linalg.qr(total.reshape(-1, rank))[0] for total in sums]
        rights = [own.T @ left for own, left in zip(mine, lefts, strict=True)]
        second = message_of(*rights, rest[:0]).view(np.float32)
        add_up(second)
        message = message_of(*lefts, second / ranks, averaged)
        self.guesses = self.compressor.parts(message, matrices)[1]
        return message_of(*lefts, *rights, rest), message


def cut(vector: np.ndarray, matrices: Sequence[Matrix]) -> list[np.ndarray]:
    """The matrices in a vector, the last one filled up with zeros."""
    longest = max([len(vector), *(matrix.end for matrix in matrices)])
    padded = np.pad(vector.astype(np.float32), (0, longest - len(vector)))
    return [
        padded[matrix.begin : matrix.end].reshape(matrix.rows, matrix.columns)
        for matrix in matrices
    ]


def inside(matrices: Sequence[Matrix], size: int) -> np.ndarray:
    """Which entries of the vector belong to a matrix."""
    mask = np.zeros(size, bool)
    for matrix in matrices:
        mask[matrix.begin : matrix.end] = True
    return mask


def message_of(*numbers: np.ndarray) -> np.ndarray:
    """Numbers one after another, as bytes."""
    return np.concatenate([factor.ravel() for factor in numbers]).astype(np.float32).view(np.uint8)
