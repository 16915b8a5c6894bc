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


def gathering_attention(
    comm: Comm, queries: Tensor, keys: Tensor, values: Tensor, positions: Sequence[Tensor],
    causal: bool = True,
) -> Tensor:  # fmt: skip
    """Attention over the positions of all ranks; differentiable. Tensors are (batch, heads, this
    rank's positions, width); keys may have fewer heads than queries."""
    check_positions(comm, queries, positions)
    order = torch.cat(list(positions)).to(queries.device)
    own = torch.stack([keys, values])
    all_keys, all_values = gather_in(comm, own, 3, len(order), [len(held) for held in positions])
    seen = order <= positions[comm.rank].to(order)[:, None] if causal else None
    grouped = keys.shape[1] != queries.shape[1]
    return scaled_dot_product_attention(queries, all_keys, all_values, seen, enable_gqa=grouped)
