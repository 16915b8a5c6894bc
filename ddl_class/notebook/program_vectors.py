"""Programs as vectors, and a device by similar ones: for those who have not written them yet."""

from collections.abc import Mapping, Sequence

import numpy as np


def program_vector(
    statements: Sequence[str], vectors: Mapping[str, np.ndarray], width: int
) -> np.ndarray:
    """The sum of the known statements' vectors, brought to length one; zeros if none is known."""
    known = [vectors[text] for text in statements if text in vectors]
    total = np.sum(known, axis=0) if known else np.zeros(width)
    return np.asarray(total / (np.linalg.norm(total) or 1))


def by_neighbours(vectors: np.ndarray, slowdowns: np.ndarray, asked: np.ndarray, k: int) -> int:
    """The number of the device with the least sum of slowdowns of the k most similar programs."""
    nearest = np.argsort(-(vectors @ asked), kind="stable")[:k]
    return int(slowdowns[nearest].sum(axis=0).argmin())
