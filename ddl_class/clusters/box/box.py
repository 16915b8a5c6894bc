"""A cluster in a box: nodes with names, addresses and shaped links, on one machine.

Each node has its own host name, address, network card, /tmp, /run, /dev/shm and process table. A
cable connects it to a switch, as it does the *head*, from which jobs are started. As an ordinary
user too: one is root in namespaces of one's own, and nobody outside. Nothing in the box can be
reached from outside by network, and it reaches nobody: its network has no way out.

    with Box.up(nodes=4, rate="100mbit") as box:
        run = launch(program, ranks=4, on=box)
        print(box.counters()["node0"].sent_bytes, run.ledger[0].bytes_sent)
"""

import contextlib
import fcntl
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from textwrap import shorten
from typing import Any, Self

from ddl_class.clusters.box import head, links, plan, slurm
from ddl_class.clusters.box.links import Cable, Counters, describe
from ddl_class.clusters.box.nodes import Nodes
from ddl_class.clusters.box.plan import Change, as_root, can_delay, check_system, refusal
from ddl_class.commands.mistake import Mistake
from ddl_runtime.launcher.mpiexec import STARTED_FOR
from ddl_runtime.records.whole_file import write_whole

MOST_NODES = 64
LOOK_EVERY, STILL_FOR = 0.25, 1.5  # seconds
SMALL_TALK = 2000  # bytes: what mpiexec's helpers tell each other now and then


