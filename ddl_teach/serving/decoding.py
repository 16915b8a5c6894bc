"""A GPT that reads each token once: keys and values of earlier tokens stand in a cache.

    scores of what comes next = GPT(new tokens, cache);    the cache grows by the new tokens

Split over ranks by heads, a rank's cache holds its own heads only. A step sums (requests, width)
numbers twice a block, and once after the embedding; the scores are gathered. Pope et al.,
"Efficiently scaling transformer inference", MLSys 2023.
What to look at: the only layer that changes is `attend`; positions meet nowhere else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from ddl_teach.comm import Comm
from ddl_teach.networks.axis_collectives import all_gather
from ddl_teach.networks.models.gpt import Block, Embedding
from ddl_teach.networks.tensor.gpt import split_gpt
from ddl_teach.serving.pages import Pages


class CachedGPT:
    """A `gpt` with a paged cache, over the ranks of `comm` if given.

    It changes the network in place: split by heads on `comm.device`, with cached attention, and
    without gradients. The cache has `blocks` blocks of `size` tokens. All ranks must take the same
    steps."""

    def __init__(
        self, network: nn.Sequential, comm: Comm | None = None, blocks: int = 64, size: int = 16
    ) -> None:
        embedding, *_, head = network
        layers = [child for child in network if isinstance(child, Block)]
        if not isinstance(embedding, Embedding) or not isinstance(head, nn.Linear):
            raise TypeError("a CachedGPT takes a whole `gpt`, from its embedding to its head")
        heads, each = layers[0].attention.heads, head.in_features // layers[0].attention.heads
        if comm is not None:
            if comm.size > heads:
                raise ValueError(
                    f"{heads} heads cannot be dealt out to {comm.size} ranks: take {heads} ranks "
                    "or fewer for one model, and make another replica of the ranks that are left"
                )
            split_gpt(network.to(comm.device), comm)
        self.network, self.comm = network.requires_grad_(False), comm
        self.embedding, self.words, self.heads = embedding, head.out_features, heads
        self.pages = Pages(blocks, size)
        own = layers[0].attention.queries.weight
        # Keys and values of each layer: a place for each token of each block.
        self.cache = own.new_zeros(len(layers), 2, blocks * size, len(own) // each, each)
        for own_cache, layer in zip(self.cache, layers, strict=True):
            layer.attention.attend = partial(self._attend, own_cache)

    def step(self, requests: Sequence[int], tokens: Tensor, every: bool = False) -> Tensor:
        """Scores (requests, vocabulary) of what comes after the new `tokens` (requests, new), the
        same on all ranks; with `every` after each of them, (requests, new, vocabulary)."""
        new, tokens = tokens.shape[1], tokens.to(self.cache.device)
        longest = self.embedding.places.num_embeddings
        for request in requests:
            if self.pages.lengths.get(request, 0) + new > longest:
                raise ValueError(f"request {request}: this model reads at most {longest} tokens")
            self.pages.grow(request, new)
        slots = [torch.tensor(self.pages.slots(request)) for request in requests]
        self._seen = nn.utils.rnn.pad_sequence(slots, batch_first=True).to(tokens.device)
        lengths = torch.tensor([[len(own)] for own in slots], device=tokens.device)
        places = lengths - new + torch.arange(new, device=tokens.device)
        self._new = self._seen.gather(1, places)
        # A token sees those up to its own place: neither what follows nor what fills up a row.
        to = torch.arange(self._seen.shape[1], device=tokens.device)
        self._visible = (to <= places[..., None])[:, None]
        x = self.embedding.words(tokens) + self.embedding.places(places)
        _, *between, head = self.network
        for child in between:
            x = child(x)
        scores: Tensor = head(x if every else x[:, -1])
        return scores if self.comm is None else all_gather(self.comm, scores, -1, self.words)

    def read(self, request: int) -> Tensor:
        """A copy of its cache: (layers, 2, tokens, own heads, width of a head)."""
        return self.cache[:, :, self.pages.slots(request)]

    def write(self, request: int, cache: Tensor) -> None:
        """Take the cache of a request that other ranks have read."""
        self.pages.grow(request, cache.shape[2])
        self.cache[:, :, self.pages.slots(request)] = cache

    def _attend(self, layer: Tensor, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Write the new keys and values, and attend to all that the tables name."""
        layer[0, self._new], layer[1, self._new] = keys.transpose(1, 2), values.transpose(1, 2)
        keys, values = layer[:, self._seen].transpose(2, 3)
        return scaled_dot_product_attention(queries, keys, values, attn_mask=self._visible)


@dataclass(frozen=True)
class Generated:
    """Tokens (requests, new) that were drawn, and the logarithm of each one's probability."""

    tokens: Tensor
    logs: Tensor


def generate(
    decoder: CachedGPT, prompts: Tensor, new: int, *, temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> Generated:  # fmt: skip
    """Generated of `new` tokens to prompts (requests, length), each drawn from softmax(scores /
    temperature); temperature 0 takes the best. Give generators of one seed on all ranks. The
    requests are 0, 1, ..., and end here. Tokens are drawn in the host's memory."""
    requests, given = range(len(prompts)), prompts
    tokens, logs = [], []
    for _ in range(new):
        scores = decoder.step(requests, given).cpu()
        given = draw(scores, temperature, generator)
        tokens.append(given)
        logs.append((scores / (temperature or 1)).log_softmax(-1).gather(1, given))
    for request in requests:
        decoder.pages.release(request)
    return Generated(torch.cat(tokens, 1), torch.cat(logs, 1))


def draw(scores: Tensor, temperature: float, generator: torch.Generator | None) -> Tensor:
    """A token (requests, 1) for each row of scores."""
    if temperature == 0:
        return scores.argmax(-1, keepdim=True)
    return torch.multinomial((scores / temperature).softmax(-1), 1, generator=generator)
