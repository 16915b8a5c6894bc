"""Ring attention: queries stay where they are, blocks of keys and values go round.

Softmax seems to need all scores of a query at once. But with a running maximum m one block after
another will do: when a block brings a larger one, what has been summed up so far is multiplied by
exp(m - m'), and the result is exact. So no rank ever holds more than a block of T/P keys; and
while it computes on one the next one comes.

Per layer, for n bytes of keys and values together and P ranks, a rank sends

    forward (P-1)/P n         backward (P-1)/P n + n   (the gradients come home, one hop more).

Liu et al. 2023; the running softmax: Milakov and Gimelshein, "Online normalizer calculation for
softmax", 2018. What to look at: messages under the blocks' work on the timeline, and ranks that
skip blocks which lie in the future of all their queries; and that heads of keys, if they are fewer
than those of queries (grouped queries), make n as much smaller.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from ddl_teach.comm import Comm
from ddl_teach.networks.context.layouts import check_positions

BLOCKS, GRADIENTS = 0, 1  # tags: both go round at the same time
ROWS = 128  # of queries whose scores a processor computes at once


def ring_attention(
    comm: Comm, queries: Tensor, keys: Tensor, values: Tensor, positions: Sequence[Tensor],
    causal: bool = True,
) -> Tensor:  # fmt: skip
    """softmax(Q K^T / sqrt(d)) V over the keys of all ranks; differentiable. All are (batch,
    heads, this rank's positions, width of a head). `positions` lists for every rank which places
    of the text it holds; a causal query sees its own place and those before. Keys and values may
    have fewer heads: then neighbouring heads of queries look at the same head of keys."""
    check_positions(comm, queries, positions)
    heads, of_keys = queries.shape[1], keys.shape[1]
    if heads % of_keys:
        raise ValueError(
            f"ring_attention: {heads} heads of queries cannot share {of_keys} heads of keys evenly"
        )
    # Heads that share keys are laid one after another, as if they were more queries of one head.
    sharing = heads // of_keys
    rows = queries.unflatten(1, (of_keys, sharing)).flatten(2, 3)
    mine = positions[comm.rank].repeat(sharing)
    output = _RingAttention.apply(comm, rows, keys, values, positions, mine, causal)
    return output.unflatten(2, (sharing, queries.shape[2])).flatten(1, 2)


def travelling(comm: Comm, own: Tensor, positions: Sequence[Tensor]) -> Iterator[tuple[Any, ...]]:
    """(owner, block) of every rank in turn, the own first; meanwhile the next is on its way."""
    rank, size = comm.rank, comm.size
    block = own
    for step in range(size):
        owner, requests = (rank - step) % size, []
        if step + 1 < size:
            arriving = room(own, positions[owner - 1])
            coming = comm.irecv(arriving, (rank - 1) % size, BLOCKS)
            requests = [coming, comm.isend(block, (rank + 1) % size, BLOCKS)]
        with comm.span(f"block of rank {owner}", kind="work"):
            yield owner, block
        for request in requests:
            request.wait()
        if requests:
            block = arriving


def room(block: Tensor, positions: Tensor) -> Tensor:
    """Empty memory for a block of keys and values at these positions, in the shape (2, batch,
    heads, positions, width)."""
    return block.new_empty(*block.shape[:3], len(positions), block.shape[4])


def scores(queries: Tensor, keys: Tensor, seen: Tensor | None) -> Tensor:
    """Q K^T / sqrt(d), and minus infinity where a query may not look."""
    products: Tensor = (queries * queries.shape[3] ** -0.5) @ keys.transpose(2, 3)
    return products if seen is None else products.masked_fill_(~seen, -torch.inf)


def tiles(
    queries: Tensor, mine: Tensor, others: Tensor, causal: bool
) -> Iterator[tuple[Any, Any, Tensor | None]]:
    """Parts of a block that are computed one after another: which queries, which keys, and which
    of these sees which (None: all). A processor takes one head and some rows, so that their scores
    stay in its cache, and only as many keys as these rows see; a GPU takes all at once."""
    heads = [slice(None)]
    if queries.device.type == "cpu":
        heads = [slice(head, head + 1) for head in range(queries.shape[1])]
    for own, count, seen in rows_at_once(queries, mine, others, causal):
        if count:
            for head in heads:
                yield (slice(None), head, own), (slice(None), head, slice(count)), seen


def rows_at_once(
    queries: Tensor, mine: Tensor, others: Tensor, causal: bool
) -> Iterator[tuple[slice, int, Tensor | None]]:
    """Which queries are computed one after another, with how many keys, and which of these sees
    which (None: all); one slice at least."""
    length = queries.shape[2]
    rows = ROWS if queries.device.type == "cpu" else length
    for first in range(0, max(1, length), max(1, rows)):
        own = slice(first, first + rows)
        count, seen = visible(mine[own], others, causal)
        yield own, count, None if seen is None else seen.to(queries.device)


def visible(mine: Tensor, others: Tensor, causal: bool) -> tuple[int, Tensor | None]:
    """How many keys, counted from the first, hold all that any of my queries sees; and which of
    them sees which (None: all)."""
    if not causal:
        return len(others), None
    seen = others <= mine[:, None]
    columns = seen.any(0).nonzero()
    count = int(columns.max()) + 1 if len(columns) else 0
    return count, None if seen[:, :count].all() else seen[:, :count]


class _RingAttention(Function):
    @staticmethod
    def forward(
        ctx: Any, comm: Comm, queries: Tensor, keys: Tensor, values: Tensor,
        positions: Sequence[Tensor], mine: Tensor, causal: bool,
    ) -> Tensor:  # fmt: skip
        largest = queries.new_full((*queries.shape[:3], 1), -torch.inf)
        total, output = torch.zeros_like(largest), torch.zeros_like(queries)
        block = torch.stack([keys, values])
        for owner, (k, v) in travelling(comm, block, positions):
            for own, theirs, seen in tiles(queries, mine, positions[owner], causal):
                # The own block comes first, and there each query sees itself: m is never infinite.
                s = scores(queries[own], k[theirs], seen)
                larger = torch.maximum(largest[own], s.amax(3, keepdim=True))
                weights, shrink = s.sub_(larger).exp_(), (largest[own] - larger).exp()
                total[own] = shrink * total[own] + weights.sum(3, keepdim=True)
                output[own] = shrink * output[own] + weights @ v[theirs]
                largest[own] = larger
        output = output / total
        ctx.comm, ctx.positions, ctx.mine, ctx.causal = comm, positions, mine, causal
        ctx.save_for_backward(queries, block, output, largest + total.log())
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        comm, positions, mine, causal = ctx.comm, ctx.positions, ctx.mine, ctx.causal
        queries, block, output, log_total = ctx.saved_tensors
        left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
        # What every probability of a row loses because the row sums to one.
        shared = (gradient * output).sum(3, keepdim=True)
        scale = queries.shape[3] ** -0.5
        of_queries = torch.zeros_like(queries)
        arrived = torch.zeros_like(block)
        for owner, (k, v) in travelling(comm, block, positions):
            for own, theirs, seen in tiles(queries, mine, positions[owner], causal):
                # The scores are computed anew: they were not kept.
                p = scores(queries[own], k[theirs], seen).sub_(log_total[own]).exp_()
                of_weights = gradient[own] @ v[theirs].transpose(2, 3)
                of_scores = of_weights.sub_(shared[own]).mul_(p).mul_(scale)
                of_queries[own] += of_scores @ k[theirs]
                arrived[0][theirs] += of_scores.transpose(2, 3) @ queries[own]
                arrived[1][theirs] += p.transpose(2, 3) @ gradient[own]
            if comm.size > 1:
                # The gradient of a block follows it, and after the last rank it goes home.
                leaving, arrived = arrived, room(block, positions[owner - 1])
                comm.sendrecv(leaving, right, arrived, left, GRADIENTS)
        return None, of_queries, arrived[0], arrived[1], None, None, None
