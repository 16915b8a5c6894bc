"""Attention as it is defined: each query meets each key that it may see, all at once.

    S = Q K^T / sqrt(d);   P = softmax(S) row by row;   O = P V

Cost for N positions of width d: 4 N^2 d operations forward, 8 N^2 d backward; both need P, so N^2
numbers are stored for each head. Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser and
Polosukhin, "Attention is all you need", NeurIPS 2017.
"""

import torch
from torch import Tensor


def attention(queries: Tensor, keys: Tensor, values: Tensor, causal: bool = True) -> Tensor:
    """The output, shaped like `queries`; a causal query sees its own place and those before."""
    check_shapes(queries, keys, values, causal)
    scores = queries @ keys.transpose(-2, -1) * queries.shape[-1] ** -0.5
    if causal:
        unseen = torch.ones_like(scores, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(unseen, -torch.inf)
    output: Tensor = scores.softmax(-1) @ values
    return output


def check_shapes(queries: Tensor, keys: Tensor, values: Tensor, causal: bool) -> None:
    """Refuse tensors that do not belong together."""
    shapes = [tuple(each.shape) for each in (queries, keys, values)]
    fit = queries.dim() >= 2 and shapes[1] == shapes[2] and shapes[0][:-2] == shapes[1][:-2]
    if not fit or shapes[0][-1] != shapes[1][-1] or 0 in shapes[1]:
        raise ValueError(
            f"attention: queries, keys and values have shapes {shapes}: give (..., positions, "
            "width of a head), and keys and values of one shape"
        )
    if causal and shapes[0][-2] != shapes[1][-2]:
        raise ValueError(
            f"attention: {shapes[0][-2]} queries and {shapes[1][-2]} keys: causal attention needs "
            "as many queries as keys. Take causal=False if each query may see each key"
        )
