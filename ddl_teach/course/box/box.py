"""A cluster in a box: nodes with names, addresses and shaped links, on one machine.

Each node has its own host name, address, network card, /tmp, /run, /dev/shm and process table, and
hangs by a cable on a switch, as does the *head*, from which jobs are started. As an ordinary user
too: one is root in namespaces of one's own, and nobody outside. Nothing in the box can be reached
from outside by network, and it reaches nobody: its network has no way out.

    with Box.up(nodes=4, rate="100mbit") as box:
        run = launch(program, ranks=4, on=box)
        print(box.counters()["node0"].sent_bytes, run.ledger[0].bytes_sent)
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import psutil

from ddl_teach.course.box import head, links, plan, slurm, slurm_packages
from ddl_teach.course.box.links import Counters, Link, describe
from ddl_teach.course.box.nodes import Nodes
from ddl_teach.course.box.refusal import check_system, refusal
from ddl_teach.course.mistake import Mistake
from ddl_teach.measure.whole_file import write_whole

MOST_NODES = 64
SWITCHES = ("auto", "kernel", "user")


LOOK_EVERY, STILL_FOR = 0.25, 1.5  # seconds
SMALL_TALK = 2000  # bytes: what mpiexec's helpers tell each other now and then


@dataclass(frozen=True)
class Still:
    """When the cables were looked at, what they had carried, since when they carry nothing."""

    looked: float = 0.0
    carried: int = 0
    since: float = 0.0


@dataclass
class Box(Nodes):
    """A box that is up."""

    switch: str  # "kernel" or "user"
    asked: Link  # what the cables were when the box went up ...
    links: dict[str, Link]  # ... and are now
    _keeper: subprocess.Popen | None = field(default=None, repr=False)
    _still: Still = field(default=Still(), repr=False)

    # -- life -------------------------------------------------------------------------------

    @classmethod
    def up(
        cls,
        nodes: int = 4,
        rate: str = "100mbit",
        delay: str = "0ms",
        *,
        name: str = "box",
        switch: str = "auto",
        share: Sequence[str] = (),
        stay: bool = False,
        with_slurm: bool = False,
    ) -> Box:
        """Make a box. A message from node to node is `delay` under way.

        It goes when it is told to or when this process ends, however that ends; if it shall
        `stay`, only when told to. The folders of Python, of the course and the current one are
        seen by all nodes, also where they lie in /tmp; so are those to `share`.
        `with_slurm` says whether a Slurm runs on it.
        """
        check_system()
        if not 1 <= nodes <= MOST_NODES:
            raise Mistake(f"a box of {nodes} nodes: it can have 1 to {MOST_NODES}")
        if switch not in SWITCHES:
            raise Mistake(f"there is no switch {switch!r}: {', '.join(SWITCHES)}")
        link = Link(links.read_rate(rate), links.read_delay(delay) / 2)
        if cls.exists(name):
            raise Mistake(f"The box '{name}' is up already: ddl-teach box down --name {name}")
        over = slurm_packages.folder() if with_slurm else None
        folder = plan.new_folder(name)
        root = os.geteuid() == 0
        if switch == "auto":
            switch = "user" if link.delay and not can_delay(root) else "kernel"
        names = tuple(f"node{number}" for number in range(nodes))
        written = plan.write(folder, names, switch, link.rate, share, over)
        if with_slurm:
            slurm.write(folder, names)
        with (folder / "log").open("w+") as errors:
            keeper = subprocess.Popen(
                # Whatever ends the head, the last thing to go is the folder.
                [
                    *("sh", "-c", '"$@"; rm -rf "$0"', str(folder)),
                    *("unshare", *_user(root), *head.WORLD),
                    *(sys.executable, "-I", "-S", head.__file__, str(written)),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=os.environ | {"PATH": plan.search_path()},
                start_new_session=True,
                cwd="/",
            )
            if keeper.stdout.readline() != b"up\n":
                keeper.communicate()
                errors.seek(0)
                raise refusal(errors.read(), root)
        process = psutil.Process(keeper.pid).children()[0].children()[0]
        inside = os.readlink(f"/proc/{process.pid}/ns/pid")
        state = dict.fromkeys(names, link)
        began = process.create_time()
        known = folder, names, root, process.pid, began, inside
        box = cls(*known, switch, link, state, keeper)
        try:
            for node in names:
                box.apply_link(node)
            if with_slurm:
                slurm.start(box, ["head", *names])
            if stay:
                keeper.stdin.write(b"stay\n")
                keeper.stdin.flush()
        except BaseException:
            box.down()
            raise
        box.save()
        return box

    @classmethod
    def find(cls, name: str = "box") -> Box:
        """The box of that name that is up."""
        try:
            state = json.loads((plan.path_of(name) / "state.json").read_text())
        except FileNotFoundError:
            state = None
        if state is not None:
            state |= {"folder": Path(state["folder"]), "nodes": tuple(state["nodes"])}
            state |= {"asked": Link(**state["asked"])}
            state |= {"links": {node: Link(**one) for node, one in state["links"].items()}}
            box = cls(**state)
            if box.alive:
                return box
        raise Mistake(f"There is no box '{name}'. Make one: ddl-teach box up --name {name}")

    @classmethod
    def exists(cls, name: str = "box") -> bool:
        """Whether one of that name is up."""
        try:
            cls.find(name)
        except Mistake:
            return False
        return True

    def down(self) -> None:
        """End it: every process, mount and cable of it, and its folder."""
        if self.alive:
            process = psutil.Process(self.head)
            process.kill()  # the kernel ends all others before this one is gone
            psutil.wait_procs([process], timeout=30)
        if self._keeper is not None:
            self._keeper.stdin.close()
            self._keeper.stdout.close()
            self._keeper.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Box:
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    # -- cables -----------------------------------------------------------------------------

    def set_link(self, node: str, **changes: Any) -> None:
        """Make a node's cable another one: rate, delay, loss, plugged."""
        link = replace(self.links[self.known(node)], **changes)
        if (link.delay or link.loss) and self.switch == "kernel" and not can_delay(self.root):
            raise Mistake(
                "This kernel can neither delay nor lose packets (it has no netem). A box with a "
                "switch of its own can: ddl-teach box down; ddl-teach box up --switch user"
            )
        self.links[node] = link
        self.apply_link(node)
        self.save()

    def apply_link(self, node: str) -> None:
        """Have the cable do what it should."""
        link, port = self.links[node], f"p-{node}"
        if self.switch == "user":
            head.ask_switch(str(self.folder / "switch"), {"port": node} | asdict(link))
            return
        for host, device in (("head", port), (node, "eth0")):
            # Refused where it is done: by then the device has its shaper.
            self.run(host, ["tc", *links.shaper(device).split()], capture_output=True)
            self.ask(host, ["tc", "-batch", "-"], "\n".join(links.shape(device, link)))
        self.ask("head", ["ip", "link", "set", port, "up" if link.plugged else "down"])

    def counters(self) -> Mapping[str, Counters]:
        """What the network card of each node that is on has counted."""
        on = self.numbers()
        files = [f"/proc/{number}/net/dev" for number in on.values()]
        cards = links.read_counters(self.ask("head", ["cat", "/dev/null", *files]))
        return dict(zip(on, cards, strict=True))

    def moving(self) -> bool:
        """Whether messages may be under way: cables carry something, or did a moment ago."""
        now = time.monotonic()
        if now > self._still.looked + LOOK_EVERY:
            carried = sum(card.sent_bytes for card in self.counters().values())
            changed = abs(carried - self._still.carried) > SMALL_TALK or bool(self.troubles())
            since = time.monotonic() if changed else self._still.since
            self._still = Still(now, carried, since)
        # What is on a long cable is counted at neither end.
        longest = 2 * max(link.delay for link in self.links.values())
        return self._still.looked < self._still.since + STILL_FOR + longest

    def troubles(self) -> list[str]:
        """What is wrong with it just now, a line for each node."""
        told, on = [], self.numbers()
        for node, link in self.links.items():
            if node not in on:
                told.append(f"{node} is off")
            elif not link.plugged:
                told.append(f"{node}'s cable is out")
            elif link != self.asked:
                told.append(f"{node}'s cable is not what it was: {describe(link)}")
        return told

    def mend(self, node: str) -> None:
        """The node is on again, and its cable what it was when the box went up."""
        self.links[self.known(node)] = self.asked
        if node not in self.numbers():
            self.power_on(node)
        self.apply_link(node)
        self.save()

    def save(self) -> None:
        """For `find`."""
        state = {f.name: getattr(self, f.name) for f in fields(self) if f.name[0] != "_"}
        state |= {"folder": str(self.folder), "asked": asdict(self.asked)}
        state |= {"links": {node: asdict(link) for node, link in self.links.items()}}
        write_whole(self.folder / "state.json", json.dumps(state, indent=1))


def can_delay(root: bool) -> bool:
    """Whether this kernel's own switch can delay and lose packets."""
    probe = "ip link set lo up; tc qdisc add dev lo root netem delay 1ms"
    words = ["unshare", *_user(root), "--net", "sh", "-c", probe]
    path = os.environ | {"PATH": plan.search_path()}
    return subprocess.run(words, capture_output=True, env=path).returncode == 0


def _user(root: bool) -> list[str]:
    return [] if root else ["--user", "--map-root-user"]
