"""float16: half the bytes of float32, eleven binary digits of each number.

Cost: 2 n bytes. Rounding loses at most 2^-11 of a number from 6e-5 to 65504; smaller ones lose up
to 3e-8 each. A `scale` moves the range (Micikevicius et al., "Mixed precision training", 2018).
What to look at: messages add up on the way, but the sums are rounded to eleven digits as well.
"""

from dataclasses import dataclass

import numpy as np

from ddl_runtime.core.checks import amount
from ddl_teach.training.compression.compressor import Compressor

LARGEST = 65504.0


@dataclass(frozen=True)
class Half(Compressor):
    """Rounded to float16, after multiplying by `scale`."""

    scale: float = 1.0
    sums = True
    faithful = True

    def __post_init__(self) -> None:
        amount(self.scale, "Half: scale", zero=False)

    def encode(self, vector: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        largest = float(np.abs(vector).max(initial=0)) * self.scale
        if largest > LARGEST:
            entry = f"scaled by {self.scale}, the largest entry is {largest:.3g}"
            raise ValueError(f"{entry}; float16 ends at {LARGEST:.0f}. Take a smaller scale")
        return (vector * self.scale).astype(np.float16).view(np.uint8)

    def decode(self, message: np.ndarray, size: int) -> np.ndarray:
        return self.summands(message, size).astype(np.float32) / np.float32(self.scale)

    def summands(self, message: np.ndarray, size: int) -> np.ndarray:
        return message.view(np.float16)

    def nbytes(self, size: int, itemsize: int = 4) -> int:
        return 2 * size

    def error(self, size: int) -> float:
        """The bound for vectors whose entries are in float16's range."""
        return 2.0**-22
