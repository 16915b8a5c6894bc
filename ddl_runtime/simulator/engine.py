"""Simulated ranks: the same program on 2 ranks or 65,536, in virtual time.

Every rank is a strand with a clock of its own and runs until it must wait for a message that was
not sent yet; then another strand goes on. A receiver's clock becomes the later of its own time and
the message's arrival. Where the source is named, the order of simulation cannot change the
outcome. Where it is not (ANY, wait_any, flows that share links, strands that share a rank's
ports), decisions wait until no strand can run. Then the earliest event in virtual time goes first.
If then no strand can run and nothing is under way, that is a deadlock, at that moment.
"""

import heapq
import random
import sys
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import count
from math import inf
from typing import Any

from ddl_runtime.simulator import diagnosis
from ddl_runtime.simulator.fibers import Greenlets, Stopped, ThreadStacks
from ddl_runtime.simulator.losses import Losses
from ddl_runtime.simulator.rank_state import (
    ASKED,
    HEAD,
    LEFT,
    NBYTES,
    SENDER,
    WAITER,
    Channel,
    Host,
    SimulatedRequest,
    Strand,
)
from ddl_runtime.simulator.time_limit import SimulationIsLate
from ddl_runtime.topologies.max_min_flows import Agenda, Flows
from ddl_runtime.topologies.point_to_point import Machine

Route = tuple[tuple[int, ...], float]  # the links from rank to rank, and the latency


class GroupTable:
    """The ranks of each communicator, and its number, which messages carry and receives must
    match. The number belongs to the origin of the communicator: the communicator and the call it
    was split from, and the colour. So all ranks that name the same origin get the same number."""

    def __init__(self) -> None:
        self.members: dict[int, Sequence[int]] = {}  # of every group, by its context
        self.wishes: dict[tuple[int, int], dict[int, tuple[int | None, int]]] = {}  # colours, keys
        self._split: dict[tuple[int, int], dict[int, list[tuple[int, int]]]] = {}
        self._contexts: dict[tuple[object, ...], int] = {}

    def context(self, origin: tuple[object, ...]) -> int:
        """A number for the group and channel that `origin` names."""
        return self._contexts.setdefault(origin, len(self._contexts) + 1)

    def of_split(self, split: tuple[int, int]) -> dict[int, list[tuple[int, int]]]:
        """Key and rank of all in each group, in order, by colour. It is computed when the first
        rank asks, as all have announced by then."""
        if split not in self._split:
            by_colour: dict[int, list[tuple[int, int]]] = {}
            for rank, (colour, key) in self.wishes.pop(split).items():
                if colour is not None:
                    by_colour.setdefault(colour, []).append((key, rank))
            self._split[split] = {colour: sorted(group) for colour, group in by_colour.items()}
        return self._split[split]


