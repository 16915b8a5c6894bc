"""Time on a simulated rank: a number that work and messages move forward."""

from ddl_runtime.core import arrays, parts
from ddl_runtime.core.arrays import Array, Operation, Phantom
from ddl_runtime.simulator.context import SimulatedContext


class Clock(parts.Clock):
    """The virtual clock of one strand."""

    __slots__ = ("_context",)

    def __init__(self, context: SimulatedContext) -> None:
        self._context = context

    def now(self) -> float:
        return self._context.strand.clock

    def work(self, seconds: float, flops: float) -> None:
        context = self._context
        strand, simulation = context.strand, context.simulation
        begun = strand.clock
        strand.clock = begun + simulation.duration(context.host, seconds, flops)
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

    def note(self, name: str, kind: str, begun: float, nbytes: int = 0) -> None:
        host = self._context.host
        if host.spans is not None:
            host.spans.append((name, kind, begun, self._context.strand.clock, -1, -1, nbytes))
