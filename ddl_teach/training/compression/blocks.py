"""Whole numbers in blocks: each block has a scale, each number the nearest of 2 s + 1 levels.

    x_i  becomes  max |x| k_i / s,   k_i = round(s x_i / max |x|)

A number loses at most max |x| / 2s of its block. With 127 levels it takes a byte, and the scale 4
bytes a block. Nothing is drawn at random: equal vectors make equal messages. Dettmers, "8-bit
approximations for parallelism in deep learning", ICLR 2016; blocks as in Wang et al., "ZeRO++:
extremely efficient collective communication for giant model training", 2023.
What to look at: one large number makes its whole block coarse, and the others not.
"""

from dataclasses import dataclass

import numpy as np

from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.compression.packing import pack, packed_bytes, unpack


@dataclass(frozen=True)
class Blocks(Compressor):
    """`levels` on either side of zero: 127 of them are 8 bits, 7 are 4 bits."""

    levels: int = 127
    bucket: int = 64

    @property
    def bits(self) -> int:
        return 1 + self.levels.bit_length()

    def encode(self, vector: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        rows = np.pad(vector.astype(float), (0, -len(vector) % self.bucket))
        rows = rows.reshape(-1, self.bucket)
        scales = np.abs(rows).max(axis=1).astype(np.float32)
        levels = np.rint(
            rows * self.levels / np.where(scales > 0, scales, 1).astype(float)[:, None]
        )
        numbers = (levels + self.levels).reshape(-1)[: len(vector)]
        return np.concatenate([scales.view(np.uint8), pack(numbers.astype(np.uint32), self.bits)])

    def decode(self, message: np.ndarray, size: int) -> np.ndarray:
        cut = 4 * -(-size // self.bucket)
        steps = np.repeat(message[:cut].view(np.float32) / np.float32(self.levels), self.bucket)
        numbers = unpack(message[cut:], self.bits, size).astype(np.float32) - self.levels
        return np.asarray(numbers * steps[:size])

    def nbytes(self, size: int, itemsize: int = 4) -> int:
        return 4 * -(-size // self.bucket) + packed_bytes(size, self.bits)

    def error(self, size: int) -> float:
        return min(self.bucket, size) / (2 * self.levels) ** 2
