"""GPT-2: the blocks of `networks.models.gpt`, at the size of the smallest one that was published.

For T tokens of width d the matrix products of a block take T (12 d^2 + 2 T d) multiply-adds: long
texts are ruled by attention, wide networks by the rest. The matrix that embeds the tokens is also
the one that scores them at the end: counted once as parameters, and once as work.

Radford et al. 2019. What to look at: of the smallest GPT-2's work for 1024 tokens, that last
product alone is a quarter.
"""

from torch import nn

from ddl_teach.networks.models.gpt import Block, Embedding


class GPT2(nn.Sequential):
    """From token numbers (batch, tokens) to a score for each word that may come next."""

    def __init__(
        self, blocks: int = 12, heads: int = 12, width: int = 768, longest: int = 1024,
        vocabulary: int = 50_257,
    ) -> None:  # fmt: skip
        super().__init__(Embedding(vocabulary, width, longest))
        self.extend(Block(width, heads) for _ in range(blocks))
        self.append(nn.LayerNorm(width)).append(nn.Linear(width, vocabulary, bias=False))
        self[-1].weight = self[0].words.weight
