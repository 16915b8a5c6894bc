"""Rank programs on engines that `ddl-teach cluster start` has started, on hosts or under Slurm.

    ranks = ClientRanks(connect("slurm"))
    run = ranks.run(program)                      # as Engines(...).run in a notebook

The engines are MPI ranks; each program gets a communicator of its own, so no message of an earlier
one can stray into it. Nobody watches them from outside: a rank that raises says so, and the others
end when their time is up.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import ipyparallel

from ddl_runtime.core.checks import check_rank_count
from ddl_runtime.diagnosis.deadlock import TimedOut, tell_failure
from ddl_runtime.diagnosis.frames import error_text, program_traceback
from ddl_runtime.launcher.serialise import ship
from ddl_runtime.mpi.polling import Monitor
from ddl_runtime.records.run import Run, concluded

if TYPE_CHECKING:
    from ddl_runtime.launcher.world import World  # starts MPI, which is for ranks only

GRACE = 30  # seconds beyond the program's own limit, in which late ranks say so
EVERYBODY = "ddl_teach_everybody"  # what engines keep from program to program, by this name


class ClientRanks:
    """The engines of a client, as a ground for rank programs."""

    def __init__(self, client: ipyparallel.Client, timeout: float = 60) -> None:
        self._client = client
        self.size = len(client.ids)
        self.timeout = timeout
        enter = f"from ddl_runtime.launcher.join import joined\n{EVERYBODY}, _ = joined()"
        client[:].execute(enter, block=True)

    def run(
        self,
        program: Callable[..., Any],
        ranks: int | None = None,
        *,
        timeout: float | None = None,
        trace: bool = True,
        **kwargs: Any,
    ) -> Run:
        """Run `program(comm, **kwargs)` on the first `ranks` engines, or on all."""
        count = self.size if ranks is None else check_rank_count(ranks)
        if count > self.size:
            raise ValueError(f"there are {self.size} engines: ranks must be 1 to {self.size}")
        limit = self.timeout if timeout is None else timeout
        view = self._client[self._client.ids[:count]]
        everybody = ipyparallel.Reference(EVERYBODY)
        given = everybody, count, limit, trace, ship(program, kwargs)
        endings = view.apply_async(carry_out, *given).get(limit + GRACE)
        for rank, (how, value) in enumerate(endings):
            if how == "raised":
                what, where, mismatch = value
                raise tell_failure(rank, what, where, mismatch=mismatch)
        for how, value in endings:
            if how == "late":
                raise TimedOut(value)
        view.apply_sync(methodcaller("free"), everybody)
        return concluded([value for _, value in endings])


def carry_out(
    world: World, ranks: int, limit: float, trace: bool, payload: bytes
) -> tuple[str, Any]:
    """One engine's part, and how it ended."""
    comm = world.begin(ranks, trace, Monitor(seconds=limit))
    try:
        program, kwargs, _ = pickle.loads(payload)
        value = program(comm, **kwargs)
        world.end(comm)
        return "returned", (comm.now(), world.books(comm), value)
    except TimedOut as late:
        return "late", str(late)
    except Exception as error:
        mismatch = getattr(error, "mismatch", None)
        return "raised", (error_text(error), program_traceback(error), mismatch)
    finally:
        world.clear(comm)
