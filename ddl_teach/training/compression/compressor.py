"""What a compressor is: how a vector becomes a message, and a message a vector again.

A compressor is settings only. `encode` makes the bytes that travel, all of them and no others;
`decode` makes a vector of them on any rank, without any memory. What a sender remembers (random
numbers, what it has not sent yet) belongs to a `CompressorState`, one for each stream of vectors.

    unbiased     E[decode(encode(x))] = x: errors average out over ranks and steps
    error(n)     a bound on E|decode(encode(x)) - x|^2 / |x|^2: up to 1 is a contraction, and a
                 residual that is kept and sent later stays bounded

Stich, Cordonnier & Jaggi, "Sparsified SGD with memory", 2018; Alistarh et al., "QSGD", 2017.
What to look at: compressors are one or the other, hardly ever both; the biased ones need a memory.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ddl_runtime.core.arrays import Array
from ddl_runtime.core.checks import amount
from ddl_teach.comm import Comm
from ddl_teach.theory.inputs import count

Allreduce = Callable[[Comm, Array], None]


class Compressor(ABC):
    """The settings of a compressor. Subclasses are frozen dataclasses."""

    faithful = False  # whether every entry arrives, so that weights may travel
    remembers = False  # whether links keep what they have not sent, for later

    def __post_init__(self) -> None:
        for name in {"bucket", "levels", "rank"} & vars(self).keys():
            count(name, vars(self)[name])
        amount(vars(self).get("density", 1), "density, a part of all entries,", zero=False, most=1)

    @property
    def unbiased(self) -> bool:
        """Whether the mean of many messages for one vector is that vector."""
        return False

    @property
    def sums(self) -> bool:
        """Whether messages can be added on the way."""
        return False

    @property
    def sparse(self) -> bool:
        """Whether it sends only some of the entries: `select`."""
        return False

    @abstractmethod
    def encode(self, vector: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """The message: bytes, and nothing else travels."""

    @abstractmethod
    def decode(self, message: np.ndarray, size: int) -> np.ndarray:
        """The vector of `size` numbers that a message stands for."""

    def nbytes(self, size: int, itemsize: int = 4) -> int | None:
        """The bytes of a message for `size` numbers of `itemsize` bytes; None if they vary."""
        return None

    @abstractmethod
    def error(self, size: int) -> float:
        """A bound on E|decode(encode(x)) - x|^2 / |x|^2 for vectors of `size` numbers."""

    def stream(self, seed: int = 0) -> CompressorState:
        """A sender's side; links with different seeds draw different random numbers."""
        return CompressorState(self, seed)

    def objection(self, sends: str, update: Any) -> str | None:
        """Why it does not go with what a consistency `sends` or with a rule `update`; or None."""
        return None

    def select(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The entries that a sparse compressor sends: ascending indices (uint32), values."""
        raise TypeError(f"{self} sends every entry: only sparse compressors select some")

    def summands(self, message: np.ndarray, size: int) -> np.ndarray:
        """The numbers inside a message that may be added to those of other ranks, in place."""
        raise TypeError(f"messages of {self} do not add up: decode them first, then add")


class CompressorState:
    """The sender's side of one stream of vectors: a compressor and its random numbers."""

    def __init__(self, compressor: Compressor, seed: int = 0) -> None:
        self.compressor = compressor
        self.generator = np.random.default_rng(seed)

    def encode(self, vector: np.ndarray) -> np.ndarray:
        """The message for the next vector of the stream; it may be that vector's own memory."""
        return self.compressor.encode(checked(vector), self.generator)

    def select(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.compressor.select(checked(vector))

    def average(self, comm: Comm, vector: np.ndarray, allreduce: Allreduce) -> np.ndarray:
        """For compressors whose messages add up: `vector` becomes the mean over the ranks. Returns
        what this rank's own vector has become on the way."""
        message = self.encode(vector / comm.size)
        own = self.compressor.decode(message, len(vector)) * comm.size
        allreduce(comm, self.compressor.summands(message, len(vector)))
        vector[:] = self.compressor.decode(message, len(vector))
        return own


def checked(vector: np.ndarray, begin: int = 0) -> np.ndarray:
    """The vector, or an error that says why it cannot be sent in any compressor; it is the part
    from entry `begin` on."""
    if not isinstance(vector, np.ndarray) or vector.ndim != 1 or vector.dtype.kind != "f":
        kind = f"{type(vector).__name__} {getattr(vector, 'shape', '')}".strip()
        advice = "x.ravel() makes one of an array, x.numpy() of a tensor"
        raise TypeError(f"a vector must be flat, of float32 or float64, not {kind}: {advice}")
    with np.errstate(over="ignore"):
        product = np.dot(vector, vector)  # needs no mask, which is as much memory again
    if not math.isfinite(product) and not np.isfinite(vector).all():
        first = int(np.flatnonzero(~np.isfinite(vector))[0])
        entry = f"entry {begin + first} of the vector is {vector[first]}"
        diverged = f"{entry}: the training has diverged"
        raise ValueError(f"{diverged}. Lower the rate, or clip gradients")
    return vector
