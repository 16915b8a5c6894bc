"""A sparse stream: the entries of a vector that are not zero, as long as that is the smaller form.

An entry costs its value and an index of 4 bytes. So of N numbers of b bytes, K entries are the
smaller message while K (b + 4) < N b: for float32 up to half of the vector, for float64 up to two
thirds. A sum of streams has the union of their indices; beyond that limit it turns dense.

Renggli et al., "SparCML", SC 2019, section 5.
What to look at: `add` keeps an entry whose values cancel, for more may still come.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

INDEX = np.dtype(np.uint32)


@dataclass(frozen=True, eq=False)
class Stream:
    """A vector of `size` numbers: `values` at ascending `indices`, or all of them in order."""

    size: int
    values: np.ndarray
    indices: np.ndarray | None = None  # None: dense

    @staticmethod
    def of(vector: np.ndarray) -> Stream:
        """What is not zero in a vector."""
        if not isinstance(vector, np.ndarray) or vector.ndim != 1:
            raise TypeError(
                f"a stream is made of a flat NumPy vector, not of {type(vector).__name__} of "
                f"{getattr(vector, 'ndim', 0)} dimensions: try x.reshape(-1)"
            )
        indices = np.flatnonzero(vector)
        return Stream(len(vector), vector[indices], indices.astype(INDEX)).settled()

    @staticmethod
    def listed(size: int, indices: np.ndarray, values: np.ndarray) -> Stream:
        """What a sparse form has chosen: `values[k]` stands at place `indices[k]`."""
        indices, values = np.asarray(indices), np.asarray(values)
        if indices.ndim != 1 or indices.shape != values.shape:
            raise ValueError(
                f"each index needs one value: there are indices of shape {indices.shape} and "
                f"values of shape {values.shape}"
            )
        if len(indices) and (
            indices[0] < 0 or indices[-1] >= size or (np.diff(indices) < 1).any()
        ):
            raise ValueError(
                f"indices must ascend, each once, from 0 or more to less than {size}: sort them, "
                "and add up the values of those that appear twice"
            )
        return Stream(size, values, indices.astype(INDEX)).settled()

    @property
    def nbytes(self) -> int:
        """The bytes of it as a message."""
        return self.values.nbytes + (0 if self.indices is None else self.indices.nbytes)

    def settled(self) -> Stream:
        """The stream in the smaller of its two forms; of equally large ones the dense form."""
        if self.indices is None or self.nbytes < self.size * self.values.itemsize:
            return self
        return Stream(self.size, self.dense())

    def dense(self) -> np.ndarray:
        """The whole vector, in memory of its own."""
        if self.indices is None:
            return self.values.copy()
        vector = np.zeros(self.size, self.values.dtype)
        vector[self.indices] = self.values
        return vector

    def part(self, start: int, stop: int) -> Stream:
        """The vector from place `start` up to `stop`, as a stream of its own."""
        if self.indices is None:
            return Stream(stop - start, self.values[start:stop])
        first, end = np.searchsorted(self.indices, (start, stop))
        shifted = self.indices[first:end] - INDEX.type(start)
        return Stream(stop - start, self.values[first:end], shifted).settled()

    def add(self, other: Stream) -> Stream:
        """The sum of two vectors, the same bits whichever comes first."""
        if self.size != other.size or self.values.dtype != other.values.dtype:
            raise ValueError(
                f"streams of {self.size} {self.values.dtype} and {other.size} "
                f"{other.values.dtype} cannot be added: all ranks need vectors alike"
            )
        if self.indices is None or other.indices is None:
            dense, more = (self, other) if self.indices is None else (other, self)
            total = dense.dense()
            total[slice(None) if more.indices is None else more.indices] += more.values
            return Stream(self.size, total)
        indices = np.concatenate((self.indices, other.indices))
        # Two ascending rows one after the other: a stable sort merges them in one pass.
        order = np.argsort(indices, kind="stable")
        indices = indices[order]
        values = np.concatenate((self.values, other.values))[order]
        second = np.flatnonzero(indices[1:] == indices[:-1]) + 1
        values[second - 1] += values[second]
        return Stream(self.size, np.delete(values, second), np.delete(indices, second)).settled()

    def pack(self) -> np.ndarray:
        """The message: values first, then the indices; a dense one is as long as the vector."""
        smaller = self.settled()
        message = np.empty(smaller.nbytes, np.uint8)
        message[: smaller.values.nbytes].view(self.values.dtype)[:] = smaller.values
        if smaller.indices is not None:
            message[smaller.values.nbytes :].view(INDEX)[:] = smaller.indices
        return message

    @staticmethod
    def unpack(message: np.ndarray, size: int, dtype: np.dtype) -> Stream:
        """A stream from its message; its length says which form it has."""
        if len(message) == size * dtype.itemsize:
            return Stream(size, message.view(dtype))
        entries, rest = divmod(len(message), dtype.itemsize + INDEX.itemsize)
        if rest or len(message) > size * dtype.itemsize:
            raise ValueError(
                f"a message of {len(message)} bytes is no stream of {size} {dtype}: all ranks "
                "need vectors of the same length and type"
            )
        values = message[: entries * dtype.itemsize].view(dtype)
        return Stream(size, values, message[values.nbytes :].view(INDEX))


def join(parts: list[Stream]) -> Stream:
    """The vector whose neighbouring parts these are."""
    values = np.concatenate([part.values for part in parts])
    size = sum(part.size for part in parts)
    if len(values) == size:
        return Stream(size, values)
    indices, start = [], 0
    for part in parts:
        own = np.arange(part.size, dtype=INDEX) if part.indices is None else part.indices
        indices.append(own + INDEX.type(start))
        start += part.size
    return Stream(size, values, np.concatenate(indices)).settled()
