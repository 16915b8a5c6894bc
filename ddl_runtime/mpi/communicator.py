"""The communicator of a real rank: its parts, and the communicators that are made from it.

Ranks outlive others by Open MPI's fault tolerance (ULFM). MPI reports a loss as an error of the
call that was to exchange a message, at the earliest when the call is asked again; so all calls
that may report one turn it into RankLost. `agree` asks again and again, as every wait here does.
MPI's own shrink cannot be interrupted, so an agreement goes before it: from there on no rank keeps
it waiting.

A message that was under way when the communicator was revoked may still touch its array: it is
kept for as long as the program runs.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from typing import Any, NoReturn

import numpy as np

from ddl_runtime.core.communicator import Comm
from ddl_runtime.core.fault_tolerance import RankLost
from ddl_runtime.core.parts import Request
from ddl_runtime.mpi.context import Clock, MPIContext
from ddl_runtime.mpi.delivery import Delivery
from ddl_runtime.mpi.native_collectives import Native
from ddl_runtime.mpi.point_to_point import PointToPoint
from ddl_runtime.mpi.requests import BackgroundRequest
from ddl_runtime.mpi.window import Windows
from ddl_runtime.mpi.wire import MPI

TOLD_BY_MPIEXEC = "OMPI_MCA_mpi_ft_enable"  # where it was started `--with-ft ulfm`
VERBS = ("isend", "irecv", "send", "recv", "sendrecv", "wait_any")
LOSSES = (MPI.ERR_PROC_FAILED, MPI.ERR_PROC_FAILED_PENDING, MPI.ERR_REVOKED)


def fault_tolerant() -> bool:
    """Whether the ranks of this start may die one by one."""
    return os.environ.get(TOLD_BY_MPIEXEC, "0") in ("1", "true")


def loss(context: MPIContext, error: MPI.Exception) -> RankLost | MPI.Exception:
    """What to raise for an error of MPI's: itself, unless it means that a rank has died."""
    if error.Get_error_class() not in LOSSES:
        return error
    failed = context.mpi.Get_failed()
    ranks = MPI.Group.Translate_ranks(failed, range(failed.size), context.mpi.group)
    return RankLost(context.me, tuple(sorted(ranks)))


def telling_of_losses(context: MPIContext, verb: Callable[..., Any]) -> Callable[..., Any]:
    """The verb, which raises RankLost when MPI says that a rank has failed."""

    @wraps(verb)
    def told(*args: Any, **kwargs: Any) -> Any:
        try:
            return verb(*args, **kwargs)
        except MPI.Exception as error:
            raise loss(context, error) from None

    return told


class MPIComm(Comm):
    """A communicator of MPI processes."""

    context: MPIContext

    def __init__(self, context: MPIContext) -> None:
        messages = PointToPoint(context)
        self.delivery = messages.delivery
        if context.survivors:
            for part, verb in [(context.polling, "wait"), *((messages, verb) for verb in VERBS)]:
                setattr(part, verb, telling_of_losses(context, getattr(part, verb)))
        super().__init__(context, messages)

    @property
    def mpi(self) -> MPI.Intracomm:
        """The communicator of mpi4py that this one uses."""
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
        return Groups(self.delivery)

    @cached_property
    def windows(self) -> Windows:
        return Windows(self.delivery, self._meet)


class Groups:
    """Communicators that are made from one, MPI's own: of all ranks, of some, or of those that
    outlive others. Where ranks were not started so, the first death is the death of all."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery
        self._context = delivery.context

    def meeting(self, label: str) -> PointToPoint:
        messages: PointToPoint = self.aside(label).point_to_point
        return messages

    def aside(self, label: str) -> Any:
        return MPIComm(self._context.of(self._context.mpi, label))

    def duplicate(self) -> Any:
        return MPIComm(self._context.of(self._context.mpi.Dup()))

    def split(self, colour: int | None, key: int, meet: Callable[[], None]) -> Any:
        meet()
        # MPI's split cannot be interrupted, but all ranks have just met: none keeps it waiting.
        mpi: Any = self._context.mpi.Split(MPI.UNDEFINED if colour is None else colour, key)
        return None if mpi == MPI.COMM_NULL else MPIComm(self._context.of(mpi))

    def subgroup(self, members: Sequence[int], meet: Callable[[], None]) -> Any:
        meet()  # as before a split
        group = self._context.mpi.group.Incl(members)
        return MPIComm(self._context.of(self._context.mpi.Create_group(group)))

    def on_this_strand(self, place: Any) -> Any:
        return place

    def start(
        self, place: Any, function: Callable[..., Any], args: tuple[Any, ...],
        after: Any = None, light: bool = False,
    ) -> Request:  # fmt: skip
        return BackgroundRequest(self._context, function, (place, *args), after)

    def die(self) -> NoReturn:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("nobody survives that")

    def revoke(self) -> None:
        self._check("revoke")
        if not self._context.mpi.Is_revoked():
            self._context.mpi.Revoke()

    def agree(self, yes: bool) -> bool:
        self._check("agree")
        answer = np.array([bool(yes)], np.intc)
        with Clock(self._context).span("agree", kind="barrier"):
            try:
                agreement = self._context.mpi.Iagree(answer)
                others = self._context.others
                self._delivery.finish_call(agreement, "agree()", others, answer)
            except RankLost:
                return False  # on all of them alike
        return bool(answer[0])

    def shrink(self) -> Any:
        self._check("shrink")
        self.revoke()
        self.agree(False)
        with Clock(self._context).span("shrink", kind="barrier"):
            mpi: Any = self._context.mpi.Shrink()
        records = self._context.records
        records.given_up += records.open  # it will not be finished; MPI may still touch its memory
        records.open.clear()
        return MPIComm(self._context.of(mpi))

    def _check(self, verb: str) -> None:
        if not self._context.survivors:
            raise RuntimeError(
                f"{verb}: these ranks were started without fault tolerance, and when one dies all "
                "do. Start them with launch(..., survivors=True), or by "
                "`mpiexec --with-ft ulfm --mca mpi_ft_detector true`"
            )
