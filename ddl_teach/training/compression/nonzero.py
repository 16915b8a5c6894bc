"""Non-zero: the entries that are not zero, each with its place, and nothing is lost.

Cost: K (b + 4) bytes for K such entries of b bytes, at most those of the vector, and one byte that
says b. For gradients that are sparse by nature, as those of an embedding. Renggli et al.,
"SparCML", SC 2019: a stream that turns dense where that is smaller. What to look at: of a gradient
that is dense it saves nothing; it is a compressor for some networks only.
"""

from dataclasses import dataclass

import numpy as np

from ddl_teach.collectives.sparse.stream import Stream
from ddl_teach.training.compression.compressor import Compressor


@dataclass(frozen=True)
class NonZero(Compressor):
    """What is zero does not travel."""

    unbiased = True
    sparse = True
    faithful = True

    def encode(self, vector: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        return np.append(Stream.of(vector).pack(), np.uint8(vector.itemsize))

    def select(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        indices = np.flatnonzero(vector)
        return indices.astype(np.uint32), vector[indices]

    def decode(self, message: np.ndarray, size: int) -> np.ndarray:
        return Stream.unpack(message[:-1], size, np.dtype(f"f{message[-1]}")).dense()

    def error(self, size: int) -> float:
        return 0.0
