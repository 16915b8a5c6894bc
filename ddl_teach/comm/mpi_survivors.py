"""Real ranks that outlive others: Open MPI's fault tolerance (ULFM) behind our verbs.

MPI reports a loss as an error of the call that was to exchange a message, at the earliest when the
call is asked again; so all calls that may report one turn it into RankLost. `agree` asks again and
again, as every wait here does. MPI's own shrink cannot be interrupted, so an agreement goes before
it: from there on nobody keeps it waiting.

A message that was under way when the communicator was revoked may still touch its array: it is
kept for as long as the program runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ddl_teach.comm.mpi import MPI
from ddl_teach.comm.mpi_comm import MPIComm
from ddl_teach.comm.patience import Patience
from ddl_teach.comm.survivors import RankLost

TOLD_BY_MPIEXEC = "OMPI_MCA_mpi_ft_enable"  # where it was started `--with-ft ulfm`
LOSSES = (MPI.ERR_PROC_FAILED, MPI.ERR_PROC_FAILED_PENDING, MPI.ERR_REVOKED)


def fault_tolerant() -> bool:
    """Whether the ranks of this start may die one by one."""
    return os.environ.get(TOLD_BY_MPIEXEC, "0") in ("1", "true")


def _telling(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The same verb, which says RankLost when MPI says that a rank has failed."""

    @wraps(verb)
    def telling(self: SurvivingComm, *args: Any, **kwargs: Any) -> Any:
        try:
            return verb(self, *args, **kwargs)
        except MPI.Exception as error:
            raise self.loss(error) from None

    return telling


class SurvivingPatience(Patience):
    """Waits that may end with a loss."""

    comm: SurvivingComm

    def wait(self, *what: Any) -> None:
        try:
            super().wait(*what)
        except MPI.Exception as error:
            raise self.comm.loss(error) from None


class SurvivingComm(MPIComm):
    """A communicator of MPI processes that may die one by one."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._patience = SurvivingPatience(self._monitor, self._patience.local_ranks)
        self._patience.comm = self

    isend, irecv = _telling(MPIComm.isend), _telling(MPIComm.irecv)
    send, recv = _telling(MPIComm.send), _telling(MPIComm.recv)
    sendrecv, wait_any = _telling(MPIComm.sendrecv), _telling(MPIComm.wait_any)

    def loss(self, error: MPI.Exception) -> RankLost | MPI.Exception:
        """What to raise for an error of MPI's: itself, unless it means that a rank has died."""
        if error.Get_error_class() not in LOSSES:
            return error
        failed = self.mpi.Get_failed()
        ranks = MPI.Group.Translate_ranks(failed, range(failed.size), self.mpi.group)
        return RankLost(self._members[self.rank], tuple(sorted(ranks)))

    def revoke(self) -> None:
        if not self.mpi.Is_revoked():
            self.mpi.Revoke()

    def agree(self, yes: bool = True) -> bool:
        answer = np.array([bool(yes)], np.intc)
        with self.span("agree", kind="barrier"):
            try:
                agreement = self.mpi.Iagree(answer)
                self._finish_call(agreement, "agree()", self._others, answer)
            except RankLost:
                return False  # on all of them alike
        return bool(answer[0])

    def shrink(self) -> SurvivingComm:
        self.revoke()
        self.agree(False)
        with self.span("shrink", kind="barrier"):
            mpi = self.mpi.Shrink()
        ranks = MPI.Group.Translate_ranks(mpi.group, range(mpi.size), self.mpi.group)
        members = [self._members[rank] for rank in ranks]
        self._records.give_up()
        return SurvivingComm(mpi, members, self._nodes, self._records, self._monitor)
