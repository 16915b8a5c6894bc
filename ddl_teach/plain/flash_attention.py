"""Attention in tiles: softmax(Q K^T / sqrt(d)) V without a matrix of all scores.

A tile of queries meets one tile of keys after the other. Its softmax runs: when a larger score
comes, all sums so far are multiplied by exp(old - new). What is kept for the way back is one
number for each query, the log of its sum; all scores are computed anew there.
Cost for N positions of width d: forward 4 N^2 d operations, as the definition has; backward
10 N^2 d, where the definition has 8 N^2 d. Memory 4 N d + N numbers, where it has N^2.
Dao, Fu, Ermon, Rudra and Re, "FlashAttention: fast and memory-efficient exact attention with
IO-awareness", NeurIPS 2022. What to look at: no array here has two axes of length N.
"""

from collections.abc import Iterator

import numpy as np


def tiles(length: int, tile: int, causal: bool) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """Every tile of queries with every tile of keys that it sees, and which pairs are seen."""
    for first in range(0, length, tile):
        rows = np.arange(first, min(first + tile, length))[:, None]
        for key in range(0, int(rows[-1, 0]) + 1 if causal else length, tile):
            columns = np.arange(key, min(key + tile, length))
            seen = (columns <= rows) if causal else np.ones((len(rows), len(columns)), bool)
            yield slice(first, first + tile), slice(key, key + tile), seen


def forward(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, tile: int, causal: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """The output (N, d), and the log of each query's sum (N, 1)."""
    largest, total = np.full((len(q), 1), -np.inf), np.zeros((len(q), 1))
    output = np.zeros_like(q)
    for mine, other, seen in tiles(len(q), tile, causal):
        scores = np.where(seen, q[mine] @ k[other].T / np.sqrt(q.shape[1]), -np.inf)
        larger = np.maximum(largest[mine], scores.max(axis=1, keepdims=True))
        weights, shrink = np.exp(scores - larger), np.exp(largest[mine] - larger)
        total[mine] = shrink * total[mine] + weights.sum(axis=1, keepdims=True)
        output[mine] = shrink * output[mine] + weights @ v[other]
        largest[mine] = larger
    return output / total, largest + np.log(total)


def backward(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, output: np.ndarray, log_total: np.ndarray,
    gradient: np.ndarray, tile: int, causal: bool = True,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """The gradients of q, k and v from that of the output."""
    dq, dk, dv, scale = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v), q.shape[1] ** -0.5
    shared = (gradient * output).sum(axis=1, keepdims=True)
    for mine, other, seen in tiles(len(q), tile, causal):
        p = np.exp(np.where(seen, scale * q[mine] @ k[other].T, -np.inf) - log_total[mine])
        ds = scale * p * (gradient[mine] @ v[other].T - shared[mine])
        dq[mine] += ds @ k[other]
        dk[other] += ds.T @ q[mine]
        dv[other] += p.T @ gradient[mine]
    return dq, dk, dv
