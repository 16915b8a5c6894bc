"""Real ranks that outlive others: Open MPI's fault tolerance (ULFM) behind our verbs.

MPI reports a loss as an error of the call that was to exchange a message, at the earliest when the
call is asked again; so all calls that may report one turn it into RankLost. `agree` asks again and
again, as every wait here does. MPI's own shrink cannot be interrupted, so an agreement goes before
it: from there on nobody keeps it waiting.

A message that was under way when the communicator was revoked may still touch its array: it is
kept for as long as the program runs.
"""

import os
import signal
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

import numpy as np

from ddl_runtime.core.fault_tolerance import RankLost
from ddl_runtime.mpi.clock import Clock
from ddl_runtime.mpi.context import MPIContext
from ddl_runtime.mpi.delivery import Delivery
from ddl_runtime.mpi.point_to_point import PointToPoint
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


def telling_of_losses(context: MPIContext, messages: PointToPoint) -> None:
    """Let the verbs of these messages, and all waits on this communicator, raise RankLost when
    MPI says that a rank has failed."""
    for part, verb in [(context.patience, "wait"), *((messages, verb) for verb in VERBS)]:
        setattr(part, verb, _telling(context, getattr(part, verb)))


def _telling(context: MPIContext, verb: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(verb)
    def told(*args: Any, **kwargs: Any) -> Any:
        try:
            return verb(*args, **kwargs)
        except MPI.Exception as error:
            raise loss(context, error) from None

    return told


class Failures:
    """Ranks that may die one by one where they were started so; elsewhere the first death is the
    death of all. `make` makes the communicator of those who live."""

    def __init__(
        self, delivery: Delivery, clock: Clock, make: Callable[[MPIContext], Any]
    ) -> None:
        self._delivery = delivery
        self._context = delivery.context
        self._clock = clock
        self._make = make

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
        with self._clock.span("agree", kind="barrier"):
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
        with self._clock.span("shrink", kind="barrier"):
            mpi: Any = self._context.mpi.Shrink()
        records = self._context.records
        records.given_up += records.open  # nobody will finish it; MPI may still touch its memory
        records.open.clear()
        return self._make(self._context.of(mpi))

    def _check(self, verb: str) -> None:
        if not self._context.survivors:
            raise RuntimeError(
                f"{verb}: these ranks were started without fault tolerance, and when one dies all "
                "do. Start them with launch(..., survivors=True), or with mpiexec --with-ft ulfm "
                "--mca mpi_ft_detector true"
            )
