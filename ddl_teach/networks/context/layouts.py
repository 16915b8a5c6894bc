"""Which rank holds which positions of a text.

    contiguous   rank 0 the first part, rank 1 the next, ...
    striped      position t on rank t % P, as cards are dealt
    zigzag       of 2 P parts rank r has part r and part 2 P - 1 - r

Under a causal mask position t sees t+1 keys, and in a ring all wait for the slowest in every step:
contiguous parts gain nothing from the mask, while striped every rank has half a block to do in
every step. Two parts, one early and one late, come nearly as far, with long pieces.
Brandon, Nrusimha, Qian, Ankner, Jin, Song and Ragan-Kelley, "Striped attention: faster ring
attention for causal transformers", 2023; Dubey et al., "The Llama 3 herd of models", 2024.
What to look at: `theory.context.pairs` of both.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ddl_teach.comm import Comm
from ddl_teach.networks.shares import share


def contiguous(length: int, ranks: int) -> list[Tensor]:
    """The positions of each rank: neighbours together."""
    shares = [share(length, ranks, rank) for rank in range(ranks)]
    return [torch.arange(part.start, part.stop) for part in shares]


def striped(length: int, ranks: int) -> list[Tensor]:
    """The positions of each rank: every P-th."""
    return [torch.arange(length)[rank::ranks] for rank in range(ranks)]


def zigzag(length: int, ranks: int) -> list[Tensor]:
    """The positions of each rank: one part from the beginning and one from the end."""
    parts = contiguous(length, 2 * ranks)
    return [torch.cat([parts[rank], parts[2 * ranks - 1 - rank]]) for rank in range(ranks)]


LAYOUTS = {"contiguous": contiguous, "striped": striped, "zigzag": zigzag}


def check_positions(comm: Comm, queries: Tensor, positions: Sequence[Tensor]) -> None:
    """Refuse queries (batch, heads, positions, width) that are not at this rank's positions."""
    if len(positions) != comm.size or queries.shape[2] != len(positions[comm.rank]):
        raise ValueError(
            f"rank {comm.rank} of {comm.size} has {queries.shape[2]} queries, and positions lists "
            f"{[len(held) for held in positions]}: cut by layouts.contiguous(length, comm.size)"
        )
