"""What runs inside each real rank: it waits for programs, runs them, and answers for itself.

Two lines lead back to the launcher: one for what is printed (taken by the file descriptors 1 and
2, so that the last words of a crash arrive as well), one for orders and reports. A thread listens
for orders while the program runs; when the launcher is gone, so is the rank.

Started as `python -m ddl_teach.comm.worker ADDRESS`, with the key in DDL_TEACH_KEY.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import queue
import signal
import sys
import threading
import time
from multiprocessing.connection import Client, Connection
from typing import Any

import cloudpickle

from ddl_teach.comm.patience import Monitor, Stopped
from ddl_teach.comm.story import Wait, program_traceback, source_line


class Worker:
    """One rank's end of the lines."""

    def __init__(self, control: Connection) -> None:
        self._control = control
        self._sending = threading.Lock()
        self._orders: queue.SimpleQueue[tuple] = queue.SimpleQueue()
        self._running = False
        self._main = threading.main_thread().ident
        self.monitor = Monitor(self._report)
        signal.signal(signal.SIGUSR1, self._on_stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def send(self, *message: Any) -> None:
        """Tell the launcher."""
        with self._sending:
            self._control.send_bytes(cloudpickle.dumps(message))

    def _report(self, wait: Wait | None, serial: int) -> None:
        if not self.monitor.stopping:
            self.send("wait", wait, serial, self.monitor.asked)

    def _on_stop(self, *_: object) -> None:
        if self._running and self.monitor.stopping:
            self._running = False
            raise Stopped

    def listen(self) -> None:
        """Take orders until the launcher hangs up."""
        try:
            while True:
                order = pickle.loads(self._control.recv_bytes())
                if order[0] == "stop":
                    self.monitor.stopping = True
                    signal.pthread_kill(self._main, signal.SIGUSR1)
                elif order[0] == "ask":
                    self.monitor.asked = order[1]
                elif order[0] == "where":
                    frame = sys._current_frames().get(self._main)
                    self.send("where", source_line(frame))
                else:
                    self._orders.put(order)
        except (EOFError, OSError):
            os._exit(1)  # no launcher, no rank

    def serve(self) -> None:
        """Run one program after another."""
        from ddl_teach.comm.world import World

        world = World(self.monitor)
        self.send("hello", world.rank, world.size)
        while (order := self._orders.get())[0] != "quit":
            if order[0] == "run":
                self._run(world, *order[1:])
            else:
                world.free()

    def _run(self, world: Any, ranks: int, trace: bool, folders: list, payload: bytes) -> None:
        self.monitor.stopping = False
        comm, records = world.begin(ranks, trace)
        sys.path[:] = folders
        try:
            self._running = True
            program, kwargs = pickle.loads(payload)
            value = program(comm, **kwargs)
            world.end(comm)
            self._running = False
            elapsed = comm.now()
            books = records.ledger, records.received, records.spans
            self.send("returned", elapsed, books, cloudpickle.dumps(value))
        except Stopped:
            self.send("stopped")
        except BaseException as error:
            self._running = False
            self._send_failure(error)
        finally:
            self._running = False
            with contextlib.suppress(Exception):
                sys.stdout.flush()
            world.clear(comm)

    def _send_failure(self, error: BaseException) -> None:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        if isinstance(error, SystemExit):
            what = f"SystemExit({error.code}): the program called exit"
        text = program_traceback(error)
        try:
            shipped = cloudpickle.dumps(error)
            pickle.loads(shipped)
        except Exception:
            shipped = None
        self.send("raised", time.perf_counter(), what, text, shipped)


def main(address: str) -> None:
    """Connect, then serve until told to go."""
    key = bytes.fromhex(os.environ["DDL_TEACH_KEY"])
    output = Client(address, authkey=key)
    output.send(("output", os.getpid()))
    control = Client(address, authkey=key)
    control.send(("control", os.getpid()))
    sys.stdout.flush()
    for descriptor in (1, 2):
        os.dup2(output.fileno(), descriptor)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")
    faulthandler.enable()
    worker = Worker(control)
    threading.Thread(target=worker.listen, daemon=True).start()
    worker.serve()


if __name__ == "__main__":
    main(sys.argv[1])
