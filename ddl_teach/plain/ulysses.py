"""Ulysses: for attention, ranks change from a part of the positions to a part of the heads.

Outside of attention each rank has all heads of its own positions. An all-to-all brings all
positions of its own heads to it. It attends to the whole text; another all-to-all brings the
outputs back. Backwards the gradients take the same way in the other direction.
Cost for n bytes of queries on one of P ranks (keys, values and outputs have as many): each
direction sends 4 (P-1)/P n bytes, where a ring sends 2 (P-1) n forward. P cannot be larger than
the number of heads. Jacobs, Tanaka, Zhang, Zhang, Song, Rajbhandari and He, "DeepSpeed Ulysses:
system optimizations for enabling training of extreme long sequence transformer models", 2023.
What to look at: what a rank sends falls as there are more ranks.
"""

import numpy as np

from ddl_teach import Comm
from ddl_teach.plain import flash_attention


def to_heads(comm: Comm, x: np.ndarray, length: int) -> np.ndarray:
    """From all heads of own positions (heads, own, d) to all positions of own heads."""
    outgoing = np.array_split(x, comm.size)
    incoming = np.array_split(
        np.empty((len(outgoing[comm.rank]), length, x.shape[2])), comm.size, 1
    )
    exchange(comm, outgoing, incoming)
    return np.concatenate(incoming, axis=1)


def to_positions(comm: Comm, x: np.ndarray, heads: int) -> np.ndarray:
    """The way back, for `heads` heads in all."""
    outgoing = np.array_split(x, comm.size, 1)
    incoming = np.array_split(np.empty((heads, *outgoing[comm.rank].shape[1:])), comm.size)
    exchange(comm, outgoing, incoming)
    return np.concatenate(incoming)


def exchange(comm: Comm, outgoing: list[np.ndarray], incoming: list[np.ndarray]) -> None:
    """Fill incoming[s] with what rank s has for this rank."""
    incoming[comm.rank][...] = outgoing[comm.rank]
    for step in range(1, comm.size):
        above, below = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        arriving = np.empty(incoming[below].shape)
        comm.sendrecv(np.ascontiguousarray(outgoing[above]), above, arriving, below)
        incoming[below][...] = arriving


def attend(
    comm: Comm, q: np.ndarray, k: np.ndarray, v: np.ndarray, length: int, tile: int = 64
) -> np.ndarray:
    """Causal attention of own queries (heads, own, d) to all positions, of which the ranks hold
    equal parts one after another."""
    heads, mine = len(q), [to_heads(comm, x, length) for x in (q, k, v)]
    each = [flash_attention.forward(q, k, v, tile)[0] for q, k, v in zip(*mine, strict=True)]
    return to_positions(comm, np.array(each).reshape(mine[0].shape), heads)
