"""Threshold: entries whose magnitude is above tau travel, as plus or minus tau.

Cost: 4 bytes for each of them, 31 bits of place and one of sign. What is above or below tau stays
behind for the next step (`Feedback`). Strom, "Scalable distributed DNN training using commodity
GPU cloud computing", Interspeech 2015. What to look at: tau has to be found by trying: messages
are of any length, from nothing to all.
"""

from dataclasses import dataclass

import numpy as np

from ddl_runtime.core.checks import amount
from ddl_teach.training.compression.compressor import Compressor

PLACES = 2**31


@dataclass(frozen=True)
class Threshold(Compressor):
    """Plus or minus `tau` for every entry beyond it."""

    tau: float = 0.01
    sparse = True

    def __post_init__(self) -> None:
        amount(self.tau, "tau, the magnitude above which entries travel,", zero=False)

    def encode(self, vector: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        if len(vector) > PLACES:
            raise ValueError(f"a vector has at most {PLACES:,} places: cut this one into parts")
        indices, values = self.select(vector)
        message: np.ndarray = (indices << 1 | np.signbit(values)).view(np.uint8)
        return message

    def select(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        indices = np.flatnonzero(np.abs(vector) > self.tau)
        values = np.copysign(np.float32(self.tau), vector[indices]).astype(np.float32)
        return indices.astype(np.uint32), values

    def decode(self, message: np.ndarray, size: int) -> np.ndarray:
        numbers = message.view(np.uint32)
        vector = np.zeros(size, np.float32)
        vector[numbers >> 1] = np.where(numbers & 1, -self.tau, self.tau)
        return vector

    def error(self, size: int) -> float:
        return 1.0
