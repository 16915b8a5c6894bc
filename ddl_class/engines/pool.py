"""The ranks of a notebook: started in one line, and never in the learner's way.

    %%px                          this cell runs on all ranks
    %%px --ranks 0,2              on these; also 1:4
    %%px --timeout 60             seconds; engines.timeout where none is named
    %%px --local                  here in the notebook as well, first
    %px x = comm.rank             one line

A cell that fails leaves the engines in order. Ranks that can be stopped are: they keep their
variables, and only `comm` is made anew. If one sits in a call that nothing can end, as in MPI's
own or other compiled code, all engines start again. Meanwhile the learner reads the diagnosis.
"""

from __future__ import annotations

import atexit
import contextlib
import linecache
import os
import pickle
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from IPython.core.error import UsageError
from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from ddl_class.clusters.places import find_place
from ddl_class.engines.outputs import (
    CellWatchdog,
    CodeWatchdog,
    EnginePipe,
    ProgramWatchdog,
    progress_bar,
)
from ddl_class.engines.shell import Shell
from ddl_runtime.diagnosis.deadlock import DiagnosedError, Interrupted
from ddl_runtime.launcher.launch import Ranks
from ddl_runtime.launcher.mpiexec import SharedHosts
from ddl_runtime.launcher.process_pool import ProcessPool
from ddl_runtime.launcher.serialise import ship
from ddl_runtime.launcher.watchdog import Watchdog
from ddl_runtime.records.run import Run

if TYPE_CHECKING:
    from ddl_class.engines.controller import Controller, EnginesClient

RENEWAL_LIMIT = 3  # seconds to make a new communicator
JOIN_LIMIT = 60  # seconds to become engines of ipyparallel
NEW_COMM = (
    "The engines keep their variables. comm is a new one on every rank, so that no message of "
    "this cell is left over."
)
HELD = (
    "Nothing could end the call that {} sat in, MPI's own or other compiled code; waits of comm "
    "can be ended, and tell a deadlock at once. "
)
STARTED_AGAIN = (
    "The engines are being started again: their variables are lost, so run the cells that made "
    "them once more."
)
OPTIONS = "%%px takes --ranks 0,2, --timeout 60 and --local; cells always wait for their ranks."
NOT_READY = "Interrupted before the engines were ready. Run the cell again."
# Figures are sent when a cell ends; matplotlib is not loaded before it is used.
SETTINGS = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}


