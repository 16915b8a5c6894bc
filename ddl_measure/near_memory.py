"""What it costs to be bound to the wrong part of a node: copies from near and from far memory.

Linux gives a page the memory that is near the core which writes it first. So bytes that one part's
core has written are copied by a core of each part. What to look at: near over far; with one part
there is no far.
"""

import os
from pathlib import Path

import numpy as np

from ddl_measure.repetitions import side_by_side

SYS = Path("/sys/devices/system/node")


def parts_of_node(folder: Path = SYS) -> list[set[int]]:
    """The cores of each part of this node that this process may use, of parts that have some."""
    if not hasattr(os, "sched_getaffinity"):
        return []  # a system that binds no process
    mine = os.sched_getaffinity(0)
    lists = [path.read_text() for path in sorted(folder.glob("node[0-9]*/cpulist"))]
    parts = [mine & _cores(text) for text in lists]
    return [part for part in parts if part]


def copy_rates(
    parts: list[set[int]], nbytes: int = 1 << 27, repetitions: int = 7
) -> dict[tuple[int, int], float]:
    """Bytes a second by (part of the core, part of the memory), medians."""
    if not parts:
        return {}
    before, rates = os.sched_getaffinity(0), {}
    try:
        for at, memory in enumerate(parts):
            os.sched_setaffinity(0, memory)
            source, target = np.ones(nbytes, np.uint8), np.ones(nbytes, np.uint8)
            for by, cores in enumerate(parts):
                os.sched_setaffinity(0, cores)
                copies = {"copy": lambda t=target, s=source: np.copyto(t, s)}
                seconds = side_by_side(copies, repetitions=repetitions)["copy"]
                rates[by, at] = nbytes / float(np.median(seconds))
    finally:
        os.sched_setaffinity(0, before)
    return rates


def _cores(text: str) -> set[int]:
    """The numbers in a list such as 0-3,8."""
    cores: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        cores.update(range(int(first), int(last or first) + 1) if first else ())
    return cores
