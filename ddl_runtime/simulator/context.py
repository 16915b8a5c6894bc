"""What the parts of one simulated communicator share: its ranks, its clock, and how they wait.

Time on a simulated rank is a number that work and messages move forward.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from ddl_runtime.core import arrays, parts
from ddl_runtime.core.arrays import Array, Operation, Phantom
from ddl_runtime.devices.choice import Preference
from ddl_runtime.records.ledger import Entry
from ddl_runtime.simulator.engine import Simulation
from ddl_runtime.simulator.rank_state import Membership, Strand


class SimulatedContext(Membership):
    """One simulated rank's place in one communicator; messages carry its `number`."""

    __slots__ = ("entries",)
    number: int

    def __init__(
        self, simulation: Simulation, strand: Strand, members: Sequence[int], rank: int,
        number: int, label: str = "", family: int | None = None,
    ) -> None:  # fmt: skip
        node = simulation.network.node(strand.host.index)
        host = self.host = strand.host
        written = host.ledger, host.logs, host.spans, host.watch, host.memory
        super().__init__(members, number, rank, node, label, *written)
        self.simulation = simulation
        self.strand = strand
        # Of a meeting: the number of the communicator that meets.
        self.family = number if family is None else family
        # Ranks that share memory count up numbers there, which are no messages.
        counts_up = label == "fence"
        self.entries: Any = deque[Entry](maxlen=0) if counts_up else host.ledger
        simulation.groups.members.setdefault(number, members)

    @property
    def preference(self) -> Preference:
        if self.host.preference is None:
            self.host.preference = Preference()
        return self.host.preference

    def twin(self, strand: Strand, name: object, label: str = "") -> SimulatedContext:
        """A context of the same ranks whose messages meet none of this one."""
        number = self.simulation.groups.context((self.number, name))
        return SimulatedContext(
            self.simulation, strand, self.members, self.rank, number, label, self.family
        )

    def block(self, awaited: Any, wait: tuple[Any, ...]) -> None:
        """Wait until `awaited` wakes this strand; `wait` describes the wait for a diagnosis."""
        strand = self.strand
        strand.blocked_on = awaited
        strand.wait = wait
        self.simulation.next_strand(strand)

    def await_turn(self, time: float) -> None:
        """Wait until all earlier events in virtual time are done. It is needed if several strands
        share the ports of a rank."""
        wait = (self, "turn", (), None)
        self.simulation.offer_turn(self.strand, time, wait)
        self.block(wait, wait)


class Clock(parts.Clock):
    """The virtual clock of one strand."""

    __slots__ = ()
    _context: SimulatedContext

    def now(self) -> float:
        return self._context.strand.clock

    def work(self, seconds: float, flops: float, nbytes: float) -> None:
        context = self._context
        strand, simulation = context.strand, context.simulation
        begun = strand.clock
        strand.clock = begun + simulation.duration(context.host, seconds, flops, nbytes)
        self.note("work", "work", begun)
        if simulation.memories:
            # What this rank finds in shared memory then is what had been written by that time.
            context.await_turn(strand.clock)

    def combine(self, a: Array, b: Array, out: Array, op: Operation) -> None:
        if out.__class__ is not Phantom:
            arrays.combine(op, a, b, out)
        context = self._context
        if context.simulation.reduce_per_byte:
            begun = context.strand.clock
            context.strand.clock += a.nbytes * context.simulation.reduce_per_byte
            self.note("reduce", "reduce", begun, a.nbytes)
