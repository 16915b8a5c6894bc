"""Top-k: only the k entries of largest magnitude, each with its place.

Cost: k (32 + ceil(log2 n)) bits, for a value and a place each. The error is at most (1 - k/n) of
|x|^2, and far less where few entries are large. Aji & Heafield, "Sparse communication for
distributed gradient descent", 2017; Stich, Cordonnier & Jaggi, "Sparsified SGD with memory", 2018,
for the contraction. What to look at: without `Feedback` small entries never travel, however long
they have all said the same; and the k of all ranks are not the same ones.
"""

from dataclasses import dataclass

import numpy as np

from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.compression.packing import pack, packed_bytes, unpack


@dataclass(frozen=True)
class TopK(Compressor):
    """The largest `density` of all entries, at least one."""

    density: float = 0.01
    sparse = True

    def encode(self, vector: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        return message_of(*self.select(vector), len(vector))

    def select(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        indices, values = largest(vector, kept_of(len(vector), self.density))
        return indices.astype(np.uint32), values.astype(np.float32)

    def decode(self, message: np.ndarray, size: int) -> np.ndarray:
        bits = index_bits(size)
        kept = 8 * len(message) // (32 + bits)
        vector = np.zeros(size, np.float32)
        indices = unpack(message[4 * kept :], bits, kept)
        vector[indices] = message[: 4 * kept].view(np.float32)
        return vector

    def nbytes(self, size: int, itemsize: int = 4) -> int | None:
        kept = kept_of(size, self.density)
        return 4 * kept + packed_bytes(kept, index_bits(size))

    def error(self, size: int) -> float:
        return 1 - kept_of(size, self.density) / max(1, size)


def largest(vector: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The places of the k entries of largest magnitude, ascending, and what stands there."""
    if k == len(vector):
        return np.arange(k), vector
    indices = np.sort(np.argpartition(np.abs(vector), len(vector) - k)[len(vector) - k :])
    return indices, vector[indices]


def message_of(indices: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    """Values and places of some of `size` entries as bytes."""
    return np.concatenate([values.view(np.uint8), pack(indices, index_bits(size))])


def kept_of(size: int, density: float) -> int:
    """How many of `size` entries travel."""
    return min(size, max(1, round(size * density)))


def index_bits(size: int) -> int:
    """The bits of an index into `size` entries."""
    return max(1, (size - 1).bit_length())
