"""A symmetric program: one simulated rank in place of all, and the proof that all do the same.

The rank that runs is rank 0, but its `comm.rank` is an `EachRank`, the number of every rank. Where
ranks would branch apart, that refuses. What else must be so is proved at each message:

    each rank sends to another rank         the destinations are a permutation
    who sends to me is who I receive from   the sources of a receive are the inverse of it
    no message takes another's place        if two permutations agree on some ranks only, the
                                            messages of one are received before the other's begin
    all messages cost the same              sizes are plain numbers, all links of one kind

Then, by induction over the messages, all clocks and ports are the same at all times. So what rank
0 sends is given to rank 0 itself, as the message that its other neighbour sends to it. All else is
the simulator of many ranks: times are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from ddl_runtime.core.arrays import Array, Phantom, describe
from ddl_runtime.core.checks import ANY, whole_number
from ddl_runtime.core.communicator import Comm
from ddl_runtime.core.each_rank import EachRank, RankCount
from ddl_runtime.core.parts import Request
from ddl_runtime.simulator.communicator import SimulatedComm
from ddl_runtime.simulator.context import SimulatedContext
from ddl_runtime.simulator.rank_state import Channel, Host
from ddl_runtime.topologies.point_to_point import Machine


class NeighbourHost:
    """A rank that rank 0 sends to. Rank 0 itself gets the message, from the `sender` that does to
    rank 0 what rank 0 does to this rank."""

    __slots__ = ("host", "index", "sender")

    def __init__(self, host: Host, index: int, sender: int) -> None:
        self.host = host
        self.index = index
        self.sender = sender

    def channel(self, _source: int, tag: int, code: int, context: int) -> Channel:
        return self.host.channel(self.sender, tag, code, context)

    @property
    def attentive(self) -> bool:
        return self.host.attentive

    def __getattr__(self, name: str) -> Any:
        return getattr(self.host, name)


class OneForAll(list[Any]):
    """The hosts of a symmetric run: rank 0 alone, and by their numbers the ranks it sends to."""

    def __init__(self, hosts: list[Host]) -> None:
        super().__init__(hosts)
        self.neighbours: dict[int, NeighbourHost] = {}

    def __getitem__(self, rank: Any) -> Any:
        return self.neighbours[rank]


class SymmetricRequest(Request):
    """A request of rank 0, whose peer is that of each rank."""

    def __init__(self, inner: Request, peer: EachRank) -> None:
        self.inner = inner
        self.peer = peer

    @property
    def waited(self) -> bool:  # type: ignore[override]
        return self.inner.waited

    def wait(self) -> Any:
        self.inner.wait()
        return self.peer


class SymmetricComm(Comm):
    """A communicator of all ranks at once, and the `inner` one of rank 0."""

    virtual_time = True
    size: RankCount
    rank: Any
    node: Any

    def __init__(self, context: SimulatedContext, size: RankCount) -> None:
        self.inner = SimulatedComm(context)
        context.logs.pop()  # collectives are noted once
        super().__init__(context, self.inner.point_to_point)
        self.size = size
        self.rank = EachRank(size)
        self._simulation = context.simulation
        self.node = self._simulation.network.node(self.rank)
        # What was sent and not received, or asked for and not sent: by tag, element type and
        # permutation the destinations, and how many messages of each rank.
        self._under_way: dict[tuple[int, int, int | bytes], tuple[EachRank, int]] = {}
        self._irregular = False  # whether there were any whose permutation is no shift
        self._proved: tuple[Any, Any, int, int] = None, None, 0, 0

    # -- messages ---------------------------------------------------------------------------

    def isend(self, x: Array, to: Any, tag: int = 0) -> Request:
        return SymmetricRequest(self.inner.isend(x, self._sent(x, to, tag), tag), self.rank)

    def irecv(self, x: Array, source: Any, tag: int = 0) -> Request:
        return SymmetricRequest(self.inner.irecv(x, self._received(x, source, tag), tag), source)

    def send(self, x: Array, to: Any, tag: int = 0) -> None:
        self.inner.send(x, self._sent(x, to, tag), tag)

    def recv(self, x: Array, source: Any, tag: int = 0) -> Any:
        self.inner.recv(x, self._received(x, source, tag), tag)
        return source

    def sendrecv(self, x: Array, to: Any, y: Array, source: Any, tag: int = 0) -> Any:
        # The proof of the last two peers holds as long as no other message is under way.
        known_to, known_source, first, last = self._proved
        if not (
            to is known_to and source is known_source and not self._under_way
            and x.__class__ is y.__class__ is Phantom and x.nbytes.__class__ is int
        ):  # fmt: skip
            alone = not self._under_way
            last = self._received(y, source, tag)
            first = self._sent(x, to, tag)
            if not alone or self._under_way:  # the two are not what the other one waits for
                Comm.sendrecv(self.inner, x, first, y, last, tag)
                return source
            self._proved = to, source, first, last
        self.inner.sendrecv(x, first, y, last, tag)
        return source

    def wait_any(self, requests: Sequence[Any]) -> int:
        return self.inner.wait_any([request.inner for request in requests])

    # -- what is proved ---------------------------------------------------------------------

    def _sent(self, x: Array, to: Any, tag: int) -> int:
        """Rank 0's destination."""
        there = self._checked(x, to, "send")
        self._count(there, x, tag, 1)
        first, sender = there.first, there.inverse().first
        hosts: Any = self._simulation.hosts
        hosts.neighbours[first] = NeighbourHost(self.inner.context.host, first, sender)
        return first

    def _received(self, y: Array, source: Any, tag: int) -> int:
        """Rank 0's source."""
        here = self._checked(y, source, "receive")
        self._count(here.inverse(), y, tag, -1)
        return here.first

    def _checked(self, x: Array, peer: Any, verb: str) -> EachRank:
        """The peers as a permutation, of messages whose cost is the same for all ranks."""
        if x.nbytes.__class__ is EachRank:
            self.size.refuse(f"{verb}: messages have different sizes")
        nbytes, code = describe(x)
        if code and nbytes:
            self.size.refuse(f"{verb}: a message has data, and only a Phantom is the same on all")
        if peer.__class__ is not EachRank:
            if peer == ANY:
                self.size.refuse(f"{verb}: from ANY, ranks may take different messages")
            peer = EachRank(self.size, values=np.full(self.size, whole_number(peer, "a rank")))
        peers: EachRank = peer.permutation(verb)
        network = self._simulation.network
        if network.fixed_link is None:
            distance = network.node(peers) - self.node
            if distance.__class__ is EachRank:
                distance.agreed(distance.values != 0, f"{verb}: the kind of link differs")
        return peers

    def _count(self, peers: EachRank, x: Array, tag: int, more: int) -> None:
        """Of the messages to these `peers`, `more` are under way."""
        code = describe(x)[1]
        if peers.shift is None or self._irregular:
            for (other_tag, other_code, _), (others, _) in self._under_way.items():
                if (other_tag, other_code) == (tag, code):
                    peers.coincides(others, "which of two messages comes first differs")
        key = tag, code, peers.values.tobytes() if peers.shift is None else peers.shift
        balance = self._under_way.pop(key, (peers, 0))[1] + more
        if balance:
            self._under_way[key] = peers, balance
            self._irregular = self._irregular or peers.shift is None

    @cached_property
    def groups(self) -> Any:
        return SymmetricParts(self)

    clock = property(lambda self: self.inner.clock)
    windows = property(lambda self: self.groups)


class SymmetricParts:
    """Barriers. All else that groups and windows do is refused by its name."""

    def __init__(self, comm: SymmetricComm) -> None:
        self._comm = comm

    def meeting(self, label: str) -> SymmetricComm:
        context = self._comm.inner.context
        return SymmetricComm(context.twin(context.strand, label, label), self._comm.size)

    def __getattr__(self, verb: str) -> NoReturn:
        self._comm.size.refuse(f"its part in this is no message, but {verb!r}")


def check_symmetric(network: Any, machine: Machine) -> None:
    """Refuse a network or a machine on which ranks cannot be alike."""
    if network.shared or machine.stragglers or machine.jitter or machine.latency_jitter:
        raise ValueError(
            "symmetric=True needs links that are not shared, such as Uniform, and a Machine whose "
            f"ranks are equally fast, without chance. It was given {network} and {machine}"
        )
