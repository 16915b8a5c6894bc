"""Gathered keys: each rank collects the keys and values of all positions, and attends once.

Nothing is computed meanwhile, and a rank holds the keys of the whole text. But no block travels
twice, and heads of keys may be few: with grouped queries n is small. Per layer, for n bytes of
keys and values together and P ranks, a rank sends

    forward (P-1)/P n  (an all-gather)      backward (P-1)/P n  (a reduce-scatter of gradients)

where a ring of blocks sends n more backward. Dubey et al., "The Llama 3 herd of models", 2024,
section 3.3.2. What to look at: any mask will do, for a rank has all keys in its hands.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from ddl_teach.comm import Comm
from ddl_teach.networks.autograd_collectives import gather_in
from ddl_teach.networks.context.layouts import check_positions
from ddl_teach.networks.context.ring_attention import rows_at_once


def gathering_attention(
    comm: Comm, queries: Tensor, keys: Tensor, values: Tensor, positions: Sequence[Tensor],
    causal: bool = True,
) -> Tensor:  # fmt: skip
    """Attention over the positions of all ranks; differentiable. Tensors are (batch, heads, this
    rank's positions, width); keys may have fewer heads than queries."""
    check_positions(comm, queries, positions)
    grouped = keys.shape[1] != queries.shape[1]
    held = [len(places) for places in positions]
    gathered = gather_in(comm, torch.stack([keys, values]), 3, sum(held), held)
    order, by_place = torch.cat(list(positions)).sort()
    keys, values = gathered[:, :, :, by_place.to(queries.device)]
    outputs = []
    # Each with no more keys than it sees.
    for rows, count, seen in rows_at_once(queries, positions[comm.rank], order, causal):
        its = queries[:, :, rows], keys[:, :, :count], values[:, :, :count]
        outputs.append(scaled_dot_product_attention(*its, seen, enable_gqa=grouped))
    return torch.cat(outputs, 2)
