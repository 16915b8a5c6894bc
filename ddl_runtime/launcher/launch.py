"""Real ranks: run a program on MPI processes of this machine.

`launch` starts processes, runs one program and ends them; `Ranks` keeps them for many programs.
The launcher itself is no rank: it prints what the ranks print, notices which raised first or died,
and finds out from their reports which waits for which.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ddl_runtime.core.checks import check_timeout, first_ranks, whole_number
from ddl_runtime.core.memory import check_capacity
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.launcher.mpiexec import SharedHosts
from ddl_runtime.launcher.process_pool import ProcessPool
from ddl_runtime.launcher.serialise import ship
from ddl_runtime.launcher.watchdog import SurvivorsWatchdog, Watchdog
from ddl_runtime.records.run import Run, tell_collectives

OWN_TIMEOUT: Any = object()  # no time was given: that of the ranks counts
CHANGED = (
    "the program has changed the process of rank {} for good: {}. The next program gets new "
    "processes."
)
MOST_PROCESSES = 512  # one machine takes too long to start more


class Ranks:
    """MPI processes that run one program after another.

    Each program finds its process as the first one did. What the last program changed is put back,
    or new processes take over: see `launcher.process_state`.

    >>> with Ranks(4) as ranks:                       # doctest: +SKIP
    ...     ranks.run(program).results
    """

    watch: type[Watchdog] = Watchdog  # how a program is watched over
    timeout: float = 60  # seconds for a program that names no other

    def __init__(
        self, ranks: int = 4, *, on: SharedHosts | None = None, survivors: bool = False
    ) -> None:
        self.size = whole_number(ranks, "ranks", 1)
        if self.size > MOST_PROCESSES:
            raise ValueError(
                f"real ranks are processes of this machine: {self.size} are too many, at most "
                f"{MOST_PROCESSES} are started. `simulate` runs as many as you like."
            )
        self._process_pool = ProcessPool(self.size, on=on, survivors=survivors)
        if survivors:
            self.watch = SurvivorsWatchdog
        self._busy = threading.Lock()

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(
        self, program: Callable[..., Any], ranks: int | None = None, *,
        timeout: float = OWN_TIMEOUT, trace: bool = True, strict: bool = False,
        memory: float | None = None, **kwargs: Any,
    ) -> Run:  # fmt: skip
        """Run `program(comm, **kwargs)` on the first `ranks` of the processes, or on all.

        It gets a communicator of its own. One program at a time: a call from another thread waits
        until this one is over.
        """
        count = first_ranks(ranks, self.size, "processes")
        check_capacity(memory)
        payload = ship(program, kwargs)
        order = "run", count, trace, strict, memory, sys.path, payload
        limit = self.timeout if timeout is OWN_TIMEOUT else timeout
        run: Run = self._order(range(count), limit, self.watch, *order)
        return run

    def _order(
        self, ranks: Iterable[int], timeout: float, watch: type[Watchdog], *order: Any
    ) -> Any:
        """Give an order to some of the processes and watch until all of them have obeyed."""
        check_timeout(timeout)
        with self._busy:
            if not self._process_pool.alive:
                self._process_pool.kill()  # of those that have died since the last program
                self._start()
            pool = self._process_pool
            lines = [pool.lines[rank] for rank in ranks]
            return self._carry_out(watch(lines, pool.mpiexec, timeout, pool.place), order)

    def _start(self) -> None:  # engines show how far they are
        self._process_pool.start()

    def _carry_out(self, watch: Watchdog, order: tuple[Any, ...]) -> Any:
        ready = False
        try:
            try:
                for line in watch.lines:
                    line.tell(*order)
                return watch.until_the_end()
            except DiagnosedError as error:
                watch.quiet()
                if error.run is None and not watch.survivors:
                    tell_collectives(error, watch.logs())
                if self._process_pool.place is not None:
                    error.cut_cable = self._process_pool.place.cut_cable
                raise
            finally:
                ready = watch.quiet()
                for rank, names in sorted(watch.changed.items())[:1]:
                    warnings.warn(CHANGED.format(rank, ", ".join(names)), stacklevel=4)
        finally:
            if not ready:  # also when a second Ctrl-C came before all were quiet
                self._process_pool.kill()

    def close(self) -> None:
        with self._busy:
            self._process_pool.dismiss()


def launch(
    program: Callable[..., Any], ranks: int = 4, *, timeout: float = 60, trace: bool = True,
    on: SharedHosts | None = None, survivors: bool = False, strict: bool = False,
    memory: float | None = None, **kwargs: Any,
) -> Run:  # fmt: skip
    """Run `program(comm, **kwargs)` on real MPI processes: of this machine, or `on` the nodes of
    a cluster in a box.

    What the ranks print appears with the rank in front. `timeout` seconds after its start a
    program that is not done is stopped, and the error says where every rank was. Without `trace`
    no timeline is recorded. With `survivors` a rank that dies is lost, and the others may go on
    (`core.fault_tolerance`). `strict` ranks refuse what works by luck (`core.watch`).
    `memory` is the bytes that each rank may hold (`Comm.hold`). The processes are gone when this
    returns or raises.
    """
    with Ranks(ranks, on=on, survivors=survivors) as processes_kept:
        return processes_kept.run(
            program, timeout=timeout, trace=trace, strict=strict, memory=memory, **kwargs
        )
