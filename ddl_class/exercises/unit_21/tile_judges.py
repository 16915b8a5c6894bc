"""Attention tile by tile: right answers, which take the learner's place in unit 21 until
theirs are right."""

import numpy as np

from ddl_teach.theory.attention import tiled_traffic

Part = tuple[np.ndarray, np.ndarray, np.ndarray]


def merged(left: Part, right: Part) -> Part:
    """The right answer, which takes the learner's place until theirs is right."""
    largest = np.maximum(left[0], right[0])
    shrunk = [np.exp(part[0] - largest) for part in (left, right)]
    total, sums = (shrunk[0] * left[i] + shrunk[1] * right[i] for i in (1, 2))
    return largest, total, sums


def taken(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, largest: np.ndarray, total: np.ndarray,
    sums: np.ndarray,
) -> Part:  # fmt: skip
    """One tile of keys more, in the right way."""
    return merged((largest, total, sums), softmax_part(q, k, v))


def gradients(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, log_total: np.ndarray, gradient: np.ndarray,
    shared: np.ndarray,
) -> Part:  # fmt: skip
    """What one pair of tiles adds to the gradients of q, k and v."""
    scale = 1 / np.sqrt(q.shape[1])
    p = np.exp(scale * q @ k.T - log_total)
    ds = scale * p * (gradient @ v.T - shared)
    return ds @ k, ds.T @ q, p.T @ gradient


def tiles_met(row: int, queries: int, keys: int) -> int:
    """How many tiles of keys this row of tiles meets under a causal mask."""
    return -(-(row + 1) * queries // keys)


def moved_by_tiles(length: int, width: int, queries: int) -> int:
    """The numbers that tiles move forward, without a mask."""
    return tiled_traffic(length, width, (queries, queries))


def softmax_part(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> Part:
    """What these keys alone make of the softmax."""
    scores = q @ k.T / np.sqrt(q.shape[1])
    largest = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - largest)
    return largest, weights.sum(axis=1, keepdims=True), weights @ v