@dataclass
class Box(contextlib.AbstractContextManager["Box"]):
    """A box that is up."""

    hosts: Nodes  # its nodes and their head, for whoever wants something done there
    switch: str  # "kernel" or "user"
    asked: Cable  # what the cables were when the box went up ...
    links: dict[str, Cable]  # ... and are now, as far as this process has looked
    owner: str  # the checkout of the course that made it
    changes: dict[str, Change] = field(default_factory=dict)  # by node: what was done to it last
    _keeper: subprocess.Popen | None = field(default=None, repr=False)
    # When the cables were looked at, what they had carried, since when they carry nothing.
    _looked: float = field(default=0.0, repr=False)
    _carried: int = field(default=0, repr=False)
    _still_since: float = field(default=0.0, repr=False)

    @property
    def folder(self) -> Path:
        """Seen at the same path by all nodes."""
        return self.hosts.folder

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.hosts.nodes

    @property
    def python(self) -> str:
        """This Python, as every node sees it."""
        return plan.seen_there(sys.executable)

    @property
    def listens_at(self) -> None:
        """Its nodes are of this machine's kernel: they reach a socket in the folder."""

    start_limit = 60.0  # seconds

    def passing_on(self, names: list[str], family: str) -> list[str]:
        """Nothing: MPI's helpers on the nodes are started from here, with all variables."""
        return []

    def mpi_words(self, ranks: int, mpiexec: str, family: str) -> list[str]:
        """For `launch(..., on=box)`: the words before `python` that start `ranks` ranks."""
        words = plan.mpi_words(mpiexec, family, self.nodes, ranks)
        return self.hosts.words("head", words)

    def end(self, folder: Path) -> None:
        """End whatever runs with this path in its environment, as STARTED_FOR."""
        import psutil

        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get(STARTED_FOR) == str(folder):
                    process.kill()

    @classmethod
    def up(
        cls, nodes: int = 4, rate: str = "100mbit", delay: str = "0ms", *, name: str = plan.USUAL,
        switch: str = "auto", share: Sequence[str] = (), stay: bool = False,
        with_slurm: bool = False,
    ) -> Self:  # fmt: skip
        """Make a box. A message from node to node is `delay` under way.

        It goes when it is told to or when this process ends, however that ends; if it shall
        `stay`, only when told to. The folders of Python, of the course, the current one and those
        to `share` are seen by all nodes, also where they lie in /tmp.
        """
        import psutil

        check_system()
        if not 1 <= nodes <= MOST_NODES:
            raise Mistake(f"a box of {nodes} nodes: it can have 1 to {MOST_NODES}")
        if switch not in ("auto", "kernel", "user"):
            raise Mistake(f"there is no switch {switch!r}: auto, kernel, user")
        link = Cable(links.read_rate(rate), links.read_delay(delay) / 2)
        if cls.seen(name) is not None:
            raise Mistake(f"The box '{name}' is up already: ddl-teach box down --name {name}")
        over = slurm.over_usr() if with_slurm else None
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
                    *("unshare", *as_root(root), *head.WORLD),
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
        hosts = Nodes(folder, names, root, process.pid, process.create_time(), inside)
        cables = dict.fromkeys(names, link)
        box = cls(hosts, switch, link, cables, str(plan.PACKAGE), _keeper=keeper)
        try:
            for node in names:
                box.apply(node)
            if with_slurm:
                slurm.start(hosts, ["head", *names])
            if stay:
                keeper.stdin.write(b"stay\n")
                keeper.stdin.flush()
        except BaseException:
            box.down()
            raise
        box.save()
        return box

    @classmethod
    def seen(cls, name: str = plan.USUAL) -> Self | None:
        """This checkout's box of that name, if it is up."""
        plan.check_ours(folder := plan.path_of(name))
        if (state := plan.read_state(folder)) is None:
            return None
        hosts = Nodes(**{each.name: state.pop(each.name) for each in fields(Nodes)})
        return cls(hosts, **state) if hosts.alive else None

    @classmethod
    def find(cls, name: str = plan.USUAL) -> Self:
        if (box := cls.seen(name)) is None:
            there = "".join(
                f"\nThe course in {course} has one of that name, whose nodes run that code."
                for course in plan.others(name)
            )
            raise Mistake(
                f"There is no box '{name}' of the course in {plan.PACKAGE}. "
                f"Make one: ddl-teach box up --name {name}{there}"
            )
        return box

    def down(self) -> None:
        """End it: every process, mount and cable of it, and its folder."""
        import psutil

        if self.hosts.alive:
            process = psutil.Process(self.hosts.head)
            process.kill()  # the kernel ends all others before this one is gone
            psutil.wait_procs([process], timeout=30)
        if self._keeper is not None:
            self._keeper.stdin.close()
            self._keeper.stdout.close()
            self._keeper.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __exit__(self, *_: object) -> None:
        self.down()

    def set_link(self, node: str, **changes: Any) -> None:
        """Make a node's cable another one: rate, delay, loss, plugged."""
        with self._changing(node, "cable"):
            link = replace(self.links[node], **changes)
            bad = link.delay or link.loss
            if bad and self.switch == "kernel" and not can_delay(self.hosts.root):
                raise Mistake(
                    "This kernel cannot delay or lose packets (`netem` is missing). A box with "
                    "a switch of its own can: ddl-teach box down; ddl-teach box up --switch user"
                )
            self.links[node] = link
            self.apply(node)

    def power_off(self, node: str) -> None:
        """End every process of a node, and its memory with them."""
        with self._changing(node, "power"):
            self.hosts.power_off(node)

    def apply(self, node: str) -> None:
        link, port = self.links[node], f"p-{node}"
        if self.switch == "user":
            head.ask_switch(str(self.folder / "switch"), {"port": node} | asdict(link))
            return
        for host, device in (("head", port), (node, "eth0")):
            # Refused where it is done: by then the device has its shaper.
            shaper = f"tc qdisc add dev {device} root handle 1: htb default 1"
            self.hosts.run(host, shaper.split(), capture_output=True)
            self.hosts.ask(host, ["tc", "-batch", "-"], "\n".join(links.shape(device, link)))
        self.hosts.ask("head", ["ip", "link", "set", port, "up" if link.plugged else "down"])

    def counters(self) -> Mapping[str, Counters]:
        """What the network card of each node that is on has counted."""
        on = self.hosts.numbers()
        files = [f"/proc/{number}/net/dev" for number in on.values()]
        cards = links.read_counters(self.hosts.ask("head", ["cat", "/dev/null", *files]))
        return dict(zip(on, cards, strict=True))

    def moving(self, sent: int = 0) -> bool:
        """Whether messages may be under way: cables carry something, or did a moment ago."""
        now = time.monotonic()
        if now > self._looked + LOOK_EVERY:
            try:
                carried = sum(card.sent_bytes for card in self.counters().values())
            except Mistake:  # a node, or the whole box, went off in this moment
                return True
            if abs(carried - self._carried) > SMALL_TALK or self.troubles():
                self._still_since = time.monotonic()
            self._looked, self._carried = now, carried
        # What is on a long cable is counted at neither end.
        longest = max(link.delay for link in self.links.values())
        return self._looked < self._still_since + STILL_FOR + 2 * longest

    def troubles(self) -> list[str]:
        """What is wrong with it just now, a line for each node, however it came about."""
        try:
            on = self.hosts.numbers()
        except Mistake:
            if self.hosts.alive:
                raise
            return [f"the box '{self.folder.name}' is gone"]
        self._look()
        wrong = []
        for node, link in self.links.items():
            if node not in on:
                wrong.append(f"{node} is off")
            elif not link.plugged:
                wrong.append(f"{node}'s cable is out")
            elif link != self.asked:
                wrong.append(f"{node}'s cable is not what it was: {describe(link)}")
            else:
                continue
            change = self.changes.get(node)
            if change and change.what == ("power" if node not in on else "cable"):
                wrong[-1] += f", {change}"
        return wrong

    @property
    def cut_cable(self) -> str | None:
        """The node whose cable is out, the first one of several."""
        self._look()
        return next((node for node, link in self.links.items() if not link.plugged), None)

    @property
    def cure(self) -> str:
        """The command that mends all troubles."""
        verb, name = "mend" if self.hosts.alive else "up", self.folder.name
        return f"ddl-teach box {verb}" + (f" --name {name}" if name != plan.USUAL else "")

    def mend(self, node: str) -> None:
        """The node is on again, and its cable what it was when the box went up."""
        with self._changing(node):
            self.links[node] = self.asked
            if node not in self.hosts.numbers():
                self.hosts.power_on(node)
                if (self.folder / plan.SLURM_CONF).exists():
                    slurm.start(self.hosts, [node])
            self.apply(node)

    @contextlib.contextmanager
    def _changing(self, node: str, what: str = "") -> Iterator[None]:
        """`with` this, no other process changes anything; afterwards all know what was done."""
        self.hosts.known(node)
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._look()
            yield
            self.changes.pop(node, None)
            if what:
                command = shorten(shlex.join(sys.argv), 60)
                self.changes[node] = Change(what, time.time(), os.getpid(), command)
            self.save()

    def _look(self) -> None:
        """Read what has become of the cables: other processes change them, too."""
        if (state := plan.read_state(self.folder)) is not None:
            self.links, self.changes = state["links"], state["changes"]

    def save(self) -> None:
        """For `find`, and for every process that has found it."""
        state = asdict(self.hosts) | {"folder": str(self.folder), "switch": self.switch}
        state |= {"owner": self.owner, "asked": self.asked, "links": self.links}
        state |= {"changes": self.changes}
        write_whole(self.folder / "state.json", json.dumps(state, indent=1, default=asdict))