class Engines(Ranks):
    """MPI processes that keep their variables from cell to cell; programs do not see these.

    >>> engines = Engines(4)                          # doctest: +SKIP
    >>> engines.run(program).results                  # doctest: +SKIP
    """

    watch = ProgramWatchdog

    def __init__(
        self, ranks: int = 4, *, timeout: float = 20, on: SharedHosts | str | None = None
    ) -> None:
        """`on` is a place's name or a place (`clusters.places`); None is what the site says."""
        if isinstance(get_ipython(), Shell):
            raise DiagnosedError("This runs on an engine already: start engines without %%px.")
        if on is None or isinstance(on, str):
            on = find_place(on)
        try:
            super().__init__(ranks, on=on)
        except (TypeError, ValueError) as error:
            raise DiagnosedError(f"{error}. Engines(4) starts four.") from None
        self.timeout = timeout  # seconds for a cell or program that names no other
        module = "ddl_class.engines.engine"
        self._process_pool = ProcessPool(self.size, module, EnginePipe, SETTINGS, on)
        self._controller: Controller | None = None  # of ipyparallel, once it is used
        self._stopped = False
        self._owner = os.getpid()
        previous = registered()
        if previous and previous.alive and previous.are(self.size, on):
            self._process_pool, self._busy, self._controller = previous.hand_over()
            print(f"{self.size} engines run already and keep their variables.")
            print("engines.restart() gives fresh ones.")
        else:
            if previous is not None:
                previous.stop()
            with self._busy:
                self._start()
        atexit.register(self.stop)
        if (shell := get_ipython()) is not None:
            shell.register_magics(EngineMagics(shell, self))

    def are(self, size: int, place: SharedHosts | None) -> bool:
        """Whether these are `size` engines of this place."""
        return (size, place) == (self.size, self._process_pool.place)

    def hand_over(self) -> tuple[ProcessPool, threading.Lock, Controller | None]:
        """What keeps the engines, for the object that has them from now on."""
        self._stopped = True
        return self._process_pool, self._busy, self._controller

    @property
    def alive(self) -> bool:
        """Whether the engines are there for the next cell."""
        return not self._stopped and self._process_pool.alive

    def __repr__(self) -> str:
        state = "running" if self.alive else "stopped" if self._stopped else "starting again"
        where = getattr(self._process_pool.place, "name", "")
        where = f" on {where}" if where else ""
        return f"{self.size} engines{where}, {state}; a cell may take {self.timeout:g} s"

    def run(
        self, program: Callable[..., Any], ranks: int | None = None, *, strict: bool = True,
        **given: Any,
    ) -> Run:  # fmt: skip
        """Run `program(comm, **given)` on strict ranks: the first `ranks` of the engines, or all.

        `timeout` and `trace` are those of `launch`. Where time is measured, say `strict=False`.
        """
        return super().run(program, ranks, strict=strict, **given)

    def cell(
        self,
        code: str,
        ranks: Iterable[int] | None = None,
        *,
        timeout: float | None = None,
        name: str = "cell [ ]",
    ) -> None:
        """Run a cell's code on some engines or all, and show what they print and draw."""
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        self._order(ranks, timeout, CodeWatchdog, "cell", name, code)

    def push(self, **values: Any) -> None:
        """Make the values known on every rank, under these names."""
        self._order(None, None, CellWatchdog, "push", ship(dict, values))

    def pull(self, expression: str) -> list[Any]:
        """The value of an expression on every rank."""
        answers = self._order(None, None, CellWatchdog, "pull", expression)
        return [pickle.loads(answer) for answer in answers]

    @property
    def client(self) -> EnginesClient:
        """The same processes as engines of ipyparallel: a connected `ipyparallel.Client`.

        Engine i is rank i, and tasks see the variables of cells. Asked for the first time, the
        engines join a controller of ipyparallel's, which ends with them.
        """
        from ddl_class.engines.controller import Controller

        place = self._process_pool.place
        if self._controller is not None:
            if (client := self._controller.client_for(self._process_pool.mpiexec)) is not None:
                return client
            self._controller.close()
        self._controller = Controller(place)
        try:
            order = "join", self._controller.connection
            self._order(None, JOIN_LIMIT, CellWatchdog, *order)
            self._controller.connect(self.size, self._process_pool.mpiexec)
        except BaseException:
            self._controller.close()
            raise
        return self._controller.client_for(self._process_pool.mpiexec)

    def restart(self) -> None:
        """Fresh engines that know the course's names only."""
        self._end_controller()
        with self._busy:
            self._process_pool.dismiss()
            self._stopped = False
            self._start()
        atexit.register(self.stop)

    def stop(self) -> None:
        if os.getpid() != self._owner:
            return  # a copy of the notebook's process, made by os.fork, leaves
        self._stopped = True
        atexit.unregister(self.stop)
        self._end_controller()
        super().close()

    close = stop

    def _end_controller(self) -> None:
        if self._controller is not None:
            self._controller.close()

    # -- orders -----------------------------------------------------------------------------

    def _order(
        self,
        ranks: Iterable[int] | None,
        timeout: float | None,
        watch: type[Watchdog],
        *order: Any,
    ) -> Any:
        if self._stopped:
            raise DiagnosedError(
                "These engines were stopped. Start them again with engines.restart(), or with a "
                "new Engines(...)."
            )
        if self._process_pool.mpiexec is not None and not self._process_pool.alive:
            print(f"The engines have ended since the last cell. {STARTED_AGAIN}")
        try:
            ranks = range(self.size) if ranks is None else ranks
            limit = self.timeout if timeout is None else timeout
            return super()._order(ranks, limit, watch, *order)
        except Interrupted:
            raise
        except KeyboardInterrupt as interrupt:  # once more, or while the engines were starting
            raise Interrupted(str(interrupt).strip() or NOT_READY) from None

    def _start(self) -> None:
        try:
            with progress_bar(self.size) as show:
                self._process_pool.start(show)
        except KeyboardInterrupt:
            raise Interrupted(NOT_READY) from None

    def _carry_out(self, watch: Watchdog, order: tuple) -> Any:
        for line in watch.lines:
            line.begin()
        try:
            return super()._carry_out(watch, order)
        except (DiagnosedError, KeyboardInterrupt) as error:
            if after := self._recover(order[0], watch.held):
                error.args = (f"{error}\n\n{after}",)
            raise
        finally:
            self._process_pool.screen.clear()
            for line in watch.lines:
                line.kept.publish(line.rank)

    def _recover(self, what: str, held: list[int]) -> str:
        """Make the engines ready for the next cell; says what has become of them."""
        if self._process_pool.alive and what == "run":
            return ""
        if self._process_pool.alive:
            watch = CellWatchdog(
                self._process_pool.lines, self._process_pool.mpiexec, RENEWAL_LIMIT
            )
            with contextlib.suppress(DiagnosedError):
                super()._carry_out(watch, ("renew",))
                return NEW_COMM
        threading.Thread(target=self._revive, daemon=True).start()
        ranks = f"{'ranks' if len(held) > 1 else 'rank'} {', '.join(map(str, held))}"
        return (HELD.format(ranks) if held else "") + STARTED_AGAIN

    def _revive(self) -> None:
        # A failure is reported when the next cell tries again.
        with self._busy, contextlib.suppress(DiagnosedError):
            if not self._stopped and not self._process_pool.alive:
                self._process_pool.kill()
                self._process_pool.start()


