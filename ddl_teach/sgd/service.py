"""What a WHEN asks of a server: plain settings, one for all servers.

A server keeps weights (or a part of them) and counts its workers' clocks: how many updates each
has pushed. One number tells most WHENs apart, by how many clocks the fastest may be ahead:

    bound = 0         synchronous: the updates of one clock are averaged and applied once
    bound = s         stale-synchronous: each update counts at once; who is s ahead waits
    bound = infinity  asynchronous: nobody ever waits

With `backups` = b the last b updates of a clock are not waited for and dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ddl_teach.networks.memory.updates import Update


@dataclass(frozen=True)
class Service:
    """`rule` on the server's weights; None: the servers only average what they are sent.

    `damp(staleness)` is a factor for an update that so many others have overtaken.
    """

    rule: Update | None = None
    bound: float = 0
    backups: int = 0
    damp: Callable[[int], float] | None = None
