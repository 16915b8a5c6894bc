"""What runs inside each real rank: it waits for programs, runs them, and reports on itself.

Lines lead back to the launcher: one for what is printed, one for orders and reports, one for the
stack of a rank that cannot answer. A thread listens for orders while the program runs; when the
launcher is gone, so is the rank.

Started as `python -m ddl_runtime.launcher.worker ADDRESS`, with the key in DDL_TEACH_KEY.
"""

import contextlib
import contextvars
import faulthandler
import inspect
import linecache
import os
import pickle
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle

from ddl_runtime.core.element_types import backward_on_this_thread
from ddl_runtime.core.running import end_process, run_program
from ddl_runtime.devices.placement import take_own_gpu
from ddl_runtime.diagnosis import frames
from ddl_runtime.diagnosis.waits import Wait
from ddl_runtime.launcher import door
from ddl_runtime.launcher.process_state import AtOnce, LoadedCode, ProcessState
from ddl_runtime.mpi.polling import Monitor, Stopped


class RankWorker:
    """What a rank does for the launcher: it takes orders, runs programs, and sends reports."""

    def __init__(self, control: Connection, far: bool = False) -> None:
        self._control = control
        self._far = far  # is the launcher on another machine
        self._sending = threading.Lock()
        self._orders: queue.SimpleQueue[tuple] = queue.SimpleQueue()
        self._running = False
        self._speaking = False
        self._main = threading.main_thread().ident or 0
        self._pid = os.getpid()
        self._monitor = Monitor()
        self._library = LoadedCode()
        signal.signal(signal.SIGUSR1, self._on_stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def send(self, *message: Any) -> None:
        if os.getpid() != self._pid:
            end_process(0)  # a copy that the program made by os.fork is no rank
        on_main = threading.get_ident() == self._main
        with self._sending:
            try:
                self._speaking = on_main
                self._control.send_bytes(cloudpickle.dumps(message))
            finally:
                self._speaking = False
        if on_main:
            self._on_stop()

    def monitor_for(self, order: str) -> Monitor:
        """A monitor for this order: each program gets a new one, since threads that an earlier
        program has left running must not report for it."""
        return self.new_monitor() if order == "run" else self._monitor

    def new_monitor(self) -> Monitor:
        """A monitor that reports to the launcher."""

        def report(wait: Wait | None, serial: int) -> None:
            if self._running and not monitor.stopping:
                sent = door.bytes_sent() if self._far else 0
                self.send("wait", wait, serial, monitor.asked, sent)

        monitor = Monitor(report)
        return monitor

    def _on_stop(self, *_: object) -> None:
        # Half a message would leave the launcher waiting for the other half.
        if self._to_stop(self._monitor) and not self._speaking:
            frame = inspect.currentframe()
            assert frame is not None
            if frames.importing(frame):
                # Half a module would stay, and fail in every later program.
                leave("stopped in the middle of an import")
            if frames.telling_mpi(frame):
                return  # MPI may know of memory that is not kept; a long wait stops itself
            self._monitor.stopped = True
            raise Stopped

    def _to_stop(self, monitor: Monitor) -> bool:
        ours = self._monitor is monitor
        return self._running and ours and monitor.stopping and not monitor.stopped

    def _insist(self, monitor: Monitor) -> None:
        """Ask the main thread to stop until it does."""
        while self._to_stop(monitor):
            signal.pthread_kill(self._main, signal.SIGUSR1)
            time.sleep(0.01)

    def listen(self) -> None:
        """Take orders until the connection to the launcher ends; then end this process."""
        try:
            while True:
                order = pickle.loads(self._control.recv_bytes())
                if order[0] == "stop":
                    self._monitor.stopping = True
                    threading.Thread(
                        target=self._insist, args=(self._monitor,), daemon=True
                    ).start()
                elif order[0] == "ask":
                    self._monitor.asked = order[1]
                elif order[0] == "where":
                    begun = [frames.innermost(each) for each in list(self._monitor.functions)]
                    behind = [frames.source_line(frame) for frame in begun if frame is not None]
                    here = frames.source_line(frames.innermost(self._main))
                    self.send("where", here, behind)
                else:
                    self._monitor = self.monitor_for(order[0])
                    self._orders.put(order)
        except (EOFError, OSError) as error:
            leave(f"no launcher, no rank: {error!r}")

    def serve(self) -> None:
        take_own_gpu()
        from ddl_runtime.launcher.world import World  # starts MPI

        world = World()
        self.prepare(world)
        self.send("hello", world.rank, world.size)
        while (order := self._orders.get())[0] != "quit":
            self.obey(world, *order)

    def prepare(self, world: Any) -> None:
        """What is to be done before the first order."""

    def obey(self, world: Any, what: str, *details: Any) -> None:
        if what == "run":
            self._run(world, *details)
        elif what == "free":
            world.free()

    def _run(
        self, world: Any, ranks: int, trace: bool, strict: bool, memory: float | None,
        folders: list, payload: bytes,
    ) -> None:  # fmt: skip
        monitor, state = self._monitor, ProcessState(self._library)
        comm = world.begin(ranks, trace, monitor, strict=strict, memory=memory)
        sys.path[:] = folders

        def work() -> tuple:
            try:
                return self.execute(world, comm, payload)
            finally:
                monitor.stopping = True  # for functions that are still at work in the background

        def afterwards(ended: str) -> Iterator[tuple[Any, ...]]:
            if ended != "returned":
                yield "called", comm.context.logs
            if left := state.restore():
                yield "changed", left

        self.attempt(work, afterwards)
        world.clear(comm)

    def attempt(
        self,
        work: Callable[[], tuple],
        afterwards: Callable[[str], Iterable[tuple[Any, ...]]] = lambda ended: (),
    ) -> None:
        """Do what may be stopped at any time; tell the launcher what comes `afterwards`, and how
        it ended."""
        try:
            self._running = True
            if self._monitor.stopping:
                raise Stopped
            ending = work()
            self._running = False
        except Stopped:
            self._running = False  # what follows is not to be stopped once more
            ending = ("stopped",)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        for message in [*afterwards(ending[0]), ending]:
            self.send(*message)

    def execute(self, world: Any, comm: Any, payload: bytes) -> tuple:
        """Run the program; returns what to tell the launcher about its end."""
        try:
            program, kwargs, cells = pickle.loads(payload)
            linecache.cache.update(cells)
            backward_on_this_thread()
            value = contextvars.Context().run(run_program, program, comm, kwargs)
            world.end(comm)
            elapsed = comm.now()
        except Stopped:
            raise
        except BaseException as error:
            return self.failure(error)
        try:
            shipped = cloudpickle.dumps(value)
        except Exception as error:
            what = (
                f"TypeError: its result, a {type(value).__name__}, cannot be sent back: {error}. "
                "Return numbers, strings, arrays, or lists and dictionaries of them"
            )
            return "raised", time.perf_counter(), what, "", None
        return "returned", elapsed, world.books(comm), shipped

    def failure(self, error: BaseException) -> tuple:
        """The message about a program that raised."""
        raised_at = time.perf_counter()
        try:
            shipped = cloudpickle.dumps(error)
            pickle.loads(shipped)
        except Exception:
            shipped = None
        what, where = frames.error_text(error), frames.program_traceback(error)
        return "raised", raised_at, what, where, shipped


def leave(why: str) -> None:
    """End this process at once, with a last message on standard error if it is still read."""
    with contextlib.suppress(OSError):
        os.write(2, f"This process ends: {why}\n".encode())
    end_process(1)


def main(address: str, kind: type[RankWorker] = RankWorker) -> None:
    """Connect to the launcher, then serve until it orders to stop."""
    key = bytes.fromhex(os.environ.pop("DDL_TEACH_KEY"))
    with contextlib.suppress(PermissionError):  # who leads a session leads a group already
        os.setpgid(0, 0)  # a group of its own, and of all that it starts: they end together
    lines = {}
    for name in ("output", "stack", "control"):  # one after another: so they are let in
        lines[name] = door.call(address, key)
        lines[name].send((name, os.getpid()))
    sys.stdout.flush()
    for descriptor in (1, 2):
        os.dup2(lines["output"].fileno(), descriptor)
    sys.stdout, sys.stderr = AtOnce(1), AtOnce(2)
    # These answer also where no thread of Python's can: after a crash, deep in compiled code.
    stack = lines["stack"].fileno()
    faulthandler.enable(stack, all_threads=False)
    faulthandler.register(signal.SIGUSR2, stack, all_threads=False)
    if far := door.is_far(address):  # nobody there can send us a signal
        door.signal_when_written(lines["stack"], signal.SIGUSR2)
    worker = kind(lines["control"], far)
    threading.Thread(target=worker.listen, daemon=True).start()
    status = 0
    try:
        worker.serve()
    except BaseException:
        traceback.print_exc()
        status = 1
    # MPI's own way out waits for the other ranks, and for what failed programs have left behind.
    end_process(status)


if __name__ == "__main__":
    main(sys.argv[1])
