"""Meetings: two neighbours average, whenever one of them asks; no other rank takes part.

    rank i sends x_i;   rank j answers d = (x_i - x_j) / 2 and adds it to x_j;   x_i -= d

What one gains the other loses: the mean is kept. The danger is a deadlock: i waits for j's answer,
j for k's, k for i's. And if all answered while they wait, two ranks that ask each other would only
swap. So ranks have an order, and each asks only ranks above it. The highest waiting rank is
answered at once, and no cycle of waits can arise. The order begins with the side of the graph: if
it is *bipartite*, as an even ring, one side asks and the other answers. Gradients are computed in
the background meanwhile. All ranks draw their partners by one rule, so each rank knows how often
it will be asked. Lian et al., "Asynchronous decentralized parallel stochastic gradient descent",
ICML 2018. What to look at: a slow rank answers as fast as others; it only asks less often.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from ddl_teach.comm import ANY, Comm, Request
from ddl_teach.theory.gossip.graphs import CommunicationGraph
from ddl_teach.training.compression.compressor import Compressor

SESSIONS = 16_000  # that tags tell apart


@dataclass(eq=False)
class NeighbourMeetings:
    """One rank's meetings with its neighbours: `steps` of them, and one more at the end."""

    comm: Comm
    graph: CommunicationGraph
    compressor: Compressor
    vector: np.ndarray
    steps: int
    seed: int
    ahead: float

    def __post_init__(self) -> None:
        comm, graph, steps, seed = self.comm, self.graph, self.steps, self.seed
        # A neighbour may have begun its next training while this rank is still in this one: its
        # questions must wait until they are asked for. So each training has tags of its own.
        known = comm.attributes.get("meetings") or (comm.split(0), comm.split(comm.rank), 0)
        self._comm: Comm = known[0]
        self._alone: Comm = known[1]
        session: int = known[2]
        comm.attributes["meetings"] = self._comm, self._alone, session + 1
        self._asks = 2 * (session % SESSIONS)
        self._answers = self._asks + 1
        self._stream = self.compressor.stream(seed=comm.rank)
        order, near = _order(graph), _near(graph, comm.rank)
        self._partners = partners(graph, order, comm.rank, steps + 1, seed)
        drawn = {rank: partners(graph, order, rank, steps + 1, seed) for rank in near}
        asked = {rank: chosen.count(comm.rank) for rank, chosen in drawn.items()}
        self._expected = {rank: often for rank, often in asked.items() if often}
        self._answered = dict.fromkeys(self._expected, 0)
        length = self.compressor.nbytes(self.vector.size, self.vector.itemsize)
        assert length is not None, "`Neighbours.objection` refuses compressors whose lengths vary"
        self._message = np.empty(length, np.uint8)
        self._next = self._listen()

    def during(self, step: int, compute: Callable[[Comm], None]) -> None:
        computing = self._alone.background(compute)
        self._ask(self._partners[step])
        while self._next and (not computing.waited or self._runs_away(step)):
            if self._comm.wait_any([*self._next, computing][: 1 + (not computing.waited)]) == 0:
                self._answer()
        computing.wait()

    def end(self) -> None:
        self._ask(self._partners[-1])
        while self._next:
            self._answer()

    def _runs_away(self, step: int) -> bool:
        """Whether this rank is too far ahead of the fastest rank that asks it. Others may be
        slower."""
        done = max(self._answered[rank] / often for rank, often in self._expected.items())
        return done * self.steps < step + 1 - self.ahead

    def _ask(self, partner: int | None) -> None:
        # Ranks that ask now are answered afterwards: what this rank has must not change meanwhile.
        if partner is None:
            return
        difference = np.empty_like(self._message)
        answer = self._comm.irecv(difference, partner, self._answers)
        self._comm.send(self._stream.encode(self.vector), partner, self._asks)
        answer.wait()
        self.vector -= self.compressor.decode(difference, self.vector.size)

    def _answer(self) -> None:
        who = self._next[0].wait()
        theirs = self.compressor.decode(self._message, self.vector.size)
        difference = self._stream.encode((theirs - self.vector) / 2)
        self.vector += self.compressor.decode(difference, self.vector.size)
        self._comm.send(difference, who, self._answers)
        self._answered[who] += 1
        self._next = self._listen()

    def _listen(self) -> list[Request]:
        more = self._answered != self._expected
        return [self._comm.irecv(self._message, ANY, self._asks)] if more else []


def partners(
    graph: CommunicationGraph, order: list[tuple[int, int]], rank: int, steps: int, seed: int
) -> list[int | None]:
    """The rank that `rank` asks in each step, drawn by lot among its neighbours above it; None if
    it has no such neighbour."""
    above = sorted(other for other in _near(graph, rank) if order[other] > order[rank])
    if not above:
        return [None] * steps
    lots = np.random.default_rng([seed, rank]).integers(len(above), size=steps)
    return [above[lot] for lot in lots]


def _near(graph: CommunicationGraph, rank: int) -> set[int]:
    """The ranks that this rank ever sends to or receives from."""
    directions = product((graph.sends_to, graph.hears_from), range(len(graph.rounds)))
    return {other for towards, step in directions for other in towards(rank, step)}


def _order(graph: CommunicationGraph) -> list[tuple[int, int]]:
    """Each rank's place: first the even numbers of links away from rank 0, then the odd ones."""
    far = {0: 0}
    for rank in (queue := [0]):
        for other in sorted(_near(graph, rank) - far.keys()):
            far[other] = far[rank] + 1
            queue.append(other)
    return [(far[rank] % 2, rank) for rank in range(graph.ranks)]
