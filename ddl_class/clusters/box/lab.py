"""JupyterLab on the head of the box, for the browser outside.

The box's network has no way out, so Lab listens on a socket that is a file, which this user alone
may open; and outside, a port of this machine's own address (127.0.0.1) leads there. Its token goes
by the environment, never by a command line, which everybody on a machine can read.
"""

import asyncio
import os
import secrets
import subprocess
import sys
from pathlib import Path

from ddl_class.clusters.box.box import Box
from ddl_class.commands.mistake import Mistake
from ddl_runtime.launcher.mpiexec import STARTED_FOR

AT_ONCE = 1 << 16  # bytes


def serve(box: Box, port: int) -> int:
    """Start Lab and lead the browser there, until Ctrl-C or until Lab ends."""
    door = box.folder / "lab"
    door.unlink(missing_ok=True)
    token = secrets.token_hex(16)
    words = [sys.executable, "-m", "jupyterlab", "--allow-root", "--no-browser"]
    words += [f"--ServerApp.sock={door}", "--LabApp.extension_manager=readonly"]
    words += ["--Application.log_level=ERROR", "--ServerApp.use_redirect_file=False"]
    lab = subprocess.Popen(
        box.hosts.words("head", words),
        env=os.environ | {"JUPYTER_TOKEN": token, STARTED_FOR: str(door)},
        stdin=subprocess.DEVNULL,
    )
    try:
        asyncio.run(_lead(lab, door, port, token))
    except OSError as error:
        raise Mistake(f"port {port} of this machine: {error.strerror}; try --port") from None
    finally:
        box.end(door)
        lab.wait()
    return lab.returncode


async def _lead(lab: subprocess.Popen, door: Path, port: int, token: str) -> None:
    server = await asyncio.start_server(lambda *ends: _join(door, *ends), "127.0.0.1", port)
    async with server:
        while lab.poll() is None and not door.exists():
            await asyncio.sleep(0.1)
        print(f"JupyterLab on the head: http://127.0.0.1:{port}/lab?token={token}", flush=True)
        while lab.poll() is None:
            await asyncio.sleep(0.2)


async def _join(
    door: Path, browser: asyncio.StreamReader, to_browser: asyncio.StreamWriter
) -> None:
    """One connection of the browser's, and Lab's end of it."""
    try:
        answers, to_lab = await asyncio.open_unix_connection(door)
    except OSError:
        to_browser.close()
        return
    ways = (browser, to_lab), (answers, to_browser)
    await asyncio.gather(*(_copy(*way) for way in ways), return_exceptions=True)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while some := await source.read(AT_ONCE):
            target.write(some)
            await target.drain()
    finally:
        target.close()
