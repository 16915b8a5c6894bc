"""Attention on one device: operations, stored numbers and traffic, for one head.

N positions of width d; tiles of B_q queries and B_k keys; M numbers fit into the fast memory. The
definition moves its N x N matrices in and out, tiles move each key once for each tile of queries:

    definition   4 N d + 4 N^2              tiles   2 N d + N + (N / B_q) 2 N d    (forward)

and with B_q about M / (4 d) that is 8 N^2 d^2 / M: d^2 / M is far below 1. Dao et al.,
"FlashAttention", 2022, theorem 2; they also show that no exact attention does better for all M.
"""

from collections.abc import Iterator


def operations(length: int, width: int, causal: bool = False, anew: bool = False) -> int:
    """Multiplications and additions of a forward and a backward pass; `anew`: scores are computed
    a second time on the way back."""
    pairs = length * (length + 1) // 2 if causal else length**2
    products = 2 + 4 + anew  # matrix products of 2 d operations for each pair
    return 2 * width * pairs * products


def stored(length: int, width: int, tiled: bool) -> int:
    """Numbers that wait for the backward pass: queries, keys, values, output, and P or one number
    for each query."""
    return 4 * length * width + (length if tiled else length**2)


def definition_traffic(length: int, width: int) -> int:
    """Numbers moved forward: Q and K in, S out, S in, P out, P and V in, O out."""
    return 4 * length * width + 4 * length**2


def keys_read(length: int, tiles: tuple[int, int], causal: bool) -> Iterator[int]:
    """For each tile of queries, how many keys it reads; a causal one skips tiles it cannot see."""
    queries, keys = tiles
    for first in range(0, length, queries):
        last = min(first + queries, length) if causal else length
        yield min(-(-last // keys) * keys, length)


def tiled_traffic(length: int, width: int, tiles: tuple[int, int], causal: bool = False) -> int:
    """Numbers moved forward: Q in, O and the logs out, and keys and values for each tile."""
    own = 2 * length * width + length
    return own + 2 * width * sum(keys_read(length, tiles, causal))


def held(width: int, tiles: tuple[int, int]) -> int:
    """Numbers in the fast memory at a time: tiles of Q, O, K, V, the scores, two for each row."""
    queries, keys = tiles
    return 2 * queries * width + 2 * keys * width + queries * keys + 2 * queries


def largest_tiles(width: int, memory: int) -> tuple[int, int]:
    """The tiles with as many queries as fit beside as many keys, at most `memory` numbers."""
    side = 1
    while held(width, (side + 1, side + 1)) <= memory:
        side += 1
    if held(width, (side, side)) > memory:
        raise ValueError(
            f"{memory} numbers are too few for one query and one key of width {width}: "
            f"{held(width, (1, 1))} are needed"
        )
    return side, side


def seconds(operations: float, nbytes: float, per_second: float, bandwidth: float) -> float:
    """A kernel's time on a roofline: what takes longer, computing or moving."""
    return max(operations / per_second, nbytes / bandwidth)
