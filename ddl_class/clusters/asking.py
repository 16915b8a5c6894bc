"""Asking nodes: each for itself, all at the same time, and MPI ranks on all of them together."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddl_class.clusters import on_node
from ddl_class.clusters.grounds import Ground
from ddl_class.json_lines import ask


@dataclass(frozen=True)
class Answers:
    """What came back from the nodes: of each its own account, or why there is none."""

    said: Mapping[str, Mapping[str, Any]]
    failed: Mapping[str, str]
    mark: str  # what a node must have read in the shared folder
    arrived: tuple[str, ...]  # the nodes whose own marks arrived there


def ask_nodes(ground: Ground, folder: Path) -> Answers:
    """Ask all nodes at the same time, and see what they can write into `folder`."""
    mark, text = folder / f"mark-{secrets.token_hex(4)}", secrets.token_hex(8)
    # They exist before a node writes them: opened again, also NFS shows what is in them now.
    marks = {node: mark.with_name(f"{mark.name}.{node}") for node in ground.nodes}
    source = Path(on_node.__file__).read_text()  # a node need not have the course to answer
    try:
        for path, what in ((mark, text), *((path, "") for path in marks.values())):
            path.write_text(what)
        # Nobody need open the door: a call has come through once the system has noted it.
        address = ground.listens_at, 0
        with (
            socket.create_server(address, backlog=len(marks)) as door,
            ThreadPoolExecutor(16) as crowd,
        ):
            port = door.getsockname()[1]

            def ask_one(node: str) -> list[dict] | str:
                place = [str(mark), node, ground.listens_at, str(port)]
                words = [ground.python, "-", *place, *ground.nodes]
                return ask(ground.words(node, words), source)

            replies = dict(zip(ground.nodes, crowd.map(ask_one, ground.nodes), strict=True))
        arrived = tuple(node for node, path in marks.items() if path.read_text() == text)
    finally:
        for path in (mark, *marks.values()):
            path.unlink(missing_ok=True)
    return Answers(
        {node: reply[0] for node, reply in replies.items() if not isinstance(reply, str)},
        {node: reply for node, reply in replies.items() if isinstance(reply, str)},
        text,
        arrived,
    )


def ask_ranks(ground: Ground) -> list[dict] | str:
    """What a rank on each node finds out, or what went wrong."""
    command = [ground.python, "-m", "ddl_class.clusters.on_ranks"]
    return ask(ground.on_all(len(ground.nodes), command))
