"""Attention in tiles as one kernel for a GPU: all of a tile's work happens in its small memory.

A program of the kernel has one tile of queries of one head. It walks over the tiles of keys that
they see, with a softmax that runs, and writes the output and the log of each sum: 4 N^2 d
operations, and the traffic of `theory.attention.tiled_traffic`. Tillet, Kung and Cox, "Triton: an
intermediate language and compiler for tiled neural network computations", MAPL 2019. What to look
at: the running sums are those of `plain/flash_attention.py`. Import it where Triton and a GPU are;
without a GPU Triton's interpreter runs it, slowly, if TRITON_INTERPRET=1 is set before.
"""

from functools import cache
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ddl_teach.operators.attention.definition import check_shapes
from ddl_teach.operators.attention.tiled import TileSizes

TYPES = (torch.float16, torch.bfloat16, torch.float32)
compiled = cache(triton.jit)  # a kernel that is made anew would be looked for anew at each call


def fused_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    causal: bool = True,
    tiles: TileSizes = TileSizes(),
) -> tuple[Tensor, Tensor]:
    """The output, and the log of each query's sum in single precision. It has no gradients."""
    check_shapes(queries, keys, values, causal)
    tensors = [each.contiguous() for each in (queries, keys, values)]
    length, width = queries.shape[-2:]
    for size in (width, *tiles):
        if size < 16 or size & (size - 1):
            raise ValueError(
                f"fused_attention: width {width}, tiles {tiles}: all must be powers of two from "
                "16 on, for a GPU's matrix unit. tiled_attention takes any"
            )
    if {each.dtype for each in tensors} - {queries.dtype} or queries.dtype not in TYPES:
        raise ValueError(
            f"fused_attention: {[each.dtype for each in tensors]}: give all one type of {TYPES}"
        )
    if torch.is_grad_enabled() and any(each.requires_grad for each in tensors):
        raise ValueError("fused_attention has no gradients: use torch.no_grad or tiled_attention")
    output = torch.empty_like(tensors[0])
    log_total = output.new_empty(*output.shape[:-1], 1, dtype=torch.float32)
    grid = triton.cdiv(length, tiles.queries), queries[..., 0, 0].numel()
    compiled(_attend)[grid](
        *tensors, output, log_total, width**-0.5, length, keys.shape[-2],
        width, tiles.queries, tiles.keys, causal,
    )  # fmt: skip
    return output, log_total


def _attend(
    queries: Any, keys: Any, values: Any, output: Any, log_total: Any, scale: Any, length: Any,
    known: Any, width: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr,
    causal: tl.constexpr,
) -> None:  # fmt: skip
    head = tl.program_id(1).to(tl.int64)
    mine, across = tl.program_id(0) * rows + tl.arange(0, rows), tl.arange(0, width)
    place = (head * length + mine[:, None]) * width + across[None, :]
    q = tl.load(queries + place, mask=mine[:, None] < length, other=0.0)
    largest = tl.full([rows], float("-inf"), tl.float32)
    total, sums = tl.zeros([rows], tl.float32), tl.zeros([rows, width], tl.float32)
    seen = tl.minimum(mine + 1, known) if causal else mine * 0 + known
    end = tl.minimum((tl.program_id(0) + 1) * rows, known) if causal else known
    for first in range(0, end, columns):
        other = first + tl.arange(0, columns)
        there = (head * known + other[:, None]) * width + across[None, :]
        k = tl.load(keys + there, mask=other[:, None] < known, other=0.0)
        v = tl.load(values + there, mask=other[:, None] < known, other=0.0)
        # Also a row past the end sees the first key: so `larger` is finite.
        scores = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        scores = tl.where(other[None, :] < seen[:, None], scores, float("-inf"))
        larger = tl.maximum(largest, tl.max(scores, 1))
        weights, shrink = tl.exp(scores - larger[:, None]), tl.exp(largest - larger)
        total = shrink * total + tl.sum(weights, 1)
        sums = shrink[:, None] * sums + tl.dot(weights.to(v.dtype), v, input_precision="ieee")
        largest = larger
    result = (sums / total[:, None]).to(q.dtype)
    tl.store(output + place, result, mask=mine[:, None] < length)
    tl.store(log_total + head * length + mine, largest + tl.log(total), mask=mine < length)
