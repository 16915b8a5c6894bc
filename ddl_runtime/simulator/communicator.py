"""The communicator of a simulated rank: which parts it has."""

from functools import cached_property

from ddl_runtime.core.arrays import Array, Operation, Phantom
from ddl_runtime.core.communicator import Comm
from ddl_runtime.simulator.clock import Clock
from ddl_runtime.simulator.context import SimulatedContext
from ddl_runtime.simulator.failures import Failures
from ddl_runtime.simulator.fast_sendrecv import fast_sendrecv
from ddl_runtime.simulator.groups import Groups
from ddl_runtime.simulator.point_to_point import PointToPoint
from ddl_runtime.simulator.window import Windows


class SimulatedComm(Comm):
    """A communicator in virtual time."""

    context: SimulatedContext
    point_to_point: PointToPoint

    def __init__(self, context: SimulatedContext) -> None:
        super().__init__(context, PointToPoint(context))
        self.host_link = context.simulation.host_link
        self._arithmetic_is_free = not context.simulation.reduce_per_byte

    # Two verbs of which there are millions: each takes the short way where it can.

    sendrecv = fast_sendrecv

    def combine(self, a: Array, b: Array, out: Array, op: Operation = "sum") -> None:
        if out.__class__ is not Phantom or not self._arithmetic_is_free:
            self.clock.combine(a, b, out, op)

    @cached_property
    def clock(self) -> Clock:
        return Clock(self.context)

    @cached_property
    def groups(self) -> Groups:
        return Groups(self.context, self.point_to_point, SimulatedComm)

    @cached_property
    def windows(self) -> Windows:
        return Windows(self.point_to_point, self.meetings.meet)

    @cached_property
    def failures(self) -> Failures:
        return Failures(self.context, self.clock, SimulatedComm)
