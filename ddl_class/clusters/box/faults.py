"""What happens to clusters: cables slow, long, lossy or out; processes killed, nodes off.

All of it to a box that is up, whatever runs on it. What to look at: who notices, and after how
long. A dead process closes its connections, so its peers know at once. A cable that is out says
nothing: TCP repeats what it sent, more and more seldom, and a rank that waits goes on waiting.
"""

import contextlib
import os
import signal

from ddl_class.clusters.box.box import Box
from ddl_class.clusters.box.links import read_delay, read_loss, read_rate
from ddl_class.commands.mistake import Mistake


def slow(box: Box, node: str, rate: str) -> None:
    """The node's cable carries less."""
    box.set_link(node, rate=read_rate(rate))


def delay(box: Box, node: str, time: str) -> None:
    """Every packet from and to the node is so much longer under way."""
    box.set_link(node, delay=box.asked.delay + read_delay(time))


def loss(box: Box, node: str, fraction: str) -> None:
    """So many of the packets from and to the node do not arrive."""
    box.set_link(node, loss=read_loss(fraction))


def cut(box: Box, node: str) -> None:
    """The cable is out."""
    box.set_link(node, plugged=False)


def off(box: Box, node: str) -> None:
    """The node is off."""
    box.power_off(node)


def kill(box: Box, node: str, text: str) -> list[int]:
    """Kill the processes of a node with `text` in their command, as if they had crashed."""
    import psutil

    ended = []
    for process in box.hosts.processes(node):
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if text in " ".join(process.cmdline()):
                os.kill(process.pid, signal.SIGKILL)
                ended.append(process.pid)
    if not ended:
        running = {process.name() for process in box.hosts.processes(node)}
        what = f"running: {', '.join(sorted(running))}" if running else "nothing runs there"
        raise Mistake(f"no command on {node} has {text!r} in it; {what}")
    return ended
