"""1-bit SGD: of every number only the sign, and two numbers for each bucket.

What is not negative becomes the mean of all such entries of its bucket, what is negative the mean
of those: of all two values by sign these are the nearest, and the bucket's sum stays as it was.

Cost: ceil(n/8) bytes of signs and 8 bytes a bucket, 1/32 of float32 for large buckets. Seide et
al. 2014. (There a bucket is a column of a weight matrix.) What to look at: it works with
`Feedback`, and diverges without.
"""

from dataclasses import dataclass

import numpy as np

from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.compression.packing import in_buckets, packed_bytes


@dataclass(frozen=True)
class OneBit(Compressor):
    """Signs, and the mean of either sign for every `bucket` entries."""

    bucket: int = 512

    def encode(self, vector: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        rows = in_buckets(vector, self.bucket)
        upper = rows >= 0
        # The zeros that fill up the last row count as upper; they add nothing to its sum.
        above = upper.sum(axis=1)
        above[-1:] -= rows.size - len(vector)
        below = self.bucket - upper.sum(axis=1)
        positive = np.maximum(rows, 0).sum(axis=1, dtype=np.float64)
        negative = rows.sum(axis=1, dtype=np.float64) - positive
        means = np.stack([positive / np.maximum(above, 1), negative / np.maximum(below, 1)])
        signs = np.packbits(upper.reshape(-1)[: len(vector)], bitorder="little")
        return np.concatenate([means.astype(np.float32).view(np.uint8).ravel(), signs])

    def decode(self, message: np.ndarray, size: int) -> np.ndarray:
        buckets = -(-size // self.bucket)
        means = message[: 8 * buckets].view(np.float32).reshape(2, buckets)
        upper = np.unpackbits(message[8 * buckets :], bitorder="little")
        rows = in_buckets(upper[:size], self.bucket)
        signed = np.where(rows, means[0][:, None], means[1][:, None])
        return np.asarray(signed.reshape(-1)[:size])

    def nbytes(self, size: int, itemsize: int = 4) -> int:
        return 8 * -(-size // self.bucket) + packed_bytes(size, 1)

    def error(self, size: int) -> float:
        """The bound for the worst vector: all of it stands in one entry of a bucket, whose mean is
        small."""
        return 1 - 1 / max(1, min(self.bucket, size))
