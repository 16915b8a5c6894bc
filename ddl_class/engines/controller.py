"""ipyparallel's controller beside running engines, and a client that is connected to it.

The engines exist already; each of them joins from within its own process (see `joined`). The
controller has a key of its own, and lives in a folder of its own. It listens on 127.0.0.1 only,
or for engines on other machines at our address on their network, encrypted; for those in a box at
sockets in its folder. It ends with the engines, or with the notebook if that is first.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import InvalidStateError
from pathlib import Path
from typing import Any

import ipyparallel
from ipyparallel.error import RemoteError

from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.launcher.mpiexec import SharedHosts
from ddl_runtime.launcher.process_pool import Reaper

START_LIMIT = 60  # seconds until the controller has said where it listens
LOOPBACK = "127.0.0.1"
END_LIMIT = 3  # seconds that it may take to end
GLANCE = 0.25  # seconds between two looks at whether the engines live
COMMAND = (
    *(sys.executable, "-m", "ipyparallel.controller"),
    "--log-level=CRITICAL",
    "--IPController.use_threads=True",
    "--HeartMonitor.period=500",  # engines are let in at a beat
    "--HeartMonitor.max_heartmonitor_misses=120",  # a death is noticed here, and sooner
)
STALE = (
    "The engines cannot be reached this way any more: they, or ipyparallel's controller, have "
    "ended since. engines.client gives a new client."
)


class EnginesClient(ipyparallel.Client):
    """ipyparallel's client, which says what has become of its engines."""

    over = False

    def send_apply_request(self, *request: Any, **options: Any) -> Any:
        self._check()
        return super().send_apply_request(*request, **options)

    def send_execute_request(self, *request: Any, **options: Any) -> Any:
        self._check()
        return super().send_execute_request(*request, **options)

    @property
    def closed(self) -> bool:
        return self._closed

    def end(self) -> None:
        """The engines are gone: end all waits for them with an error."""
        self.over = True
        lost = RemoteError("EngineError", STALE, STALE)
        for futures, outcome in ((self._futures, lost), (self._output_futures, None)):
            for future in list(futures.values()):
                with contextlib.suppress(InvalidStateError):  # it has just been done
                    future.set_result(outcome)
        # Balanced views ask this before they call us, and would raise another error.
        self._task_stream.closed = lambda: False
        self.close(linger=0)

    def _check(self) -> None:
        if self.over:
            raise DiagnosedError(STALE)


class Controller:
    """The process, its folder, and the client that the notebook gets."""

    def __init__(self, place: SharedHosts | None = None) -> None:
        self._client: EnginesClient | None = None
        self._closing = threading.Lock()
        shared, at = (None, LOOPBACK) if place is None else (place.folder, place.listens_at)
        self._folder = Path(tempfile.mkdtemp(prefix="ddl-", dir=shared))
        self._sockets = None if at else f"{self._folder}/s"
        where = [f"--ip={at or self._sockets}", f"--location={at or LOOPBACK}"]
        if at is None:
            where.append("--IPController.transport=ipc")
        elif place is not None:
            where.append("--IPController.enable_curve=True")
        self._guard: Reaper | None = Reaper(self._folder)
        self._profile = self._folder / "profile"
        settings = {name: v for name, v in os.environ.items() if not name.startswith("IPP_")}
        with (self._folder / "said").open("wb") as log:
            self._process = subprocess.Popen(
                [*COMMAND, *where, f"--profile-dir={self._profile}"],
                env=settings | {"IPYTHONDIR": str(self._folder)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        # With all that it starts itself: a negative number means a group of processes.
        self._guard.watch_over([self._process.pid, -self._process.pid])
        try:
            self.connection = self._await_connection("engine")
            if self._sockets:
                self._name_as_callers_do()
        except BaseException:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether the engines can still be reached this way."""
        return self._guard is not None and self._process.poll() is None

    def connect(self, size: int, mpiexec: subprocess.Popen) -> None:
        """Connect to the engines, all of which have registered; close the connection when they
        end."""
        self._mpiexec = mpiexec
        self._client = self._connected_client(size)

        def leave_with_engines() -> None:  # no client may wait for dead engines
            while self.alive and mpiexec.poll() is None:
                time.sleep(GLANCE)
            self.close()

        threading.Thread(target=leave_with_engines, daemon=True).start()

    def client_for(self, mpiexec: subprocess.Popen | None) -> EnginesClient | None:
        """The client, where it belongs to these engines; another one if it was closed."""
        # It may be about to end: its client knows first, and ends the waits for tasks.
        if not self.alive or self._client.over or mpiexec is not self._mpiexec:
            return None
        if self._client.closed:
            self._client = self._connected_client(len(self._client.ids))
        return self._client

    def close(self) -> None:
        with self._closing:
            if self._guard is None:
                return
            if self._client is not None:
                self._client.end()
            for harder in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, harder)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=END_LIMIT)
            self._guard.dismiss()
            self._guard = None
            shutil.rmtree(self._folder, ignore_errors=True)

    def _await_connection(self, whose: str) -> str:
        """The text of the file with the controller's address and key, for engines or clients."""
        file = self._profile / "security" / f"ipcontroller-{whose}.json"
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(OSError, ValueError):  # not there yet, or half written
                json.loads(text := file.read_text())
                return text
            time.sleep(0.05)
        log = (self._folder / "said").read_text(errors="replace").strip()
        raise DiagnosedError(
            "ipyparallel's controller could not be started."
            + (f" It said:\n\n{log}\n" if log else "\n")
            + "\nRun `ddl-teach doctor` to find out why. %%px and engines.run do without it."
        )

    def _name_as_callers_do(self) -> None:
        """Sockets are files `s-PORT` to ipyparallel's controller, `s:PORT` to all who call it."""
        for whose in ("engine", "client"):
            for ports in json.loads(self._await_connection(whose)).values():
                for port in ports if isinstance(ports, list) else [ports]:
                    if isinstance(port, int):
                        with contextlib.suppress(FileExistsError):  # both have it
                            os.symlink(f"{self._sockets}-{port}", f"{self._sockets}:{port}")

    def _connected_client(self, size: int) -> EnginesClient:
        client = EnginesClient(json.loads(self._await_connection("client")))
        client.wait_for_engines(size, timeout=START_LIMIT, interactive=False)
        if client.ids != list(range(size)):
            client.close(linger=0)
            raise DiagnosedError(f"Engines have the numbers {client.ids}, not MPI's.")
        return client
