"""TernGrad: every number becomes -s, 0 or s, where s is the largest of its bucket.

    x_i  becomes  s sign(x_i)  with probability |x_i| / s,  and else 0

The expectation is x_i, the error exactly s |x|_1 - |x|^2. One large entry makes it large, so the
paper first cuts the entries off at 2.5 standard deviations. The price is a small bias.

Cost: 4 bytes a bucket, and five numbers a byte (3^5 = 243 of 256 values): 1.6 bits each.
Wen, Xu, Yan, Wu, Wang, Chen & Li, "TernGrad: ternary gradients to reduce communication in
distributed deep learning", NIPS 2017. (There a bucket is a layer, and 1.58 bits are counted.)
What to look at: with `clip=None` it is unbiased, and its error has no bound but the size.
"""

import math
from dataclasses import dataclass

import numpy as np

from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.compression.packing import in_buckets

IN_A_BYTE = 5
POWERS = 3 ** np.arange(IN_A_BYTE, dtype=np.uint8)
DIGITS = (np.arange(256)[:, None] // POWERS % 3 - 1).astype(np.int8)  # five of each byte


@dataclass(frozen=True)
class TernGrad(Compressor):
    """`clip` is in standard deviations of a bucket, or None."""

    bucket: int = 512
    clip: float | None = 2.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.clip is not None and not self.clip > 0:
            raise ValueError(f"clip must be None or a number above 0, not {self.clip!r}")

    @property
    def unbiased(self) -> bool:
        return self.clip is None

    def encode(self, vector: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        rows = in_buckets(vector, self.bucket)
        if self.clip is not None:
            filled = np.full(len(rows), self.bucket)
            filled[-1:] -= rows.size - len(vector)
            means = rows.sum(axis=1) / filled
            squares = np.square(rows, dtype=np.float64).sum(axis=1) / filled
            limit = self.clip * np.sqrt(np.maximum(squares - means**2, 0))
            # Entries that are all alike deviate from nothing: leave them.
            limit = np.where(limit > 0, limit, np.inf)[:, None]
            rows = np.clip(rows, -limit, limit)
        largest = np.abs(rows).max(axis=1, initial=0).astype(np.float32)
        drawn = generator.random(rows.shape, np.float32) * largest[:, None] < np.abs(rows)
        digits = np.where(rows < 0, -1, 1) * drawn + 1
        padded = np.ones((-(-len(vector) // IN_A_BYTE), IN_A_BYTE), np.uint8)
        padded.reshape(-1)[: len(vector)] = digits.reshape(-1)[: len(vector)]
        fives = (padded * POWERS).sum(axis=1, dtype=np.uint8)
        return np.concatenate([largest.view(np.uint8), fives])

    def decode(self, message: np.ndarray, size: int) -> np.ndarray:
        buckets = -(-size // self.bucket)
        largest = message[: 4 * buckets].view(np.float32)
        digits = DIGITS[message[4 * buckets :]].reshape(-1)[:size]
        rows = in_buckets(digits, self.bucket) * largest[:, None]
        return rows.reshape(-1)[:size]

    def nbytes(self, size: int, itemsize: int = 4) -> int:
        return 4 * -(-size // self.bucket) - (-size // IN_A_BYTE)

    def error(self, size: int) -> float:
        """sqrt(d) - 1 for d entries; with entries cut off, all of a vector may be as well."""
        return max(1.0, math.sqrt(min(self.bucket, size)) - 1)
