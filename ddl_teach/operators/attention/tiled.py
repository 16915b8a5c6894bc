"""Attention in tiles: the scores of a tile of queries and a tile of keys are the only ones held.

The algorithm and its cost stand in `plain.flash_attention`. Here sums of 16-bit numbers run in 32
bits, and the loop over queries is outside: Dao, "FlashAttention-2: faster attention with better
parallelism and work partitioning", 2023.
What to look at: `traffic`, which falls as tiles grow, while the operations stay.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from ddl_runtime.core.checks import whole_number
from ddl_teach.operators.attention.definition import check_shapes
from ddl_teach.operators.attention.traffic import MemoryTraffic


class TileSizes(NamedTuple):
    """How many queries and how many keys meet at a time."""

    queries: int = 64
    keys: int = 64


def tiled_attention(
    queries: Tensor, keys: Tensor, values: Tensor, causal: bool = True,
    tiles: TileSizes = TileSizes(), traffic: MemoryTraffic | None = None,
) -> Tensor:  # fmt: skip
    """What `definition.attention` gives, with its gradients; `traffic` counts both ways."""
    check_shapes(queries, keys, values, causal)
    whole_number(tiles.queries, "tiled_attention: the tile's queries", 1)
    whole_number(tiles.keys, "tiled_attention: the tile's keys", 1)
    output: Tensor = _Tiled.apply(  # type: ignore[no-untyped-call]
        queries, keys, values, causal, tiles, traffic or MemoryTraffic()
    )
    return output


class _Tiled(Function):
    @staticmethod
    def forward(
        ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, causal: bool, tiles: TileSizes,
        traffic: MemoryTraffic,
    ) -> Tensor:  # fmt: skip
        output = torch.empty_like(queries)
        wide = torch.promote_types(queries.dtype, torch.float32)
        log_total = queries.new_empty(*queries.shape[:-1], 1, dtype=wide)
        for mine, columns in _rows(queries.shape[-2], keys.shape[-2], causal, tiles):
            q = queries[..., mine, :]
            largest = q.new_full((*q.shape[:-1], 1), -torch.inf, dtype=wide)
            total, sums = torch.zeros_like(largest), torch.zeros_like(q, dtype=wide)
            traffic.load(q)
            for other in columns:
                k, v = keys[..., other, :], values[..., other, :]
                scores = _scores(q, k, mine, other, causal)
                larger = torch.maximum(largest, scores.amax(-1, keepdim=True))
                weights, shrink = (scores - larger).exp(), (largest - larger).exp()
                total = shrink * total + weights.sum(-1, keepdim=True)
                sums = shrink * sums + weights.to(v) @ v
                largest = larger
                traffic.load(k, v)
                traffic.hold(q, k, v, scores, sums, total, largest)
            output[..., mine, :] = sums / total
            log_total[..., mine, :] = largest + total.log()
            traffic.store(output[..., mine, :], log_total[..., mine, :])
        ctx.causal, ctx.tiles, ctx.traffic = causal, tiles, traffic
        ctx.save_for_backward(queries, keys, values, output, log_total)
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, output, log_total = ctx.saved_tensors
        of_all = [torch.zeros_like(x, dtype=log_total.dtype) for x in (queries, keys, values)]
        of_queries, of_keys, of_values = of_all
        scale = queries.shape[-1] ** -0.5
        part = partial(_rows, queries.shape[-2], keys.shape[-2], ctx.causal, ctx.tiles)
        for mine, columns in part():
            q, of_output, sums = (each[..., mine, :] for each in (queries, gradient, output))
            # What every probability of a row loses because the row sums to one.
            shared = (of_output * sums).sum(-1, keepdim=True)
            ctx.traffic.load(q, of_output, sums, log_total[..., mine, :])
            for other in columns:
                k, v = keys[..., other, :], values[..., other, :]
                p = (_scores(q, k, mine, other, ctx.causal) - log_total[..., mine, :]).exp()
                of_scores = (p * (of_output @ v.transpose(-2, -1) - shared) * scale).to(q)
                of_queries[..., mine, :] += of_scores @ k
                of_keys[..., other, :] += of_scores.transpose(-2, -1) @ q
                of_values[..., other, :] += p.to(q).transpose(-2, -1) @ of_output
                grown = of_keys[..., other, :], of_values[..., other, :]
                ctx.traffic.load(k, v, *grown)
                ctx.traffic.store(*grown)
            ctx.traffic.store(q)
        return *(each.to(queries) for each in of_all), None, None, None


def _rows(
    queries: int, keys: int, causal: bool, tiles: TileSizes
) -> Iterator[tuple[slice, list[slice]]]:
    """Each tile of queries, with all tiles of keys that one of them sees."""
    for first in range(0, queries, tiles.queries):
        last = min(first + tiles.queries, queries)
        seen = last if causal else keys
        columns = range(0, seen, tiles.keys)
        yield slice(first, last), [slice(key, min(key + tiles.keys, keys)) for key in columns]


def _scores(q: Tensor, k: Tensor, mine: slice, other: slice, causal: bool) -> Tensor:
    """Q K^T / sqrt(d) of a tile, minus infinity where a query may not look."""
    scores: Tensor = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    if causal and other.stop - 1 > mine.start:  # the tile touches the diagonal
        rows = torch.arange(mine.start, mine.stop, device=q.device)[:, None]
        columns = torch.arange(other.start, other.stop, device=q.device)
        scores = scores.masked_fill(columns > rows, -torch.inf)
    return scores
