"""QSGD: every number rounded at random to one of s levels of its bucket's length.

    x_i  becomes  |x| sign(x_i) l / s,   l = floor(s |x_i| / |x| + u),  u uniform in [0, 1)

so that the expectation is x_i itself. The error is at most min(d/s^2, sqrt(d)/s) |x|^2 for a
bucket of d entries. At most s (s + sqrt(d)) entries are expected not to be zero.

Cost, levels plainly packed: 1 + bits(s) bits a number and 4 bytes a bucket; by Elias's code
(`coding="elias"`, as in the paper) shorter when few levels are used, and of no fixed length.
Alistarh et al., "QSGD", 2017. What to look at: large buckets save 4-byte lengths and pay in
variance; nothing has to be remembered, for the errors average out.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ddl_runtime.core.checks import one_of
from ddl_teach.training.compression import elias
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.compression.packing import in_buckets, pack, packed_bytes, unpack


@dataclass(frozen=True)
class QSGD(Compressor):
    """`levels` above zero; 7 of them and a sign are 4 bits."""

    levels: int = 7
    bucket: int = 128
    coding: Literal["packed", "elias"] = "packed"
    unbiased = True

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.coding, "coding of QSGD", ("packed", "elias"))

    @property
    def bits(self) -> int:
        return 1 + self.levels.bit_length()

    def encode(self, vector: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        rows = in_buckets(vector, self.bucket)
        lengths = np.sqrt(np.square(rows, dtype=np.float64).sum(axis=1)).astype(np.float32)
        per_level = self.levels / np.where(lengths > 0, lengths, 1)
        drawn = generator.random(rows.shape, np.float32)
        drawn += np.abs(rows) * per_level[:, None].astype(np.float32)
        levels = np.minimum(drawn.astype(np.uint32), np.uint32(self.levels))
        numbers = (levels << 1 | np.signbit(rows)).reshape(-1)[: len(vector)]
        coded = elias.encode(numbers) if self.coding == "elias" else pack(numbers, self.bits)
        return np.concatenate([lengths.view(np.uint8), coded])

    def decode(self, message: np.ndarray, size: int) -> np.ndarray:
        buckets = -(-size // self.bucket)
        lengths, coded = message[: 4 * buckets].view(np.float32), message[4 * buckets :]
        if self.coding == "elias":
            numbers = elias.decode(coded, size)
        else:
            numbers = unpack(coded, self.bits, size)
        values = (numbers >> 1).astype(np.float32)
        np.negative(values, out=values, where=(numbers & 1).astype(bool))
        rows = in_buckets(values, self.bucket)
        rows *= lengths[:, None] / np.float32(self.levels)
        return rows.reshape(-1)[:size]

    def nbytes(self, size: int, itemsize: int = 4) -> int | None:
        if self.coding == "elias":
            return None
        return 4 * -(-size // self.bucket) + packed_bytes(size, self.bits)

    def error(self, size: int) -> float:
        entries = min(self.bucket, size)
        return min(entries / self.levels**2, math.sqrt(entries) / self.levels)
