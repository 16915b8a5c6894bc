"""The ground of a race: how many nodes, how many ranks on each, and what lies between them.

Who has the same processor and another network has another race. The nodes are counted and the
slowest cable is measured before the first training, so an entry says it without being asked.
What to look at: on one node ranks talk through memory, and nothing is said of cables.
"""

from collections import Counter

from ddl_measure.cables import cables
from ddl_measure.near_and_far import nodes_of
from ddl_teach.comm import Comm

NODES, NETWORK = "nodes", "network"  # what a machine's description has besides
SAME = 1.5  # networks apart by less than this factor are one network, measured twice


def ground(comm: Comm) -> dict[str, str]:
    """In words, on every rank."""
    ranks = sorted(Counter(nodes_of(comm)).values())
    if len(ranks) == 1:
        return {NODES: "1"}
    told = f"{len(ranks)}, ranks on each: {', '.join(map(str, ranks))}"
    found = cables(comm)
    rate = f"{8e-6 / found.slowest:.3g} Mbit/s at the slowest"
    return {NODES: told, NETWORK: f"{rate}, latency {found.latency * 1e6:.2g} us, measured"}


def same_network(one: str | None, other: str | None) -> bool:
    """Whether two descriptions are of cables that are about as fast."""
    if one is None or other is None:
        return one == other
    try:
        rates = sorted(float(told.partition(" ")[0]) for told in (one, other))
    except ValueError:
        return False
    return rates[1] < SAME * rates[0]
