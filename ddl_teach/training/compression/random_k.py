"""Random-k: k entries drawn at random, the same ones on all ranks.

Cost: 4 k bytes, and 4 for the number of the draw, which gives the places. So messages can be added
on the way, by any all-reduce. Multiplied by n/k it is unbiased, with an error of (n/k - 1) |x|^2;
as they are (`scaled=False`, for `Feedback`) it is (1 - k/n) |x|^2: the bound of top-k, which is
nearly always far better than it. Konecny et al., "Federated learning: strategies for improving
communication efficiency", 2016; Stich, Cordonnier & Jaggi, "Sparsified SGD with memory", 2018.
"""

from dataclasses import dataclass

import numpy as np

from ddl_teach.training.compression.compressor import Compressor, CompressorState
from ddl_teach.training.compression.top_k import kept_of

DRAW = 4  # bytes of the number from which a draw follows


@dataclass(frozen=True)
class RandomK(Compressor):
    """A `density` of all entries, drawn anew for each vector of a stream."""

    density: float = 0.01
    scaled: bool = True
    sums = True

    @property
    def unbiased(self) -> bool:
        return self.scaled

    def stream(self, seed: int = 0) -> CompressorState:
        return super().stream()  # all ranks must draw alike

    def encode(self, vector: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        draw = generator.integers(2**32, dtype=np.uint32, size=1)
        values = vector[self.places(draw, len(vector))].astype(np.float32)
        values *= np.float32(self.factor(len(vector)))
        return np.concatenate([draw.view(np.uint8), values.view(np.uint8)])

    def decode(self, message: np.ndarray, size: int) -> np.ndarray:
        vector = np.zeros(size, np.float32)
        places = self.places(message[:DRAW].view(np.uint32), size)
        vector[places] = self.summands(message, size)
        return vector

    def places(self, draw: np.ndarray, size: int) -> np.ndarray:
        chosen = np.random.default_rng(int(draw[0]))
        return chosen.choice(size, kept_of(size, self.density), replace=False, shuffle=False)

    def factor(self, size: int) -> float:
        return size / max(1, kept_of(size, self.density)) if self.scaled else 1.0

    def summands(self, message: np.ndarray, size: int) -> np.ndarray:
        return message[DRAW:].view(np.float32)

    def nbytes(self, size: int, itemsize: int = 4) -> int:
        return DRAW + 4 * kept_of(size, self.density)

    def error(self, size: int) -> float:
        part = kept_of(size, self.density) / max(1, size)
        return 1 / part - 1 if self.scaled else 1 - part
