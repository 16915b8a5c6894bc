"""Graphs of ranks: which ranks each rank sends to, step after step.

A graph is plain data: `rounds[k][rank]` are the ranks to which that rank sends in step k; after
the last round the first comes again. In the one-peer exponential graph a rank sends to one other
in a step, 1, 2, 4, ... places away in turn (Ying et al. 2021). Degree is what a step costs, paths
what news must travel: on a ring P/2 steps, on a torus sqrt(P), on an exponential graph log2 P.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import isqrt

import numpy as np

from ddl_teach.theory.inputs import count

Round = tuple[tuple[int, ...], ...]
"""For each rank the ranks that it sends to."""


@dataclass(frozen=True)
class CommunicationGraph:
    """The ranks that each rank sends to, in one or several rounds. A rank that keeps a part for
    itself does not send it."""

    name: str
    rounds: tuple[Round, ...]

    def __post_init__(self) -> None:
        if not self.rounds or len({len(targets) for targets in self.rounds}) > 1:
            raise ValueError(
                f"the {self.name} graph needs at least one round, with as many ranks in each"
            )
        for targets in self.rounds:
            for rank, those in enumerate(targets):
                wrong = [to for to in those if to == rank or not 0 <= to < len(targets)]
                if wrong or len(set(those)) < len(those):
                    raise ValueError(
                        f"in the {self.name} graph rank {rank} sends to {tuple(those)}: name "
                        f"only other ranks, from 0 to {len(targets) - 1}, and each at most once"
                    )

    @property
    def ranks(self) -> int:
        return len(self.rounds[0])

    def sends_to(self, rank: int, step: int = 0) -> tuple[int, ...]:
        """The ranks that this rank sends to in a step."""
        return self.rounds[step % len(self.rounds)][rank]

    def hears_from(self, rank: int, step: int = 0) -> tuple[int, ...]:
        """The ranks that this rank receives from in a step."""
        return self._sources[step % len(self.rounds)][rank]

    @cached_property
    def undirected(self) -> bool:
        """Whether in every round a rank receives from the ranks that it sends to, and from no
        others."""
        return self._sources == self.rounds

    @cached_property
    def regular(self) -> bool:
        """Whether in every round all ranks send to equally many, and receive from as many."""
        both = zip(self.rounds, self._sources, strict=True)
        return all(len({len(peers) for peers in out + into}) == 1 for out, into in both)

    @cached_property
    def _sources(self) -> tuple[Round, ...]:
        everybody = range(self.ranks)
        heard = []
        for targets in self.rounds:
            sources: list[list[int]] = [[] for _ in everybody]
            for rank in everybody:
                for to in targets[rank]:
                    sources[to].append(rank)
            heard.append(tuple(map(tuple, sources)))
        return tuple(heard)


GraphOf = Callable[[int], CommunicationGraph]
"""What makes a graph of so many ranks, as `ring` does."""


def ring(ranks: int) -> CommunicationGraph:
    """Every rank sends to the one before it and the one after it."""
    return _circulant("ring", ranks, [(1, -1)])


def torus(ranks: int) -> CommunicationGraph:
    """Ranks in rows and columns, both closed to rings; as square as their number allows."""
    ranks = count("ranks", ranks)
    rows = next(rows for rows in range(isqrt(ranks), 0, -1) if ranks % rows == 0)
    place = np.arange(ranks).reshape(rows, -1)
    around = [np.roll(place, by, axis) for axis in (0, 1) for by in (1, -1)]
    return CommunicationGraph(
        "torus", (_tidy(zip(*(turned.ravel() for turned in around), strict=True)),)
    )


def exponential(ranks: int) -> CommunicationGraph:
    """Rank r sends to the ranks r + 1, r + 2, r + 4, r + 8, ... Links go one way, but each rank
    receives as many messages as it sends."""
    return _circulant("exponential", ranks, [_powers_of_two(ranks)])


def one_peer_exponential(ranks: int) -> CommunicationGraph:
    """Rank r sends to r + 1, in the next step to r + 2, then to r + 4, ...: one message a step."""
    return _circulant("one-peer exponential", ranks, [(hop,) for hop in _powers_of_two(ranks)])


def complete(ranks: int) -> CommunicationGraph:
    """Every rank sends to all others: one step is an all-reduce, at P-1 messages a rank."""
    return _circulant("complete", ranks, [range(1, ranks)])


def star(ranks: int) -> CommunicationGraph:
    """Rank 0 sends to all others and they send to it alone: the traffic of a server."""
    ranks = count("ranks", ranks)
    return CommunicationGraph("star", ((tuple(range(1, ranks)), *[(0,)] * (ranks - 1)),))


def random(ranks: int, rings: int = 2, seed: int = 0) -> CommunicationGraph:
    """Some rings, each through all ranks in an order of its own: connected, and well mixed."""
    generator = np.random.default_rng(seed)
    links: list[set[int]] = [set() for _ in range(count("ranks", ranks))]
    for _ in range(count("rings", rings)):
        order = generator.permutation(ranks).tolist()
        for rank, other in pairwise([*order, order[0]]):
            links[rank].add(other)
            links[other].add(rank)
    return CommunicationGraph("random", (_tidy(links),))


def random_pairs(ranks: int, rounds: int = 64, seed: int = 0) -> CommunicationGraph:
    """In each round every rank has one other, drawn anew; of an odd number one rank has none."""
    generator = np.random.default_rng(seed)
    drawn = []
    for _ in range(count("rounds", rounds)):
        order = generator.permutation(count("ranks", ranks)).tolist()
        pairs = list(zip(order[::2], order[1::2], strict=False))
        other = dict(pairs) | {b: a for a, b in pairs}
        drawn.append(_tidy((other.get(rank, rank),) for rank in range(ranks)))
    return CommunicationGraph("random pairs", tuple(drawn))


def directed(ranks: int, degree: int = 3, seed: int = 0) -> CommunicationGraph:
    """Every rank sends to the next one, and to up to `degree` - 1 others drawn at random. Some
    ranks receive from many, and some from few."""
    generator = np.random.default_rng(seed)
    extra = generator.integers(count("ranks", ranks), size=(ranks, count("degree", degree) - 1))
    links = [[(rank + 1) % ranks, *extra[rank].tolist()] for rank in range(ranks)]
    return CommunicationGraph("directed", (_tidy(links),))


def _circulant(name: str, ranks: int, hops: Iterable[Iterable[int]]) -> CommunicationGraph:
    """The graph in which every rank has the same hops; one list of hops for each round."""
    ranks = count("ranks", ranks)
    rounds = [_tidy([(rank + hop) % ranks for hop in each] for rank in range(ranks))
              for each in map(list, hops)]  # fmt: skip
    return CommunicationGraph(name, tuple(rounds) or (((),) * ranks,))


def _powers_of_two(ranks: int) -> list[int]:
    return [2**k for k in range((count("ranks", ranks) - 1).bit_length())]


def _tidy(links: Iterable[Iterable[int]]) -> Round:
    """Links as a round: in order, each once, and none from a rank to itself."""
    return tuple(
        tuple(sorted({int(to) for to in targets} - {rank})) for rank, targets in enumerate(links)
    )
