"""Runs the kernel in Triton's interpreter, and prints for each case how far it is from the
definition: the output, and the logs. Triton must be told before it is imported: TRITON_INTERPRET.
"""

import json
import sys
from itertools import product

import torch

from ddl_teach.operators.attention.definition import attention
from ddl_teach.operators.attention.fused import fused_attention
from ddl_teach.operators.attention.tiled import TileSizes, tiled_attention

TILES = {"16 x 16": TileSizes(16, 16), "64 x 32": TileSizes(64, 32), "32 x 64": TileSizes(32, 64)}
LENGTHS = {
    "1": (1, 1),
    "50": (50, 50),
    "128": (128, 128),
    "50 of 70": (50, 70),
    "70 of 50": (70, 50),
}
# Its `tl.dot` takes numbers of type bfloat16 for the whole numbers that hold their bits.
KINDS = {"float32": torch.float32, "float16": torch.float16}
CASES = [
    (tiles, kind, length, causal)
    for tiles, kind, length, causal in product(TILES, KINDS, LENGTHS, (True, False))
    if not (causal and "of" in length)
]


def far(tiles, kind, length, causal):
    """From the definition, from our tiles, and from the logs of the sums."""
    torch.manual_seed(3)
    queries, keys = LENGTHS[length]
    q, k, v = (torch.randn(2, 3, size, 32).to(KINDS[kind]) for size in (queries, keys, keys))
    output, log_total = fused_attention(q, k, v, causal, TILES[tiles])
    q, k, v = (each.double() for each in (q, k, v))
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
    right = (
        (output, attention(q, k, v, causal)),
        (output, tiled_attention(q, k, v, causal, TILES[tiles])),
        (log_total, scores.logsumexp(-1, keepdim=True)),
    )
    return [float((mine - other).abs().max()) for mine, other in right]


if __name__ == "__main__":
    json.dump([far(*case) for case in CASES], sys.stdout)
