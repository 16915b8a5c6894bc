"""Patterns of messages on a topology, and how long they take there."""

import random

from ddl_runtime.topologies.max_min_flows import Flows


def name(topology):
    shape = [str(value) for value in vars(topology).values()]
    return f"{type(topology).__name__} {' '.join(shape[7:10])}"


def pairs(topology, most=400):
    """All pairs of ranks, or many of them."""
    ranks = range(topology.most_ranks)
    every = [(source, dest) for source in ranks for dest in ranks]
    return every if len(every) <= most else random.Random(0).sample(every, most)


def times(topology, messages):
    """When each of the messages (source, dest, bytes), all sent at time 0, has arrived."""
    flows = Flows(topology.capacities())
    for source, dest, nbytes in messages:
        flows.start((source, dest), topology.path(source, dest), nbytes, 0.0)
    arrived = {}
    while (due := flows.next_time()) is not None:
        for source, dest in flows.advance(due):
            arrived[source, dest] = due + topology.latency(source, dest)
    return arrived


def shift(ranks, by, nbytes=1.0):
    """Each rank sends to the one that many further on."""
    return [(rank, (rank + by) % ranks, nbytes) for rank in range(ranks)]


def slowdown(topology, messages):
    """How much longer these messages take, together, than one alone."""
    alone = messages[0][2] / topology.bandwidth
    return (max(times(topology, messages).values()) - topology.base_latency) / alone
