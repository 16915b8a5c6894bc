"""The cables of a box at work: having them do what they should, and seeing whether they carry."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from ddl_class.clusters.box import head, links
from ddl_class.clusters.box.nodes import Nodes
from ddl_class.commands.mistake import Mistake

LOOK_EVERY, STILL_FOR = 0.25, 1.5  # seconds
SMALL_TALK = 2000  # bytes: what mpiexec's helpers tell each other now and then


def apply(hosts: Nodes, switch: str, node: str, link: links.Cable) -> None:
    """Have a node's cable do what it should."""
    port = f"p-{node}"
    if switch == "user":
        head.ask_switch(str(hosts.folder / "switch"), {"port": node} | asdict(link))
        return
    for host, device in (("head", port), (node, "eth0")):
        # Refused where it is done: by then the device has its shaper.
        hosts.run(host, ["tc", *links.shaper(device).split()], capture_output=True)
        hosts.ask(host, ["tc", "-batch", "-"], "\n".join(links.shape(device, link)))
    hosts.ask("head", ["ip", "link", "set", port, "up" if link.plugged else "down"])


@dataclass
class Quiet:
    """When the cables were looked at, what they had carried, since when they carry nothing."""

    looked: float = 0.0
    carried: int = 0
    since: float = 0.0

    def moving(
        self,
        counters: Callable[[], Mapping[str, links.Counters]],
        troubles: Callable[[], list[str]],
        longest: float,
    ) -> bool:
        """Whether messages may be under way; `longest` is the delay of the longest cable."""
        now = time.monotonic()
        if now > self.looked + LOOK_EVERY:
            try:
                carried = sum(card.sent_bytes for card in counters().values())
            except Mistake:  # a node, or the whole box, went off in this moment
                return True
            if abs(carried - self.carried) > SMALL_TALK or troubles():
                self.since = time.monotonic()
            self.looked, self.carried = now, carried
        # What is on a long cable is counted at neither end.
        return self.looked < self.since + STILL_FOR + 2 * longest
