"""What answers cost: bytes of a cache, seconds of a step, and tokens that a draft saves.

    cache     2 layers keys itemsize bytes a token; `keys` is the width of all keys of a token
    step      max(operations / flops, bytes read / bandwidth) + messages
    messages  two all-reduces a layer, of `width` numbers for each new token
    draft     (1 - a^(g+1)) / (1 - a) tokens a step: g guesses, each accepted with probability a

A step reads all weights once, and the cache of its requests: few tokens are bound by memory, a
prompt by operations. Pope et al., "Efficiently scaling transformer inference", MLSys 2023;
Leviathan, Kalman and Matias, "Fast inference from transformers via speculative decoding", ICML
2023. What to look at: weights are read once for all requests of a batch, the cache is not.
"""

from dataclasses import dataclass
from functools import cache

from ddl_teach.theory.collectives import rabenseifner, recursive_doubling
from ddl_teach.theory.inputs import count
from ddl_teach.theory.machine import Link, Roofline


@dataclass(frozen=True)
class ServedModel:
    """Weights, layers, width, and the width of all keys of a token: less than `width` where heads
    share keys (Ainslie et al., 2023)."""

    weights: float
    layers: int
    width: int
    keys: int
    itemsize: int = 2

    @property
    def cache_bytes(self) -> int:
        """Bytes of keys and values of one token, in all layers."""
        return 2 * self.layers * self.keys * self.itemsize


CARD = Roofline(flops=989e12, bandwidth=3.35e12, memory=80e9)
INSIDE = Link(2e-6, 1 / 450e9)  # between the cards of one node


@dataclass(frozen=True)
class Lane:
    """One batch on `tensor` x `pipeline` cards. A pipeline has a batch in each of its stages: it
    is as many lanes, each of which passes all stages and has its part of the memory."""

    model: ServedModel
    tensor: int = 1
    pipeline: int = 1
    card: Roofline = CARD
    link: Link = INSIDE

    def __post_init__(self) -> None:
        count("tensor", self.tensor)
        count("pipeline", self.pipeline)

    @property
    def room(self) -> int:
        """Tokens for which there is cache; none if the weights alone do not fit."""
        free = self.tensor * self.pipeline * self.card.memory - self.weight_bytes
        return max(0, int(free / self.pipeline / self.model.cache_bytes))

    @property
    def weight_bytes(self) -> float:
        return self.model.itemsize * self.model.weights

    def seconds(self, new: int, cached: int, pairs: float | None = None) -> float:
        """A step on `new` tokens which reads `cached` ones. Each pair of a new token and one that
        it sees adds operations: `pairs` is that number, `cached` where each request has one new
        token."""
        pairs = cached if pairs is None else pairs
        operations = (
            2 * self.model.weights * new + 4 * self.model.layers * self.model.width * pairs
        )
        read = self.weight_bytes + self.model.cache_bytes * cached
        work = self.card.seconds(operations, read) / self.tensor
        return work + self.messages(new)

    @cache  # noqa: B019, lanes are few
    def messages(self, new: int) -> float:
        """Seconds of all messages of a step."""
        nbytes = self.model.itemsize * self.model.width * new
        ways = (recursive_doubling, rabenseifner)
        summed = min(float(way(self.tensor, nbytes, self.link)) for way in ways)
        passed = self.link.latency + nbytes / self.tensor * self.link.per_byte
        return 2 * self.model.layers * summed + (self.pipeline - 1) * passed


def expected_tokens(acceptance: float, guesses: int) -> float:
    """Tokens that one step of the large model gives, in the mean."""
    return sum(acceptance**accepted for accepted in range(guesses + 1))


def speedup(acceptance: float, guesses: int, cost: float) -> float:
    """How many times as fast as without a draft, of which a step takes `cost` of a large one."""
    return expected_tokens(acceptance, guesses) / (guesses * cost + 1)
