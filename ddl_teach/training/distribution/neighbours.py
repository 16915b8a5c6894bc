"""Neighbours: no server and no collective; every rank sends to a few others on a graph.

Cost of a step: a message to each neighbour, d (latency + n per_byte) for degree d, however many
ranks there are; what is paid is that ranks agree only slowly (`theory.gossip`). A mix is

    x_i  +=  sum over j of W_ij (seen_j - seen_i)

where seen is a vector as its message gives it. So what one rank gains another loses, and the mean
of all is kept, whatever a compressor does. Lian et al., "Can decentralized algorithms outperform
centralized algorithms?", NeurIPS 2017. What to look at: no rank sends more than another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ddl_teach.comm import Comm
from ddl_teach.theory.gossip.graphs import GraphOf, ring
from ddl_teach.theory.gossip.mixing import heard_weights
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.consistency.asynchronous_gossip import Meets
from ddl_teach.training.consistency.compressed_gossip import MixesChanges
from ddl_teach.training.consistency.handles import Mixes, Requirements, Service, SyncHandle
from ddl_teach.training.consistency.push_sum import PushesSums
from ddl_teach.training.distribution.distribution import Distribution
from ddl_teach.training.distribution.meetings import NeighbourMeetings
from ddl_teach.training.optimizers.update import Update

MESSAGE, LENGTH, MASS = 1, 2, 3  # tags


@dataclass(frozen=True)
class Neighbours(Distribution["Neighbour"]):
    """The distribution along a graph: `ring`, `torus`, `exponential`, ... of
    `theory.gossip.graphs`, or any function from a number of ranks to a graph."""

    graph: GraphOf = ring
    offers = (Mixes, MixesChanges, PushesSums, Meets)

    def __post_init__(self) -> None:
        if not callable(self.graph):
            maker = "give a function that makes the graph of so many ranks"
            raise TypeError(f"graph={self.graph!r}: {maker}, as Neighbours(graphs.ring)")

    def open(
        self, comm: Comm, weights: np.ndarray, compressor: Compressor, service: Service
    ) -> Neighbour:
        return Neighbour(comm, self.graph, weights, compressor)

    def objection(
        self, consistency: Requirements, compressor: Compressor, update: Update | None
    ) -> str | None:
        if Meets in consistency.needs and compressor.nbytes(1) is None:
            known = "a rank that may be asked at any time must know how long a message is"
            return f"{known}, and in this compressor lengths differ: take Dense() or Half()"
        if MixesChanges in consistency.needs and compressor.remembers:
            kept = "what the neighbours do not know yet is kept already, and would be sent twice"
            return f"{kept} with this memory: take the compressor without it"
        return None


class Neighbour(SyncHandle):
    """The handle of a rank among neighbours."""

    def __init__(
        self, comm: Comm, graph: GraphOf, weights: np.ndarray, compressor: Compressor
    ) -> None:
        self.worker, self.workers = comm.rank, comm.size
        self.graph = graph(comm.size)
        if self.graph.ranks != comm.size:
            ranks = f"{self.graph.ranks} ranks, but there are {comm.size}"
            raise ValueError(f"the {self.graph.name} graph has {ranks}: make it for {comm.size}")
        self._comm, self._compressor = comm, compressor
        self._size, self._dtype = weights.size, weights.dtype
        self._stream = compressor.stream(seed=comm.rank)
        # For compressed gossip: what this rank and its neighbours are known to have, by rank.
        known = (comm.rank, *self.graph.hears_from(comm.rank))
        self._known = dict.fromkeys(known, weights)

    def mix(self, vector: np.ndarray, step: int) -> None:
        weights = heard_weights(self.graph, self.worker, step)
        message = self._stream.encode(vector)
        seen = self._told(message)
        heard = self._swap(message, self.graph.sends_to(self.worker, step), list(weights))
        for weight, theirs in zip(weights.values(), heard, strict=True):
            vector += weight * (theirs - seen)

    def mix_changes(self, vector: np.ndarray, step: int, pull: float) -> None:
        """Mix by changes alone: each rank keeps the known copies of its neighbours' vectors, and
        sends what is new in its own."""
        if len(self.graph.rounds) > 1:
            varies = f"the neighbours of the {self.graph.name} graph change from step to step"
            raise ValueError(f"{varies}: take a graph with one round only")
        weights = heard_weights(self.graph, self.worker, step)
        message = self._stream.encode(vector - self._known[self.worker])
        heard = self._swap(message, self.graph.sends_to(self.worker, step), list(weights))
        # An unbiased compressor exaggerates what it does send: shortened, it never overshoots.
        share = 1 / (1 + self._compressor.error(self._size)) if self._compressor.unbiased else 1.0
        changes = [self._told(message), *heard]
        for rank, change in zip((self.worker, *weights), changes, strict=True):
            self._known[rank] = self._known[rank] + share * change
        for rank, weight in weights.items():
            vector += pull * weight * (self._known[rank] - self._known[self.worker])

    def push_sum(self, vector: np.ndarray, mass: float, step: int) -> float:
        comm, targets = self._comm, self.graph.sends_to(self.worker, step)
        sources = self.graph.hears_from(self.worker, step)
        share = 1 / (1 + len(targets))
        message = self._stream.encode(vector * share)
        masses = [np.empty(1) for _ in sources]
        _trade(comm, np.array([mass * share]), targets, masses, sources, MASS)
        heard = self._swap(message, targets, sources)
        # Own is what was not sent: then nothing is lost by rounding, nor by the compressor.
        vector -= len(targets) * self._told(message)
        for theirs in heard:
            vector += theirs
        return mass * share + sum(float(part[0]) for part in masses)

    def meetings(
        self, vector: np.ndarray, steps: int, seed: int, ahead: float
    ) -> NeighbourMeetings:
        comm, compressor = self._comm, self._compressor
        return NeighbourMeetings(comm, self.graph, compressor, vector, steps, seed, ahead)

    def _swap(
        self, message: np.ndarray, targets: Sequence[int], sources: Sequence[int]
    ) -> list[np.ndarray]:
        """Send one message to all `targets`; returns the vectors that the `sources` sent."""
        lengths = [np.array([message.nbytes]) for _ in sources]
        if self._compressor.nbytes(self._size) is None:
            _trade(self._comm, np.array([message.nbytes]), targets, lengths, sources, LENGTH)
        arriving = [np.empty(length[0], np.uint8) for length in lengths]
        _trade(self._comm, message, targets, arriving, sources, MESSAGE)
        return [self._told(each) for each in arriving]

    def _told(self, message: np.ndarray) -> np.ndarray:
        # In the vectors' own numbers: both sides of a link round alike.
        return self._compressor.decode(message, self._size).astype(self._dtype)


def _trade(
    comm: Comm,
    outgoing: np.ndarray,
    targets: Sequence[int],
    arriving: Sequence[np.ndarray],
    sources: Sequence[int],
    tag: int,
) -> None:
    requests = [comm.irecv(x, r, tag) for x, r in zip(arriving, sources, strict=True)]
    requests += [comm.isend(outgoing, to, tag) for to in targets]
    for request in requests:
        request.wait()


def mix(comm: Comm, x: np.ndarray, matrix: np.ndarray) -> None:
    """Gossip at its plainest, in place: x becomes the sum of matrix[rank, j] times rank j's x."""
    others = np.arange(comm.size) != comm.rank
    targets = np.flatnonzero(others & (matrix[:, comm.rank] != 0)).tolist()
    sources = np.flatnonzero(others & (matrix[comm.rank] != 0)).tolist()
    heard = [np.empty_like(x) for _ in sources]
    _trade(comm, x.copy(), targets, heard, sources, MESSAGE)
    x *= matrix[comm.rank, comm.rank]
    for source, theirs in zip(sources, heard, strict=True):
        x += matrix[comm.rank, source] * theirs
