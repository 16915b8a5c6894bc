"""What runs inside each engine: a rank that also runs cells.

Started as `python -m ddl_class.engines.engine ADDRESS`, with the key in DDL_TEACH_KEY. A cell's
`comm` lives as long as cells succeed. After one that failed all ranks make a new one together. So
no message of the failed cell is ever received by a later one.
"""

import contextlib
import linecache
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle

from ddl_class.engines.outputs import marker
from ddl_class.engines.shell import Shell
from ddl_class.ranks import NAMES
from ddl_runtime.core.collective_log import CollectiveLog
from ddl_runtime.launcher import worker
from ddl_runtime.mpi.polling import Monitor, Stopped
from ddl_teach.comm import Comm

CELL_ORDERS = ("cell", "push", "pull")
OLD_COMMUNICATOR = (
    "this communicator, or the one it was made from, belongs to a cell that failed. Use the new "
    "comm; what was made from the old one (split, background) must be made again."
)


class Engine(worker.RankWorker):
    """One rank's end of the lines, with a shell."""

    def __init__(self, control: Connection, far: bool = False) -> None:
        super().__init__(control, far)
        self._shown = 0
        self._shell: Shell | None = None
        self._comm: Comm | None = None
        self._comm_monitor = self.new_monitor()
        self._watched = True  # whether waits are reported

    def prepare(self, world: Any) -> None:
        self._shell = Shell(self._show, dict(NAMES))
        self._renew(world)

    def monitor_for(self, order: str) -> Monitor:
        # The monitor of a program has stopped with it: a rank that joins later needs another.
        cells = order in CELL_ORDERS or order == "join"
        return self._comm_monitor if cells else super().monitor_for(order)

    def obey(self, world: Any, what: str, *details: Any) -> None:
        if what in CELL_ORDERS:
            self.attempt(partial(self._answer, getattr(self, f"_{what}"), details))
        elif what == "renew":
            self._renew(world)
            self.send("returned", None)
        elif what == "join":
            self.attempt(partial(self._answer, self._join, (world.rank, *details)))
        else:
            super().obey(world, what, *details)

    def execute(self, *program: Any) -> tuple:
        try:
            return super().execute(*program)
        finally:
            self._shell.events.trigger("post_execute")  # shows figures, as after each cell

    def send(self, *message: Any) -> None:
        if self._watched or message[0] != "wait":
            super().send(*message)

    def _answer(self, work: Callable[..., Any], details: tuple) -> tuple:
        try:
            return "returned", work(*details)
        except Stopped:
            if self._comm_monitor.stopping:
                raise
            return self.failure(RuntimeError(OLD_COMMUNICATOR))
        except BaseException as error:
            return self.failure(error)

    def _renew(self, world: Any) -> None:
        """Give the cells a new communicator with nothing under way on it; all ranks together."""
        self._comm_monitor.stopping = True  # nothing waits on the old one any more
        if self._comm is not None:
            world.clear(self._comm)
            world.drain()
        self._comm_monitor = self.new_monitor()
        self._comm = world.begin(world.size, False, self._comm_monitor, strict=True)
        self._shell.user_ns["comm"] = self._comm

    def _cell(self, name: str, code: str) -> list[CollectiveLog]:
        """Run a cell; returns the collectives that it has begun."""
        self._shell.execute(name, code)
        return [log.take() for log in self._comm.context.logs]

    def _push(self, payload: bytes) -> None:
        make, values, cells = pickle.loads(payload)
        linecache.cache.update(cells)
        self._shell.push(make(**values))

    def _pull(self, expression: str) -> bytes:
        return cloudpickle.dumps(eval(expression, self._shell.user_ns))

    def _join(self, rank: int, connection: str) -> int:
        """Become an engine of ipyparallel; from now on its tasks are done between orders."""
        from ddl_class.engines.joined import Joined

        joined = Joined(self._shell, self._attended, (*NAMES, "comm"))
        number = joined.join(rank, connection)
        self._orders = joined
        return number

    @contextlib.contextmanager
    def _attended(self) -> Iterator[None]:
        """Inside the `with` an ipyparallel task may be stopped; its waits are not reported."""
        self._watched, self._running = False, True
        try:
            yield
        finally:
            self._watched, self._running = True, False

    def _show(self, data: dict, metadata: dict) -> None:
        """Send what a cell displays, and leave a mark where in its output that was."""
        self._shown += 1
        self.send("shown", self._shown, data, metadata)
        sys.stdout.flush()
        sys.stdout.buffer.write(marker(self._shown))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    worker.main(sys.argv[1], Engine)
