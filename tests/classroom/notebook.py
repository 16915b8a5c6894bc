"""A notebook without a browser: a kernel, cells to run in it, and what they show."""

import os
import signal
import time
from contextlib import contextmanager

import psutil
from jupyter_client.manager import start_new_kernel

PATIENCE = 120  # seconds, on the busiest machine; where all is well nobody waits for long
START = "from ddl_class import Engines\nengines = Engines({})"


class Notebook:
    """One kernel; each cell gives its status and what it showed."""

    def __init__(self, **settings):
        self._manager, self._client = start_new_kernel(env=os.environ | settings)
        self.pid = self._manager.provisioner.process.pid

    def run(self, code, timeout=PATIENCE):
        """Run a cell; returns (status, text), with displays as `<image/png>`."""
        texts = []

        def hear(message):
            content = message["content"]
            if message["msg_type"] == "stream":
                texts.append(content["text"])
            elif message["msg_type"] in ("display_data", "execute_result"):
                rich = [kind for kind in content["data"] if kind != "text/plain"]
                plain = content["data"].get("text/plain", "")
                texts.append("".join(f"<{kind}>" for kind in rich) or plain)
                texts.append("\n")
            elif message["msg_type"] == "error":
                texts.append("\n".join([content["ename"], *content["traceback"]]))

        reply = self._client.execute_interactive(code, timeout=timeout, output_hook=hear)
        return reply["content"]["status"], "".join(texts)

    def start(self, code):
        """Begin a cell and do not wait for its end."""
        self._client.execute(code)

    def interrupt(self):
        self._manager.interrupt_kernel()

    def processes(self):
        """All that the kernel has started, and what they have."""
        return psutil.Process(self.pid).children(recursive=True)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)

    def close(self):
        self._client.stop_channels()
        self._manager.shutdown_kernel()


@contextmanager
def notebook(**settings):
    opened = Notebook(**settings)
    try:
        yield opened
    finally:
        opened.close()


def await_end(processes):
    """Wait until the processes have ended; returns those that have not."""
    return _await_none(lambda: [process for process in processes if _lives(process)])


def await_empty(folder, pattern="*"):
    """Wait until nothing of that name lies in the folder; returns what still does."""
    return _await_none(lambda: list(folder.glob(pattern)))


def _await_none(remaining):
    deadline = time.monotonic() + PATIENCE
    while (left := remaining()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def _lives(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
