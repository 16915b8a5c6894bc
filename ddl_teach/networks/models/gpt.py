"""A GPT on characters: an embedding, blocks that each add to what came in, and scores.

A block of width d on T positions takes 24 T d^2 + 4 T^2 d operations forward and holds 12 d^2
weights. Radford, Wu, Child, Luan, Amodei and Sutskever, "Language models are unsupervised
multitask learners", 2019. What to look at: three seams. Heads know nothing of each other (tensor
parallelism); blocks only pass on (batch, positions, width) (pipelines); and positions meet in
`attend` only (context).
"""

from functools import partial

import torch
from torch import nn
from torch.nn import functional

from ddl_runtime.core.checks import one_of
from ddl_teach.networks.models.seeds import seeded_network

# One model from two cores to a GPU: vocabulary, width, heads, blocks, length. The first three read
# characters of `data.documentation`; the last is the smallest GPT-2.
SIZES = {
    "100k": (100, 64, 4, 2, 64),
    "1M": (100, 128, 4, 5, 128),
    "10M": (100, 320, 5, 8, 256),
    "124M": (50257, 768, 12, 12, 1024),
}


class Embedding(nn.Module):
    """Each character's vector plus that of its place; `positions` says which places these are."""

    def __init__(self, vocabulary: int, width: int, length: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(length, width)
        self.register_buffer("positions", torch.arange(length), persistent=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Numbers (batch, positions) to vectors (batch, positions, width)."""
        return self.words(tokens) + self.places(self.positions[: tokens.shape[1]])


class Attention(nn.Module):
    """Each of (batch, positions, width) looks at those before it, in `heads` ways at once."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.queries = nn.Linear(width, width)
        self.keys = nn.Linear(width, width)
        self.values = nn.Linear(width, width)
        self.projection = nn.Linear(width, width)
        # softmax(Q K^T / sqrt(d)) V of (batch, heads, positions, width of a head); where positions
        # lie on many ranks it is another one.
        self.attend = partial(functional.scaled_dot_product_attention, is_causal=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        queries, keys, values = (
            layer(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
            for layer in (self.queries, self.keys, self.values)
        )
        return self.projection(self.attend(queries, keys, values).transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention between positions, then two layers within each of them; the shape stays."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.narrow(functional.gelu(self.wide(self.norm2(x))))


def gpt(
    vocabulary: int = 100,
    width: int = 32,
    heads: int = 4,
    blocks: int = 2,
    length: int = 16,
    tied: bool = False,
    seed: int = 0,
) -> nn.Sequential:
    """`embedding`, `block1`, `block2`, ..., `norm`, `head`: tokens to scores of what comes next.
    `tied`: the matrix that embeds the characters is the one that scores them, one parameter."""
    if width % heads:
        raise ValueError(f"width={width} cannot be divided among heads={heads}")
    layers: dict[str, nn.Module] = {"embedding": Embedding(vocabulary, width, length)}
    for number in range(1, blocks + 1):
        layers[f"block{number}"] = Block(width, heads)
    layers["norm"] = nn.LayerNorm(width)
    layers["head"] = nn.Linear(width, vocabulary, bias=False)
    if tied:
        layers["head"].weight = layers["embedding"].words.weight
    return seeded_network(layers, seed)


def gpt_of(size: str, tied: bool = True, seed: int = 0) -> nn.Sequential:
    """The GPT of a name in SIZES. Weights: B (12 d^2 + 13 d) + (V + T + 2) d with vocabulary V,
    width d, B blocks and length T; V d more if not `tied`."""
    one_of(size, "size of a gpt", SIZES)
    return gpt(*SIZES[size], tied=tied, seed=seed)
