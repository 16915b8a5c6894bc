"""A rank that is an engine of ipyparallel as well: two ways into one process.

The notebook's own line brings cells and programs, which all ranks run together: for them there are
time limits, diagnoses of waits, outputs in rank order. ipyparallel brings tasks, which ranks do
each for itself: views, balanced loads, results that are fetched later.

The main thread does both, one after another. While it waits for an order from the notebook it runs
ipyparallel's loop. An order stops the loop as soon as the present task is done. Tasks see the
namespace of `%%px` cells, `comm` included; what they print goes to the client. This file is loaded
in a rank when `engines.client` is used for the first time.
"""

import asyncio
import contextlib
import logging
import os
import queue
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from ipykernel.iostream import OutStream
from ipykernel.zmqshell import ZMQInteractiveShell
from ipyparallel.engine import app
from ipyparallel.engine.app import IPEngine
from ipyparallel.engine.kernel import IPythonParallelKernel
from traitlets import Any as AnyTrait
from traitlets import Type
from traitlets.config import Config

from ddl_class.engines.shell import Shell, make_current
from ddl_runtime.mpi.polling import Stopped

REGISTRATION_LIMIT = 30  # seconds until the controller has answered
CATCH_UP_LIMIT = 1.0
END = b"\0"  # in the pipe: all that came before has been read
STOPPED = (
    "the rank was asked to stop, or the communicator belongs to a cell that failed: use the new "
    "comm."
)
NO_SHUTDOWN = "these engines are the notebook's: engines.stop() ends them, engines.restart() too"


class TaskShell(ZMQInteractiveShell):
    """IPython as ipyparallel's tasks see it."""

    def init_environment(self) -> None:
        """Leave the environment as it is: cells share this process, and need no forced colours."""


class TaskKernel(IPythonParallelKernel):
    """Runs ipyparallel's tasks, each with what belongs to it in place."""

    shell_class = Type(TaskShell)
    joined = AnyTrait()

    def __init__(self, **settings: Any) -> None:
        joined = settings["parent"].joined
        super().__init__(joined=joined, user_module=joined.shell.user_module, **settings)
        self.control_handlers["signal_request"] = self.signal_request

    def pre_handler_hook(self) -> None:
        super().pre_handler_hook()
        self.joined.enter_task(self.get_parent("shell"))

    def post_handler_hook(self) -> None:
        self.joined.leave_task()
        super().post_handler_hook()

    def do_apply(self, *request: Any) -> tuple[dict, list]:
        with self.joined.attended():
            reply, buffers = super().do_apply(*request)
        self.joined.catch_up()
        if reply.get("ename") == Stopped.__name__:
            reply["evalue"] = STOPPED
        return reply, buffers

    async def do_execute(self, *request: Any, **options: Any) -> dict:
        with self.joined.attended():
            reply = await super().do_execute(*request, **options)
        self.joined.catch_up()
        return reply

    def clear_request(self, stream: Any, ident: Any, parent: dict) -> None:
        """Forget what the learner has defined, and not what the course has."""
        with self.joined.names_kept():
            super().clear_request(stream, ident, parent)

    def signal_request(self, stream: Any, ident: Any, parent: dict) -> None:
        """Answer `client.send_signal` by sending this process the signal. By default ipyparallel
        has a process beside each engine for this."""
        try:
            wanted = parent["content"]["sig"]
            os.kill(os.getpid(), getattr(signal, str(wanted), wanted))
            content = {"status": "ok"}
        except Exception as error:
            content = {"status": "error", "ename": type(error).__name__, "evalue": str(error)}
        self.session.send(stream, "signal_reply", content, parent=parent, ident=ident)

    def shutdown_request(self, stream: Any, ident: Any, parent: dict) -> None:
        """`client.shutdown()` would leave the notebook without its engines."""
        content = {"status": "error", "ename": "RuntimeError", "evalue": NO_SHUTDOWN}
        content |= {"traceback": [], "engine_info": self.get_engine_info("shutdown")}
        self.session.send(stream, "shutdown_reply", content, parent=parent, ident=ident)


class RankEngine(IPEngine):
    """ipyparallel's engine without what a rank has already: its screen, its signals, its loop."""

    joined = AnyTrait()

    async def complete_registration(self, *answer: Any) -> None:
        app.Kernel = TaskKernel  # where ipyparallel looks for it; there is no setting
        await super().complete_registration(*answer)

    def redirect_output(self, iopub: Any) -> None:
        """Let tasks print into ipyparallel's `iopub`; cells print where they did before."""
        for name in ("stdout", "stderr"):
            stream = OutStream(self.session, iopub, name, watchfd=False)
            stream.topic = f"engine.{self.id}.{name}".encode()
            self.joined.streams.append(stream)

    def init_signal(self) -> None:
        """The rank's signals stay what they are."""


