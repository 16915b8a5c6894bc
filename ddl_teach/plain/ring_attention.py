"""Ring attention: each rank holds a part of a long text; keys and values travel round the ring.

Softmax needs all scores of a query. With a running maximum and a running sum they may come block
by block: when a larger maximum comes, all sums so far are multiplied by exp(old - new).
Cost for n bytes of keys and values on P ranks: a rank sends (P-1)/P n forward. Backward it sends
(2 P - 1)/P n, for the gradient of a block travels with it and then home. Memory: two blocks of
n/P. Liu, Zaharia and Abbeel, "Ring attention with blockwise transformers for near-infinite
context", 2023. What to look at: while a rank computes with one block, the next one is on its way.
"""

from collections.abc import Iterator

import numpy as np

from ddl_teach import Comm


def travelling(comm: Comm, block: np.ndarray, length: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield every rank's block, where own queries see its keys, and room as large as the next."""
    places = np.array_split(np.arange(length), comm.size)
    mine = places[comm.rank][:, None]
    for step in range(comm.size):
        owner, moving = (comm.rank - step) % comm.size, []
        arriving = np.empty((2, len(places[owner - 1]), block.shape[2]))
        if step + 1 < comm.size:
            moving.append(comm.irecv(arriving, (comm.rank - 1) % comm.size))
            moving.append(comm.isend(block, (comm.rank + 1) % comm.size))
        yield *block, places[owner] <= mine, np.empty_like(arriving)
        for request in moving:
            request.wait()
        block = arriving


def forward(comm: Comm, q: np.ndarray, kv: np.ndarray, length: int) -> tuple[np.ndarray, ...]:
    """Return causal attention of q to all keys kv[0] and values kv[1], and each sum's log."""
    largest, total, output = np.full((len(q), 1), -np.inf), np.zeros((len(q), 1)), np.zeros_like(q)
    for k, v, seen, _ in travelling(comm, kv, length):
        scores = np.where(seen, q @ k.T / np.sqrt(q.shape[1]), -np.inf)
        # The own block comes first, and there each query sees itself: so `larger` is finite.
        larger = np.maximum(largest, scores.max(axis=1, keepdims=True, initial=-np.inf))
        weights, shrink = np.exp(scores - larger), np.exp(largest - larger)
        total = shrink * total + weights.sum(axis=1, keepdims=True)
        output = shrink * output + weights @ v
        largest = larger
    return output / total, largest + np.log(total)


def backward(
    comm: Comm, q: np.ndarray, kv: np.ndarray, length: int, output: np.ndarray,
    log_total: np.ndarray, gradient: np.ndarray,
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """The gradients of q and kv from the gradient of the output; all scores are computed anew."""
    dq, dkv, scale = np.zeros_like(q), np.zeros_like(kv), 1 / np.sqrt(q.shape[1])
    for k, v, seen, room in travelling(comm, kv, length):
        p = np.exp(np.where(seen, scale * q @ k.T, -np.inf) - log_total)
        ds = scale * p * (gradient @ v.T - (gradient * output).sum(axis=1, keepdims=True))
        dq += ds @ k
        leaving, dkv = dkv + np.stack([ds.T @ q, p.T @ gradient]), room
        comm.sendrecv(leaving, (comm.rank + 1) % comm.size, dkv, (comm.rank - 1) % comm.size, 1)
    return dq, dkv
