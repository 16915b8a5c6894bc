"""Error feedback: what was not sent is kept, and added to what comes next.

    total = residual + x;   send Q(total);   residual = total - Q(total)

All messages together and the last residual are all vectors together: nothing is ever lost, only
late. The residual stays bounded if Q's error is no larger than what it gets. A compressor that
keeps a memory already must not be put in here: what is left out would be sent twice.

Cost: one more vector in memory, and decoding one's own messages. Seide et al. 2014 for one bit;
Stich, Cordonnier & Jaggi, "Sparsified SGD with memory", 2018; Karimireddy, Rebjock, Stich & Jaggi,
"Error feedback fixes SignSGD and other gradient compression schemes", 2019.
What to look at: the same training with and without; top-k alone stops far from the optimum.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ddl_teach.comm import Comm
from ddl_teach.training.compression.compressor import (
    Allreduce,
    Compressor,
    CompressorState,
    checked,
)


@dataclass(frozen=True)
class Feedback(Compressor):
    """A compressor whose links remember what they have not sent."""

    compressor: Compressor
    remembers = True

    def __post_init__(self) -> None:
        if not isinstance(self.compressor, Compressor):
            given = f"not {self.compressor!r}"
            raise TypeError(f"Feedback remembers for a compressor, as TopK(0.01), {given}")
        if self.compressor.remembers:
            twice = "it keeps what it has not sent, and that would be sent twice"
            raise ValueError(f"Feedback({self.compressor}): {twice}: take {self.compressor}")

    def objection(self, sends: str, update: Any) -> str | None:
        return self.compressor.objection(sends, update)

    @property
    def sums(self) -> bool:
        return self.compressor.sums

    @property
    def sparse(self) -> bool:
        return self.compressor.sparse

    def stream(self, seed: int = 0) -> CompressorState:
        return FeedbackLink(self, seed)

    def encode(self, vector: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        return self.compressor.encode(vector, generator)

    def decode(self, message: np.ndarray, size: int) -> np.ndarray:
        return self.compressor.decode(message, size)

    def nbytes(self, size: int, itemsize: int = 4) -> int | None:
        return self.compressor.nbytes(size, itemsize)

    def error(self, size: int) -> float:
        return self.compressor.error(size)

    def summands(self, message: np.ndarray, size: int) -> np.ndarray:
        return self.compressor.summands(message, size)


class FeedbackLink(CompressorState):
    """Keeps the residual: zeros before the first vector, of the vectors' own type."""

    compressor: Feedback

    def __init__(self, compressor: Feedback, seed: int = 0) -> None:
        super().__init__(compressor, seed)
        self.inner = compressor.compressor.stream(seed)
        self.residual: np.ndarray | None = None

    def encode(self, vector: np.ndarray) -> np.ndarray:
        total = self._total(vector)
        message = self.inner.encode(total)
        self.residual = total - self.compressor.decode(message, len(total))
        return message

    def select(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        total = self._total(vector)
        indices, values = self.inner.select(total)
        self.residual = total
        self.residual[indices] -= values
        return indices, values

    def average(self, comm: Comm, vector: np.ndarray, allreduce: Allreduce) -> np.ndarray:
        total = self._total(vector)
        vector[:] = total
        own = self.inner.average(comm, vector, allreduce)
        self.residual = total - own
        return own

    def _total(self, vector: np.ndarray) -> np.ndarray:
        if self.residual is None:
            if (error := self.compressor.error(len(vector))) > 1:
                raise ValueError(
                    f"Feedback({self.compressor.compressor}): its error may be {error:.3g} of a "
                    f"vector of {len(vector)} numbers, and the residual would grow without end. "
                    "Unbiased compressors need no feedback; or take smaller buckets, scaled=False"
                )
            return checked(vector).copy()
        if len(self.residual) != len(vector):
            sizes = f"a vector of {len(self.residual)} numbers and is given {len(vector)}"
            raise ValueError(f"this remembers {sizes}: each stream needs a link of its own")
        total: np.ndarray = checked(vector) + self.residual
        return total