class Joined:
    """The queue of a rank's orders, beside which ipyparallel's tasks are done."""

    def __init__(
        self, shell: Shell, attended: Callable[[], AbstractContextManager], kept: Iterable[str]
    ) -> None:
        self.shell = shell
        self.attended = attended  # around what may be stopped
        self.streams: list[OutStream] = []
        self._kept = tuple(kept)  # names that `client.clear()` leaves
        self._orders: queue.SimpleQueue[tuple] = queue.SimpleQueue()
        self._at_work = 0  # tasks; more than one where they await something
        self._loop = asyncio.new_event_loop()
        self._caught_up = threading.Event()

    def join(self, rank: int, connection: str) -> int:
        """Become an engine of this controller; gives the number by which it is known."""
        ns = self.shell.user_ns
        before = dict(ns)
        asyncio.set_event_loop(self._loop)
        for single in (TaskKernel, TaskShell):  # of a controller that has ended
            single.clear_instance()
        make_current(None)  # the kernel makes its own; see enter_task
        try:
            engine = self._loop.run_until_complete(self._register(rank, connection))
        finally:
            make_current(self.shell)
        self._task_shell = engine.kernel.shell
        # Figures are shown both ways, whichever of them loads matplotlib.
        self._task_shell.events = self.shell.events
        self._task_shell.display_formatter = self.shell.display_formatter
        self._task_names = {name: ns[name] for name in ns if ns[name] is not before.get(name)}
        self._cell_names = {name: before[name] for name in self._task_names if name in before}
        ns.update(self._cell_names)
        self._lines = os.dup(1), os.dup(2)
        # What compiled code in tasks writes to the descriptors 1 and 2 comes through a pipe.
        reader, self._pipe = os.pipe()

        def listen() -> None:
            while text := os.read(reader, 1 << 16):
                self.streams[0].write(text.replace(END, b"").decode(errors="replace"))
                if END in text:
                    self._caught_up.set()

        threading.Thread(target=listen, daemon=True).start()
        return engine.id

    async def _register(self, rank: int, connection: str) -> RankEngine:
        os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # or it warns
        config = Config()
        config.HistoryManager.enabled = False
        config.IPKernelApp.exec_PYTHONSTARTUP = False
        engine = RankEngine(
            config=config,
            joined=self,
            id=rank,
            user_ns=self.shell.user_ns,
            connection_info_env=connection,
            timeout=REGISTRATION_LIMIT,
            enable_nanny=False,
            max_heartbeat_misses=0,  # the controller's end is no reason to leave
            log_level=logging.CRITICAL,
        )
        # ipyparallel wants a folder that this node can write to, and only for this.
        with tempfile.TemporaryDirectory(prefix="ddl-") as config.ProfileDir.location:
            engine.load_connection_file()
            await engine.register()
        return engine

    # -- orders and tasks, one after another --------------------------------------------------

    def put(self, order: tuple) -> None:
        """An order has come; called by the thread that listens."""
        self._orders.put(order)
        self._loop.call_soon_threadsafe(self._loop.stop)

    def get(self) -> tuple:
        """Do tasks until an order is there and no task is half done."""
        while self._at_work or self._orders.empty():
            with contextlib.suppress(Stopped):
                self._loop.run_forever()
        return self._orders.get()

    def enter_task(self, parent: dict) -> None:
        """Put in place what belongs to tasks: where they print, what `get_ipython()` gives."""
        self._at_work += 1
        if self._at_work > 1:
            return
        self._screen = sys.stdout, sys.stderr
        for stream in self._screen:
            with contextlib.suppress(ValueError):  # a cell has closed it
                stream.flush()
        for stream in self.streams:
            stream.set_parent(parent)
        sys.stdout, sys.stderr = self.streams
        for descriptor in (1, 2):
            os.dup2(self._pipe, descriptor)
        make_current(self._task_shell)
        self.shell.user_ns.update(self._task_names)

    def leave_task(self) -> None:
        self._at_work -= 1
        if self._at_work:
            return
        sys.stdout, sys.stderr = self._screen
        for descriptor, line in zip((1, 2), self._lines, strict=True):
            os.dup2(line, descriptor)
        make_current(self.shell)
        self.shell.user_ns.update(self._cell_names)
        if not self._orders.empty():
            self._loop.stop()

    def catch_up(self) -> None:
        """Wait until what the task's compiled code has printed is on its way."""
        self._caught_up.clear()
        os.write(self._pipe, END)
        self._caught_up.wait(CATCH_UP_LIMIT)

    @contextlib.contextmanager
    def names_kept(self) -> Iterator[None]:
        """The course's names outlast what happens within."""
        ns = self.shell.user_ns
        kept = {name: ns[name] for name in self._kept if name in ns}
        yield
        ns.update(self._task_names if self._at_work else self._cell_names, **kept)
