"""Rows: which part of a large table one step needs, so that nothing else has to travel.

Weights are one flat vector; seen as a table of `width` columns, a step of an embedding reads a few
rows of it. To name a row takes 4 bytes, to send it 4 width or more. A task that knows its rows
beforehand is a `worker.KnowsRows`. Li et al. 2014: ranges of keys that are pushed and pulled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Rows:
    """Some rows of a table, by ascending numbers, and the number of its columns."""

    width: int
    numbers: np.ndarray

    def between(self, begin: int, end: int) -> Rows:
        """The rows with numbers at the places `begin` to before `end` of the vector."""
        first, last = np.searchsorted(self.numbers, (begin // self.width, -(-end // self.width)))
        return Rows(self.width, self.numbers[first:last])

    def places(self, begin: int, end: int) -> np.ndarray:
        """The places of the rows' numbers in the part from `begin` to before `end`."""
        rows = self.between(begin, end).numbers.astype(np.int64)
        entries = (rows[:, None] * self.width + np.arange(self.width)).ravel()
        return entries[(entries >= begin) & (entries < end)] - begin

    def packed(self, begin: int, end: int) -> np.ndarray:
        """What travels to the owner of that part: the width, then the numbers."""
        return np.concatenate([[self.width], self.between(begin, end).numbers]).astype(np.uint32)

    @classmethod
    def unpacked(cls, message: np.ndarray) -> Rows:
        return cls(int(message[0]), message[1:])
