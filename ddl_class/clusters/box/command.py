"""`ddl-teach box`: a cluster on this machine, and what happens to clusters."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ddl_class.clusters.box.box import Box

EXAMPLES = """examples:
  ddl-teach box up --nodes 4 --rate 100mbit --delay 1ms
  ddl-teach box status
  ddl-teach run program.py:main --ranks 4 --box
  ddl-teach box exec node2 hostname
  ddl-teach box exec head mpiexec -n 4 python program.py
  ddl-teach box fault node1 slow 10mbit
  ddl-teach box fault node1 cut
  ddl-teach box mend
  ddl-teach box lab
  ddl-teach box down
"""
FAULTS = {
    "slow": "RATE: the cable carries less, 10mbit for instance",
    "delay": "TIME: packets from and to the node take so much longer, 50ms for instance",
    "loss": "SHARE: so many of them do not arrive, 1% for instance",
    "cut": "the cable is out",
    "kill": "TEXT: kill processes with TEXT in their command, as if they had crashed",
    "off": "the node is off",
}


def add_box(commands: argparse._SubParsersAction) -> None:
    """The words that the command line knows for it."""
    box = commands.add_parser(
        "box",
        help="a cluster on this machine: nodes with addresses and shaped links",
        description="Nodes with their own names, addresses, links and processes, for root and "
        "for ordinary users; nothing is installed, and nothing stays.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = box.add_subparsers(metavar="VERB", required=True)
    up = _verb(verbs, "up", _up, "make the box")
    up.add_argument("--nodes", type=int, default=4, metavar="N", help="default: 4")
    up.add_argument("--rate", default="100mbit", help="of each link; default: 100mbit")
    up.add_argument("--delay", default="0ms", help="of a message from node to node; default: 0ms")
    text = "kernel: exact, and no load; user: delays and loses packets where the kernel cannot"
    up.add_argument("--switch", default="auto", help=text)
    text = "in /tmp, where nodes see only what they share; can be repeated"
    up.add_argument("--share", action="append", default=[], metavar="FOLDER", help=text)
    up.add_argument("--slurm", action="store_true", help="with a real Slurm on it")
    run = _verb(verbs, "exec", _exec, "run a command on a node, or on the head")
    run.add_argument("node", metavar="NODE")
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    _verb(verbs, "status", _status, "show nodes, links and what they have carried")
    kinds = "\n".join(f"  {kind:<7}{what}" for kind, what in FAULTS.items())
    fault = _verb(verbs, "fault", _fault, "do something bad to a node or its cable")
    fault.epilog, fault.formatter_class = kinds, argparse.RawDescriptionHelpFormatter
    fault.add_argument("node", metavar="NODE")
    fault.add_argument("fault", choices=FAULTS)
    fault.add_argument("amount", nargs="?", default="", metavar="AMOUNT")
    mend = _verb(verbs, "mend", _mend, "power on what is off, and plug in good cables")
    mend.add_argument("node", nargs="?", default="", metavar="NODE", help="default: all")
    lab = _verb(verbs, "lab", _lab, "JupyterLab on the head, for a browser outside")
    lab.add_argument("--port", type=int, default=8899, help="of this machine; default: 8899")
    _verb(verbs, "down", _down, "end it, with all that runs in it")


Act = Callable[[argparse.Namespace], int]


def _verb(
    verbs: argparse._SubParsersAction, name: str, act: Act, about: str
) -> argparse.ArgumentParser:
    parser = verbs.add_parser(name, help=about, description=about.capitalize())
    parser.add_argument("--name", default="box", help="if there is more than one; default: box")
    parser.set_defaults(act=act)
    return parser


def _find(options: argparse.Namespace) -> Box:
    from ddl_class.clusters.box.box import Box

    box = Box.find(options.name)
    if whose := box.whose():
        print(whose, file=sys.stderr, flush=True)
    return box


def _up(options: argparse.Namespace) -> int:
    from ddl_class.clusters.box.box import Box

    asked = {
        name: getattr(options, name) for name in ("nodes", "rate", "delay", "switch", "share")
    }
    Box.up(**asked, name=options.name, stay=True, with_slurm=options.slurm)
    return _status(options)


def _exec(options: argparse.Namespace) -> int:
    from ddl_class.commands.mistake import Mistake

    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise Mistake("box exec NODE COMMAND: the command is missing")
    words = _find(options).hosts.words(options.node, command)
    os.execvp(words[0], words)  # signals and the exit status are the command's own


def _status(options: argparse.Namespace) -> int:
    from ddl_class.clusters.box.links import describe

    box = _find(options)
    cards = box.counters()
    print(f"{'node':<8}{'address':<13}{'link':<32}{'sent':>15}{'received':>15}  processes")
    for node in box.nodes:
        place, link = box.hosts.address(node), describe(box.links[node])
        if node not in cards:
            print(f"{node:<8}{place:<13}off")
            continue
        card, running = (
            cards[node],
            sorted({process.name() for process in box.hosts.processes(node)}),
        )
        traffic = f"{card.sent_bytes:>13,} B{card.received_bytes:>13,} B"
        shown = textwrap.shorten(", ".join(running) or "none", 40, placeholder=" ...")
        print(f"{node:<8}{place:<13}{link:<32}{traffic}  {shown}")
    kind = "kernel's" if box.switch == "kernel" else "one in user space"
    print(f"switch: {kind}; shared folder: {box.folder}")
    return 0


def _fault(options: argparse.Namespace) -> int:
    from ddl_class.clusters.box import faults
    from ddl_class.commands.mistake import Mistake

    box, node, kind, amount = _find(options), options.node, options.fault, options.amount
    takes = FAULTS[kind].partition(":")[0]
    if bool(amount) != takes.isupper():
        example = f"fault {node} {kind}" + (f" {takes}" if takes.isupper() else "")
        raise Mistake(f"it is: ddl-teach box {example}")
    getattr(faults, kind)(box, node, *([amount] if amount else []))
    print("\n".join(box.troubles()) or "done")
    return 0


def _mend(options: argparse.Namespace) -> int:
    box = _find(options)
    for node in [options.node] if options.node else box.nodes:
        box.mend(node)
    return _status(options)


def _lab(options: argparse.Namespace) -> int:
    from ddl_class.clusters.box.lab import serve

    return serve(_find(options), options.port)


def _down(options: argparse.Namespace) -> int:
    _find(options).down()
    print(f"The box '{options.name}' is gone.")
    return 0