class Simulation:
    """All strands, the queue of those that can run, and the messages under way."""

    def __init__(
        self, ranks: int, network: Any, machine: Machine, trace: bool, threads: bool, strict: bool,
        memory: float | None = None,
    ) -> None:  # fmt: skip
        self.network = network
        self.machine = machine
        self.flows = Flows(network.capacities()) if network.shared else None
        self.gap = 0.0 if network.shared else network.gap
        self.host_link = getattr(network, "host_link", None)
        self.jitters = machine.latency_jitter > 0
        self.eager = -1.0 if strict else machine.eager  # not even what is empty
        self.reduce_per_byte = 1 / machine.reduce_bandwidth
        slow = machine.stragglers or {}
        kept = trace, strict, memory
        self.hosts = [Host(rank, slow.get(rank, 1.0), *kept) for rank in range(ranks)]
        self.ready: deque[Strand] = deque()
        self._fresh: deque[Strand] = deque()
        self.live: dict[Strand, None] = {}
        self.failure: tuple[float, int, BaseException] | None = None  # when, on which rank
        self.end = 0.0  # when the last strand so far has returned
        self.groups = GroupTable()
        self.memories: dict[tuple, dict[int, Any]] = {}
        self.losses = Losses(network)
        self._order = count()
        self._offers: list[tuple] = []
        self._flow_starts = Agenda()
        self.route: Callable[[int, int], Route] = lru_cache(1 << 14)(
            lambda source, dest: (network.path(source, dest), network.latency(source, dest))
        )
        self._dice: dict[int, random.Random] = {}
        self.threads = threads
        self.stacks: ThreadStacks | Greenlets = ThreadStacks() if threads else Greenlets()
        self._ending = False
        self.checks_who_waits = threads  # or there are other strands than the ranks' programs

    # -- strands ----------------------------------------------------------------------------

    def spawn(
        self, strand: Strand, function: Callable[[], Any],
        request: SimulatedRequest | None = None, results: list[Any] | None = None,
        light: bool = False,
    ) -> None:  # fmt: skip
        """Let a strand run `function`; its result goes into `results`, its end into `request`."""

        def body() -> None:
            try:
                value = function()
            except Stopped:
                return
            except BaseException as error:
                late = isinstance(error, SimulationIsLate)  # then no other may go on, either
                when = -inf if late else strand.clock, strand.host.index
                if self.failure is None or when < self.failure[:2]:
                    self.failure = *when, error
                return
            finally:
                self.live.pop(strand, None)
                if request is None or request.strand.blocked_on is not request:
                    strand.host.count_strands(-1)  # else what waits for it goes on in its place
                self.stacks.tidy()
            if strand.clock > self.end:
                self.end = strand.clock
            if results is not None:
                results[strand.host.index] = value
            if request is not None:
                self._finish(request, strand.clock)

        strand.stack = (self.stacks.light if light else self.stacks.new)(body)
        self.live[strand] = None
        self._fresh.append(strand)

    def so_far(self) -> tuple[int, int]:
        """How many messages were sent, and how many ranks have ended."""
        ended = sum(host.main not in self.live for host in self.hosts)
        return sum(len(host.ledger) for host in self.hosts), ended

    def next_strand(self, leaving: Strand) -> None:
        """Leave the calling strand, which must wait, and run another."""
        if self._ending:
            raise Stopped
        if self.checks_who_waits:
            self.stacks.check(leaving.stack)
        changed = "torch" in sys.modules and self.stacks.lay_aside()
        try:
            if self.ready and self.failure is None:
                self.ready.popleft().stack.switch()
            else:
                self.stacks.caller.switch()
        finally:
            if changed:
                self.stacks.put_back()

    def run(self, program_of: Callable[[Host], Callable[[], Any]]) -> list[Any]:
        """Run the programs of all ranks to their end, or to the first failure or deadlock."""
        results: list[Any] = [None] * len(self.hosts)
        for host in self.hosts:
            self.spawn(host.main, program_of(host), results=results)
        while self.live:
            # Fresh ones only from here: a stack begins at the recursion depth of its starter.
            queue = self.ready or self._fresh
            if queue:
                strand = queue.popleft()
                # Others may still have failed earlier in virtual time than the first one we saw.
                if self.failure is None or strand.clock < self.failure[0]:
                    strand.stack.switch()
            elif not self._settle():
                if self.failure is not None:
                    break
                if not self.losses.tell(self.live, self.ready):
                    # No rank can ever go on: a misfit of types if there is one, or a deadlock.
                    misfit = diagnosis.find_misfit(self.live)
                    if misfit is None:
                        raise diagnosis.tell_deadlock(self.live, len(self.hosts))
                    strand, error = misfit
                    strand.blocked_on = None
                    strand.stack.throw(error)
        return results

    def dissolve(self) -> None:
        """Unwind the strands that have not ended, and untie what refers to each other."""
        self._ending = True
        for strand in list(self.live):
            if strand.stack:
                strand.stack.throw(Stopped)
        for host in self.hosts:
            host.main.host = host.main.strand = host.main.stack = None
            host.main.wait = ()
            host.channels.clear()
            host.turns = host.open = None
        self.stacks.let_go()

    def _finish(self, request: SimulatedRequest, time: float) -> None:
        request.done_at = time
        if request.then is not None:
            request.then(time)
        if request.strand.blocked_on is request:
            self._wake(request.strand)
        elif request.strand.host.choosers:
            self.offer(request.strand.host)

    def asked_for(self, message: Any, time: float) -> None:
        """A receive has asked for the message; perhaps its sender waits for that."""
        sender = message[SENDER] if message.__class__ is list else None
        if sender.__class__ is SimulatedRequest and sender.asked is None:
            sender.asked = time
            self._finish_send(sender)
        elif sender.__class__ is Strand and self.flows is None:
            message[ASKED] = time
            if sender.blocked_on is message:
                self._wake(sender)

    def _finish_send(self, request: SimulatedRequest) -> None:
        if request.left is not None and request.asked is not None:
            self._finish(request, max(request.left, request.asked))

    def hand_over(self, message: Any, receiver: Strand | SimulatedRequest) -> None:
        """Give a message to the receive that was begun before it was sent."""
        receiver.message = message
        owner = receiver.strand
        if owner.blocked_on is receiver:
            if message[HEAD] is None:  # it flows, and the strand waits on until it has arrived
                message[WAITER] = owner
                owner.blocked_on = message
            else:
                self._wake(owner)

    def _wake(self, strand: Strand) -> None:
        strand.blocked_on = None
        self.ready.append(strand)

    # -- when no rank can run ---------------------------------------------------------------

    def _settle(self) -> bool:
        """Let the earliest event in virtual time happen. False if there is none, or if a rank has
        failed before it."""
        while not self.ready:
            while self._offers and self._offers[0][3].blocked_on is not self._offers[0][4]:
                heapq.heappop(self._offers)
            offer_time = self._offers[0][0] if self._offers else inf
            flow_time = self._flow_starts.times[0] if self._flow_starts else inf
            if self.flows is not None and (finish := self.flows.next_time()) is not None:
                flow_time = min(flow_time, finish)
            if min(offer_time, flow_time) >= (inf if self.failure is None else self.failure[0]):
                return False
            if offer_time <= flow_time:
                strand = heapq.heappop(self._offers)[3]
                strand.message = strand.earliest_choice()
                self._wake(strand)
            else:
                self._advance_flows(flow_time)
        return True

    def offer(self, host: Host, channel: Channel | None = None, key: tuple[int, ...] = ()) -> None:
        """Something changed for the strands of `host` that wait for any of several: perhaps in
        the `channel` of that `key`."""
        turn = host.turns.get(key[1:]) if host.turns else None
        if turn is not None:
            turn.notice(channel, key[0])
        for strand in host.choosers:
            best = strand.earliest_choice()
            if best is not None:
                self.offer_turn(strand, best[0], strand.wait)

    def offer_turn(self, strand: Strand, time: float, wait: tuple) -> None:
        """The strand goes on when all that happens before `time` has happened."""
        entry = (max(time, strand.clock), strand.host.index, next(self._order))
        heapq.heappush(self._offers, (*entry, strand, wait))

    # -- links and flows --------------------------------------------------------------------

    def delay(self, host: Host, latency: float) -> float:
        """How much later than usual a message arrives."""
        return latency * self._die(host).expovariate(1.0) * self.machine.latency_jitter

    def start_flow(
        self, message: list, time: float, route: Route, channel: Channel, key: tuple,
        spans: list | None,
    ) -> None:  # fmt: skip
        """Note that the message will enter its path at `time`."""
        self._flow_starts[time].append((message, time, channel, key, spans, *route))

    def _advance_flows(self, time: float) -> None:
        for message, begun, channel, key, spans, _, latency in self.flows.advance(time):
            dest, sender = self.hosts[channel.dest], message[SENDER]
            if self.jitters:
                latency += self.delay(sender.strand.host, latency)
            message[HEAD] = time + latency
            if spans is not None:
                nbytes = message[NBYTES]
                spans.append(("send", "send", begun, time, dest.index, key[1], nbytes))
            if sender.__class__ is Strand:
                message[LEFT] = time
                if sender.blocked_on is message:
                    self._wake(sender)
            else:
                sender.left = time
                self._finish_send(sender)
            waiter = message[WAITER]
            if waiter is not None and waiter.blocked_on is message:
                self._wake(waiter)
            elif dest.attentive:
                self.offer(dest, channel, key)
        if time in self._flow_starts:
            for flow in self._flow_starts.pop_earliest():
                self.flows.start(flow, flow[5], flow[0][NBYTES], time)

    # -- work -------------------------------------------------------------------------------

    def duration(self, host: Host, seconds: float, flops: float, nbytes: float) -> float:
        """How long a piece of work takes on this rank."""
        time = seconds
        if flops or nbytes:
            machine = self.machine
            time += machine.launch + max(flops / machine.flops, nbytes / machine.bandwidth)
        time *= host.slowness
        if self.machine.jitter:
            time *= self._die(host).lognormvariate(0.0, self.machine.jitter)
        return time

    def _die(self, host: Host) -> random.Random:
        if host.index not in self._dice:
            self._dice[host.index] = random.Random(f"{self.machine.seed} {host.index}")
        return self._dice[host.index]