class CellRanks(Protocol):
    """Ranks on which cells run."""

    size: int

    def cell(
        self, code: str, ranks: Iterable[int] | None = None, *, timeout: float | None = None,
        name: str = "cell [ ]",
    ) -> None:  # fmt: skip
        """Run a cell's code on some of them or all."""


@magics_class
class EngineMagics(Magics):
    """The magics of one notebook and its engines."""

    def __init__(self, shell: InteractiveShell, engines: CellRanks) -> None:
        super().__init__(shell)
        self.engines = engines

    @magic_arguments()
    @argument("--ranks", "--targets", "-t", help="which ranks: 0,2 or 1:4; all where not named")
    @argument("--timeout", type=float, help="seconds after which the cell is stopped")
    @argument("--local", action="store_true", help="run the cell in the notebook too, first")
    @argument("--block", action="store_true", help="cells always wait for their ranks")
    def cell_options(self, line: str) -> None:
        """Run this cell on the engines."""

    @line_cell_magic
    def px(self, line: str, cell: str | None = None) -> None:
        """Run a line or a cell on the engines: %%px [--ranks 0,2] [--timeout 60] [--local]."""
        # Newer versions of IPython count a cell before it runs, older ones after it.
        name = f"cell [{len(self.shell.user_ns['In']) - 1}]"
        if cell is None:
            self.engines.cell(line, name=name)
            return
        try:
            options = parse_argstring(EngineMagics.cell_options, line)
        except UsageError as error:
            raise UsageError(f"{error}. {OPTIONS}") from None
        if options.timeout is not None and not options.timeout > 0:
            raise UsageError(
                f"--timeout takes a positive number of seconds, not {options.timeout}"
            )
        ranks = None if options.ranks is None else _ranks(options.ranks, self.engines.size)
        if options.local:
            self.shell.run_cell(cell).raise_error()
        # The learner's lines are counted with the one of %%px.
        code = cell if cell.startswith("%%") else f"#\n{cell}"
        self.engines.cell(code, ranks, timeout=options.timeout, name=name)


def registered() -> Engines | None:
    """The engines of this notebook, if there are any."""
    shell = get_ipython()
    magics = shell.magics_manager.registry.get("EngineMagics") if shell is not None else None
    return None if magics is None else magics.engines


def _ranks(text: str, size: int) -> list[int]:
    """Read `2`, `0,2`, `1:4`, `all`."""
    chosen: set[int] = set()
    try:
        for word in text.replace("all", ":").split(","):
            bounds = [int(number) if number else None for number in word.split(":")]
            chosen.update(range(size)[slice(*bounds)] if ":" in word else [range(size)[int(word)]])
    except (ValueError, IndexError, TypeError):
        raise UsageError(
            f"--ranks takes numbers of 0 to {size - 1}, as in 2 or 0,2 or 1:4, not '{text}'"
        ) from None
    return sorted(chosen)
