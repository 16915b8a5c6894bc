"""Dense: every number as it is. Nothing is lost, and nothing is saved.

Cost: 4 bytes for each number of a float32 vector, 8 for float64. A message is the vector's own
memory: send it before the vector changes.
"""

from dataclasses import dataclass

import numpy as np

from ddl_teach.training.compression.compressor import Compressor


@dataclass(frozen=True)
class Dense(Compressor):
    """The vector's own bytes, of whichever of the two types it is."""

    unbiased = True
    sums = True
    faithful = True

    def encode(self, vector: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        return np.ascontiguousarray(vector).view(np.uint8)  # no copy, and none below

    def decode(self, message: np.ndarray, size: int) -> np.ndarray:
        return self.summands(message, size)

    def summands(self, message: np.ndarray, size: int) -> np.ndarray:
        return message.view(f"f{len(message) // size if size else 4}")

    def nbytes(self, size: int, itemsize: int = 4) -> int:
        return size * itemsize

    def error(self, size: int) -> float:
        return 0.0
