"""What the head of a box must know, and the files that its nodes share."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ddl_class.clusters.box import launchers, links
from ddl_class.commands.mistake import Mistake

PACKAGE = Path(__file__).resolve().parents[3]
NETWORK = "10.77.0."
USUAL = "box"  # the name of a box that is given none


def address(number: int) -> str:
    """Of node `number`."""
    return f"{NETWORK}{10 + number}"


def path_of(name: str) -> Path:
    """The folder of the box of that name."""
    if not re.fullmatch(r"[\w-]{1,20}", name):
        raise Mistake(f"a box cannot be called {name!r}: letters, digits, - and _, 20 at most")
    # Short, for sockets must stand in it; in /tmp, for nodes see another one there.
    return Path("/tmp") / f"ddl-box-{os.getuid()}" / name


def search_path() -> str:
    """Where programs are: this Python's first; `tc` often lies where only root's PATH leads."""
    own = str(Path(sys.prefix) / "bin")
    return os.pathsep.join([own, os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def check_ours(path: Path) -> None:
    """Refuse a box's folder if it lies in what somebody else put there. A link is refused, too:
    it could lead to what must not be removed."""
    with contextlib.suppress(FileNotFoundError):
        found = path.parent.lstat()  # of the link itself, if it is one
        if not stat.S_ISDIR(found.st_mode):
            raise Mistake(f"{path.parent} is no folder, but something else: have it removed")
        if found.st_uid != os.getuid():
            raise Mistake(f"{path.parent} belongs to somebody else: have it removed")


def new_folder(name: str) -> Path:
    """For a box that does not exist yet; nobody else can look into it."""
    path = path_of(name)
    with contextlib.suppress(FileExistsError):
        path.parent.mkdir(mode=0o700)
    check_ours(path)
    shutil.rmtree(path, ignore_errors=True)  # of one that ended in the middle
    path.mkdir(mode=0o700)
    return path


def write(
    folder: Path,
    nodes: Sequence[str],
    switch: str,
    rate: float,
    share: Sequence[str],
    over: Path | None = None,
) -> Path:
    """Write all of it; returns the file for the head. What is `over` is to lie over /usr."""
    addresses = {node: address(number) for number, node in enumerate(nodes)}
    hosts = ["127.0.0.1 localhost", f"{NETWORK}1 head"]
    hosts += [f"{place} {node}" for node, place in addresses.items()]
    (folder / "nodes").mkdir()
    (folder / "hosts").write_text("\n".join(hosts) + "\n")
    launchers.write_hosts(folder, nodes)
    agent = folder / "agent"
    agent.write_text(launchers.AGENT.format(folder=folder))
    agent.chmod(0o700)
    shown = [folder, PACKAGE, Path.cwd(), Path.home(), sys.prefix, sys.base_prefix, *share]
    paths = sorted({str(Path(one)) for one in shown} | {os.path.realpath(one) for one in shown})
    kept = [path for path in paths if path.startswith("/tmp/")]
    plan = {
        "folder": str(folder),
        "hosts": str(folder / "hosts"),
        "python": sys.prefix,
        "over": str(over or ""),
        "control": str(folder / "switch"),
        "switch": switch,
        "address": f"{NETWORK}1",
        "nodes": addresses,
        "largest": links.largest_packet(rate, switch),
        "kept": [path for path in kept if not any(path.startswith(f"{other}/") for other in kept)],
    }
    file = folder / "plan.json"
    file.write_text(json.dumps(plan))
    return file


def read_state(folder: Path) -> dict[str, Any] | None:
    """The fields of the box in that folder as they were last saved, if they can be read."""
    try:
        state: dict[str, Any] = json.loads((folder / "state.json").read_text())
        state |= {"folder": Path(state["folder"]), "nodes": tuple(state["nodes"])}
        state |= {"asked": links.Cable(**state["asked"])}
        state |= {"links": {node: links.Cable(**one) for node, one in state["links"].items()}}
    except (OSError, ValueError, KeyError, TypeError):  # gone, or half of it, or of another age
        return None
    return state
