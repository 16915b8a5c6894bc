"""GPT-2: blocks of attention and of two fully connected layers, each added to what came in.

For T tokens of width d the matrix products of a block take T (12 d^2 + 2 T d) multiply-adds: long
texts are ruled by attention, wide networks by the rest. The matrix that embeds the tokens is also
the one that scores them at the end: counted once as parameters, and once as work.

Radford, Wu, Child, Luan, Amodei and Sutskever, "Language models are unsupervised multitask
learners", 2019. What to look at: of the smallest GPT-2's work for 1024 tokens, that last product
alone is a quarter.
"""

import torch
from torch import nn
from torch.nn import functional


class Gpt2Attention(nn.Module):
    """Every token looks at itself and at those before it, in `heads` ways at once."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of (batch, tokens, width), likewise."""
        parts = self.queries_keys_values(x).chunk(3, dim=2)
        queries, keys, values = (part.unflatten(2, (self.heads, -1)) for part in parts)
        seen = functional.scaled_dot_product_attention(
            queries.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2), is_causal=True
        )
        return self.projection(seen.transpose(1, 2).flatten(2))


class Gpt2Block(nn.Module):
    """Attention between tokens, then two layers within each of them."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.before_attention = nn.LayerNorm(width)
        self.attention = Gpt2Attention(width, heads)
        self.before_layers = nn.LayerNorm(width)
        self.layers = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of (batch, tokens, width), likewise."""
        x = x + self.attention(self.before_attention(x))
        return x + self.layers(self.before_layers(x))


class GPT2(nn.Module):
    """Token numbers of (batch, tokens) to a score for each word that may come next."""

    def __init__(
        self,
        blocks: int = 12,
        heads: int = 12,
        width: int = 768,
        longest: int = 1024,
        vocabulary: int = 50_257,
    ) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"width={width} can't be divided among heads={heads}")
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(longest, width)
        self.blocks = nn.Sequential(*(Gpt2Block(width, heads) for _ in range(blocks)))
        self.last = nn.LayerNorm(width)
        for name, weights in self.named_parameters():
            if name.endswith("weight") and weights.dim() == 2:
                nn.init.normal_(weights, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Scores of (batch, tokens, vocabulary)."""
        longest = self.places.num_embeddings
        if tokens.shape[1] > longest:
            raise ValueError(f"{tokens.shape[1]} tokens, but the network has {longest} places")
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        return functional.linear(self.last(self.blocks(x)), self.words.weight)
