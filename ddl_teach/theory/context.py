"""A long text on many ranks, on paper: bytes that go round or change places, and each rank's work.

A rank's block of keys and values has n_r bytes, all together n. Then rank r sends

    forward     n - n_(r+1)              every block but the one that ends its journey here
    backward    n - n_(r+1)  +  n        the same again, and all gradients, which must come home

with equal blocks 3n - 2n/P together. The work per rank is T^2/P pairs of a query and a key, so
long texts hide it. Liu, Zaharia and Abbeel, "Ring attention with blockwise transformers for
near-infinite context", 2023. Where ranks change to heads, and q_r bytes are rank r's queries,

    forward     3 (P-1)/P q_r + (q - q_r)/P      backward     the other way round

which is 4 (P-1)/P q_r for equal parts. Jacobs et al., "DeepSpeed Ulysses", 2023. Where all keys
are gathered first, the gradients are added up on their way home, n - n_r backward. On a grid both
of the first two add up: of heads inside a group, and of a ring of groups (Fang and Zhao, 2024).
What to look at: under a causal mask `pairs` are what a rank really computes in each step.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ddl_teach.theory.machine import Link


def sent(blocks: Sequence[int], rank: int) -> tuple[int, int]:
    """Bytes that `rank` sends forward and backward, when rank r's block has `blocks[r]` bytes."""
    if len(blocks) == 1:
        return 0, 0
    passed_on = sum(blocks) - blocks[(rank + 1) % len(blocks)]
    return passed_on, passed_on + sum(blocks)


def pairs(positions: Sequence[Sequence[int]], rank: int, step: int) -> int:
    """Pairs of a query and a key before it, of which `rank` computes the score in this `step`."""
    owner = (rank - step) % len(positions)
    return sum(key <= query for query in positions[rank] for key in positions[owner])


def slowest(positions: Sequence[Sequence[int]]) -> int:
    """Pairs on the critical path: in each step all wait for the rank with the most pairs."""
    ranks = range(len(positions))
    return sum(max(pairs(positions, rank, step) for rank in ranks) for step in ranks)


def sent_to_heads(
    queries: Sequence[int], rank: int, keys: Sequence[int] | None = None
) -> tuple[int, int]:
    """Bytes that `rank` sends forward and backward where ranks change to heads, when rank r's
    queries have `queries[r]` bytes. Its keys have `keys[r]`, copies counted; its values, too."""
    ranks = len(queries)
    (q_away, q_home), (k_away, k_home) = (
        (held[rank] * (ranks - 1) // ranks, (sum(held) - held[rank]) // ranks)
        for held in (queries, keys or queries)
    )
    return q_away + 2 * k_away + q_home, q_home + 2 * k_home + q_away


def sent_in_both(queries: Sequence[Sequence[int]], group: int, rank: int) -> tuple[int, int]:
    """Bytes that `rank` of this group sends forward and backward, where ranks of a group change
    to heads and the groups are a ring; `queries[i][j]` are the bytes of rank j of group i."""
    changing = sent_to_heads(queries[group], rank)
    passed_on = sent([2 * sum(held) // len(held) for held in queries], group)
    return changing[0] + passed_on[0], changing[1] + passed_on[1]


@dataclass(frozen=True)
class LongText:
    """One layer's attention forward on `ranks` equal ranks: `length` positions of `heads` heads
    of `width`, numbers of `itemsize` bytes, and each pair of a query and a key as work. Keys and
    values have `of_keys` heads, or as many as queries."""

    length: int
    heads: int
    width: int
    per_second: float  # operations of a rank
    itemsize: int = 2
    causal: bool = True
    of_keys: int | None = None

    def work(self, ranks: int) -> float:
        """The seconds in which a rank computes, with work in balance."""
        pairs = self.length**2 / (2 if self.causal else 1)
        return 4 * pairs * self.heads * self.width / ranks / self.per_second

    def block(self, ranks: int) -> float:
        """The bytes of a rank's queries."""
        return self.length * self.heads * self.width * self.itemsize / ranks

    def keys(self, ranks: int, size: int = 1) -> float:
        """The bytes of a rank's keys and values, copied if fewer heads than `size` ranks."""
        return 2 * self.block(ranks) * max(self.of_keys or self.heads, size) / self.heads

    def by_ring(self, ranks: int, link: Link) -> float:
        """The seconds where keys and values go round, each block under the work with another."""
        return self.by_both(ranks, 1, link, link)

    def by_heads(self, ranks: int, link: Link) -> float:
        """The seconds where ranks change to heads and back: four exchanges, nothing meanwhile."""
        return self.by_both(1, ranks, link, link)

    def by_both(self, groups: int, size: int, ring: Link, heads: Link) -> float:
        """The seconds where the `size` ranks of each group change to heads, and groups are a ring.
        `ring` and `heads` are what a rank's messages of each kind cost."""
        if self.heads % size:
            raise ValueError(f"{self.heads} heads cannot be divided among {size} ranks")
        ranks = groups * size
        keys, step = self.keys(ranks, size), self.work(ranks) / groups
        hop = ring.latency + keys * ring.per_byte
        exchanges = 4 * heads.latency + (2 * self.block(ranks) + keys) / size * heads.per_byte
        return (groups - 1) * max(step, hop) + step + (size - 1) * exchanges

    def by_gathering(self, ranks: int, link: Link) -> float:
        """The seconds where each rank first gathers all keys and values, by a ring."""
        hop = link.latency + self.keys(ranks) * link.per_byte
        return (ranks - 1) * hop + self.work(ranks)
