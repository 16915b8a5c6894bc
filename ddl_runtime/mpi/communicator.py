"""The communicator of a real rank: which parts it has."""

from functools import cached_property

from ddl_runtime.core.communicator import Comm
from ddl_runtime.mpi.clock import Clock
from ddl_runtime.mpi.context import MPIContext
from ddl_runtime.mpi.failures import Failures, telling_of_losses
from ddl_runtime.mpi.groups import Groups
from ddl_runtime.mpi.native_collectives import Native
from ddl_runtime.mpi.point_to_point import PointToPoint
from ddl_runtime.mpi.window import Windows
from ddl_runtime.mpi.wire import MPI


class MPIComm(Comm):
    """A communicator of MPI processes."""

    context: MPIContext

    def __init__(self, context: MPIContext) -> None:
        messages = PointToPoint(context)
        self.delivery = messages.delivery
        if context.survivors:
            telling_of_losses(context, messages)
        super().__init__(context, messages)

    @property
    def mpi(self) -> MPI.Intracomm:
        """The communicator of mpi4py behind it."""
        return self.context.mpi

    @property
    def native(self) -> Native:
        """MPI's own collectives, for comparison; their inner messages are not in the ledger."""
        return Native(self.delivery)

    @cached_property
    def clock(self) -> Clock:
        return Clock(self.context)

    @cached_property
    def groups(self) -> Groups:
        return Groups(self.context, self.delivery.diagnosis, MPIComm)

    @cached_property
    def windows(self) -> Windows:
        return Windows(self.delivery, self.meetings.meet)

    @cached_property
    def failures(self) -> Failures:
        return Failures(self.delivery, self.clock, MPIComm)
