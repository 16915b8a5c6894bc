"""Ulysses: an all-to-all turns a part of the positions into a part of the heads, and back.

Attention asks nothing of other heads, and of other positions everything. So the ranks exchange:
from all heads of its own positions each goes to all positions of its own heads, attends there as
on one device, and goes back. On P ranks with n bytes of queries each a rank sends, per layer,

    forward 4 (P-1)/P n        backward the same        (with as many heads of keys)

where a ring sends 2 (P-1) n forward: P / 2 times as much. But P cannot be larger than the number
of heads of queries. Heads of keys may be fewer: each is then copied to several ranks, and backward
the gradients of its copies are added up. Both ways together reach further: the ranks of a group
share out heads, and the groups are a ring. Jacobs et al., "DeepSpeed Ulysses", 2023; both: Fang
and Zhao, "USP: a unified sequence parallelism approach for long context generative AI", 2024.
What to look at: the bytes of a rank fall as ranks are added, where those of a ring stay.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from ddl_teach.comm import Comm
from ddl_teach.networks.context.layouts import check_positions
from ddl_teach.networks.context.ring_attention import ring_attention
from ddl_teach.networks.experts.exchange import exchange

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def on_one_rank(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Causal attention of all positions; keys may have fewer heads than queries."""
    grouped = keys.shape[1] != queries.shape[1]
    return scaled_dot_product_attention(queries, keys, values, is_causal=True, enable_gqa=grouped)


def ulysses(
    comm: Comm, queries: Tensor, keys: Tensor, values: Tensor, positions: Sequence[Tensor],
    attend: Attend = on_one_rank,
) -> Tensor:  # fmt: skip
    """Attention over the positions of all ranks of `comm`; differentiable. Tensors are (batch,
    heads, this rank's positions, width). `attend` sees all positions in order, of this rank's
    heads."""
    if comm.size % keys.shape[1] == 0:  # fewer heads of keys than ranks: each goes to several
        copies = comm.size // keys.shape[1]
        keys, values = (x.repeat_interleave(copies, 1) for x in (keys, values))
    heads = {"queries": queries.shape[1], "keys": keys.shape[1], "values": values.shape[1]}
    for name, count in heads.items():
        if count % comm.size:
            raise ValueError(
                f"ulysses: {count} heads of {name} cannot be divided among {comm.size} ranks. "
                "Take fewer ranks, and a ring between groups of them: hybrid(heads, ring, ...)"
            )
    check_positions(comm, queries, positions)
    order = torch.cat(list(positions)).sort().values
    places = [torch.searchsorted(order, held.contiguous()) for held in positions]
    own = [_to_heads(comm, places, x) for x in (queries, keys, values)]
    return _to_positions(comm, places, attend(*own))


def hybrid(
    heads: Comm, ring: Comm, queries: Tensor, keys: Tensor, values: Tensor,
    positions: Sequence[Sequence[Tensor]],
) -> Tensor:  # fmt: skip
    """Causal attention on a grid of ranks: `heads` joins those that share out heads, `ring` those
    that keep the same heads. `positions[i][j]` are those of rank j of group i of the ring."""
    groups = [torch.cat(list(group)).sort().values for group in positions]
    attend = partial(ring_attention, ring, positions=groups)
    return ulysses(heads, queries, keys, values, positions[ring.rank], attend)


def _to_heads(comm: Comm, places: Sequence[Tensor], x: Tensor) -> Tensor:
    """From all heads of own positions to all positions of own heads."""
    by_head = x.permute(1, 2, 0, 3)
    heads, own = len(by_head) // comm.size, by_head.shape[1]
    coming = [heads * len(held) for held in places]
    rows = exchange(comm, by_head.flatten(0, 1), [heads * own] * comm.size, coming)
    parts = [
        part.reshape(heads, len(held), *rows.shape[1:])
        for held, part in zip(places, torch.split(rows, coming), strict=True)
    ]
    return torch.cat(parts, 1)[:, torch.cat(list(places)).argsort()].permute(2, 0, 1, 3)


def _to_positions(comm: Comm, places: Sequence[Tensor], x: Tensor) -> Tensor:
    """From all positions of own heads to all heads of own positions."""
    by_head = x.permute(1, 2, 0, 3)
    heads, own = len(by_head), len(places[comm.rank])
    leaving = [heads * len(held) for held in places]
    rows = torch.cat([by_head[:, held].flatten(0, 1) for held in places])
    arrived = exchange(comm, rows, leaving, [heads * own] * comm.size)
    return arrived.reshape(heads * comm.size, own, *rows.shape[1:]).permute(2, 0, 1, 3)
