"""`ddl-teach box`: a cluster on this machine, what happens to it, and JupyterLab on its head.

The box's network has no way out, so Lab listens on a socket that is a file, which this user alone
may open; and outside, a port of this machine's own address (127.0.0.1) leads there. Its token goes
by the environment, never by a command line, which everybody on a machine can read.
"""

import argparse
import asyncio
import os
import secrets
import subprocess
import sys
import textwrap
from pathlib import Path

from ddl_class.clusters.box import faults
from ddl_class.clusters.box.box import Box
from ddl_class.clusters.box.links import describe
from ddl_class.commands.mistake import Mistake
from ddl_runtime.launcher.mpiexec import STARTED_FOR

AT_ONCE = 1 << 16  # bytes
AMOUNTS = {"slow": "RATE", "delay": "TIME", "loss": "SHARE", "kill": "TEXT"}  # of faults


def up(options: argparse.Namespace) -> int:
    """Make the box."""
    how = {"name": options.name, "switch": options.switch, "share": options.share}
    Box.up(options.nodes, options.rate, options.delay, **how, stay=True, with_slurm=options.slurm)
    return status(options)


def execute(options: argparse.Namespace) -> int:
    """Run a command on a node."""
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise Mistake("the command is missing: ddl-teach box exec NODE COMMAND")
    words = Box.find(options.name).hosts.words(options.node, command)
    os.execvp(words[0], words)  # signals and the exit status are the command's own


def status(options: argparse.Namespace) -> int:
    """Show nodes, links and what they have carried."""
    box = Box.find(options.name)
    cards = box.counters()
    print(f"{'node':<8}{'address':<13}{'link':<32}{'sent':>15}{'received':>15}  processes")
    for node in box.nodes:
        place, link = box.hosts.address(node), describe(box.links[node])
        if node not in cards:
            print(f"{node:<8}{place:<13}off")
            continue
        running = sorted({process.name() for process in box.hosts.processes(node)})
        traffic = f"{cards[node].sent_bytes:>13,} B{cards[node].received_bytes:>13,} B"
        shown = textwrap.shorten(", ".join(running) or "none", 40, placeholder=" ...")
        print(f"{node:<8}{place:<13}{link:<32}{traffic}  {shown}")
    kind = "kernel's" if box.switch == "kernel" else "one in user space"
    print(f"switch: {kind}; shared folder: {box.folder}; of the course in {box.owner}")
    for trouble in box.troubles():
        print(trouble)
    return 0


def fault(options: argparse.Namespace) -> int:
    """Do something bad to a node or its cable."""
    box, node, kind, amount = Box.find(options.name), options.node, options.fault, options.amount
    if bool(amount) != (kind in AMOUNTS):
        words = ["fault", node, kind, *([AMOUNTS[kind]] if kind in AMOUNTS else [])]
        raise Mistake(f"write it as: ddl-teach box {' '.join(words)}")
    getattr(faults, kind)(box, node, *([amount] if amount else []))
    print("\n".join(box.troubles()) or "done")
    return 0


def mend(options: argparse.Namespace) -> int:
    """Power on what is off, and plug in good cables."""
    box = Box.find(options.name)
    for node in [options.node] if options.node else box.nodes:
        box.mend(node)
    return status(options)


def lab(options: argparse.Namespace) -> int:
    """Start Lab and lead the browser there, until Ctrl-C or until Lab ends."""
    box, port = Box.find(options.name), options.port
    door = box.folder / "lab"
    door.unlink(missing_ok=True)
    token = secrets.token_hex(16)
    words = [sys.executable, "-m", "jupyterlab", "--allow-root", "--no-browser"]
    words += [f"--ServerApp.sock={door}", "--LabApp.extension_manager=readonly"]
    words += ["--Application.log_level=ERROR", "--ServerApp.use_redirect_file=False"]
    started = subprocess.Popen(
        box.hosts.words("head", words),
        env=os.environ | {"JUPYTER_TOKEN": token, STARTED_FOR: str(door)},
        stdin=subprocess.DEVNULL,
    )
    try:
        asyncio.run(_lead(started, door, port, token))
    except OSError as error:
        raise Mistake(f"port {port} of this machine: {error.strerror}; try --port") from None
    finally:
        box.end(door)
        started.wait()
    return started.returncode


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


def down(options: argparse.Namespace) -> int:
    """End the box."""
    Box.find(options.name).down()
    print(f"The box '{options.name}' is gone.")
    return 0
