"""Unit 20's rank programs, where a learner's own are missing: a ring, an exchange, an agreement.

No group is formed: the ranks that take part are a list, as the learner has it. An all-reduce of n
bytes by parts sends 2 (N-1) n bytes from node to node, whatever the number of ranks. Below them
is what the notebook measures and simulates.
What to look at: `measure.traffic.between_nodes` of a run.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from ddl_class.notebook import gloo
from ddl_class.notebook.timing import stopwatch
from ddl_measure.ping_pong import ping_pong
from ddl_runtime.core.arrays import split_evenly
from ddl_runtime.topologies.point_to_point import TwoLevel
from ddl_teach import Comm, Run, simulate
from ddl_teach.collectives import native
from ddl_teach.theory.machine import Cluster
from ddl_teach.training.tasks.digits import Digits

SHORT, LONG = 8, 2**18  # bytes of pings
SMALL = 2**13  # bytes that stand for many
LARGE = Digits(batch=64, hidden=800)
STEP_BYTES = LARGE.layers[-1] * 4


def ring(comm: Comm, x: np.ndarray, ranks: Sequence[int]) -> None:
    """Sum `x` over the `ranks`, in place, in the order of that list; others return at once."""
    if comm.rank not in ranks:
        return
    size, place = len(ranks), ranks.index(comm.rank)
    right, left = ranks[(place + 1) % size], ranks[place - 1]
    chunks, arriving = (split_evenly(each, size) for each in (x, np.empty_like(x)))
    for step in range(2 * (size - 1)):
        outgoing, incoming = (place - step - 1) % size, (place - step - 2) % size
        if step < size - 1:
            comm.sendrecv(chunks[outgoing], right, arriving[incoming], left)
            chunks[incoming] += arriving[incoming]
        else:
            comm.sendrecv(chunks[outgoing], right, chunks[incoming], left)


def allreduce(comm: Comm, x: np.ndarray, node_of: Sequence[int]) -> None:
    """Sum `x` over all ranks, in place: inside each node, then across the nodes, then inside
    again. All nodes must have equally many ranks."""
    mates, peers = mates_and_peers(comm.rank, node_of)
    size, place = len(mates), mates.index(comm.rank)
    parts = split_evenly(x, size)
    mine, arriving = parts[place], np.empty_like(parts[place])
    for away in range(1, size):
        to, source = (place + away) % size, (place - away) % size
        comm.sendrecv(parts[to], mates[to], arriving, mates[source])
        mine += arriving
    ring(comm, mine, peers)
    for away in range(1, size):
        to, source = (place + away) % size, (place - away) % size
        comm.sendrecv(mine, mates[to], parts[source], mates[source])


def mates_and_peers(rank: int, node_of: Sequence[int]) -> tuple[list[int], list[int]]:
    """The ranks of this rank's node; and those that have its place on their nodes."""
    places = [list(node_of[:number]).count(node) for number, node in enumerate(node_of)]
    mates = [number for number, node in enumerate(node_of) if node == node_of[rank]]
    return mates, [number for number, place in enumerate(places) if place == places[rank]]


def agree(comm: Comm, whole: Sequence[int], steps: int) -> int:
    """The newest of `steps` steps of which every rank has a whole checkpoint; 0 if none is."""
    have = np.zeros(steps + 1)
    have[[0, *whole]] = 1
    ring(comm, have, range(comm.size))
    return int(np.flatnonzero(have == comm.size)[-1])


# -- what the notebook measures and simulates ------------------------------------------------


def pings(run: Callable[..., Run], node_of: Sequence[int]) -> list[tuple[int, int, int, float]]:
    """`(a, b, nbytes, seconds)`, short and long, of pairs inside nodes and between them."""
    first, *others = dict.fromkeys(node_of)
    here = [rank for rank, node in enumerate(node_of) if node == first][:2]
    there = [node_of.index(node) for node in others[:2]]
    pairs = [(a, b) for a in here for b in there] + [tuple(here)] * (len(here) == 2)
    # The others return at once and do not disturb these two.
    played = [run(_ping, a=a, b=b, trace=False, strict=False).results[a] for a, b in pairs]
    return [ping for of_rank in played for ping in of_rank]


def _ping(comm: Comm, a: int, b: int, turns: int = 9) -> list[tuple[int, int, int, float]]:
    pair = comm.split(0 if comm.rank in (a, b) else None)
    if pair is None:
        return []
    sizes = [SHORT] * turns + [LONG] * turns
    return [(a, b, nbytes, ping_pong(pair, nbytes, 1)) for nbytes in sizes]


def at_large(
    way: Callable[[Comm, np.ndarray, list[int]], object],
    together: int,
    cluster: Cluster,
    nbytes: float,
) -> float:
    """Seconds of `way(comm, x, [rank // together ...])` on simulated nodes, each rank with a card.

    Only 8 kB travel, each byte slower by as much as `nbytes` is larger: all ranks fit into memory.
    """
    levels = cluster.inside, cluster.between
    inside, between = (link.shared(nbytes / SMALL).network for link in levels)

    def program(comm: Comm) -> None:
        way(comm, np.ones(SMALL // 8), [rank // together for rank in range(comm.size)])

    network = TwoLevel(cluster.ranks_per_node, inside, between)
    return simulate(program, cluster.ranks, network=network, trace=False).time


def simulated_times(
    ways: Sequence[Callable[[Comm, np.ndarray], object]], sizes: Sequence[int], cluster: Cluster
) -> np.ndarray:
    """The seconds of each way (rows) for each size (columns) on simulated nodes like the
    learner's, whose ranks share their cables."""

    def seconds(way: Callable, nbytes: int) -> float:
        def program(comm: Comm) -> None:
            way(comm, np.ones(nbytes // 8))

        return simulate(program, cluster.ranks, network=cluster.network, trace=False).time

    return np.array([[seconds(way, int(nbytes)) for nbytes in sizes] for way in ways])


def whole_step(
    run: Callable[..., Run], exchange: Callable[[Comm, np.ndarray], object], turns: int = 7
) -> tuple[float, float]:
    """Seconds of a step's work alone, and with the exchange, of the slowest rank; medians."""
    ways = [_work, partial(_work, exchange=exchange)]
    plainly = {"trace": False, "strict": False}
    took = run(stopwatch, sizes=[8], ways=ways, turns=turns, **plainly).results
    return tuple(np.median(np.max(took, axis=0), axis=0)[:, 0].tolist())


def _work(comm: Comm, x: np.ndarray, exchange: Callable[..., object] | None = None) -> None:
    weights = LARGE.initial()
    _, gradient = LARGE.gradient(weights, comm.rank, comm.size, 0)
    if exchange is not None:
        exchange(comm, gradient)


def in_production(
    comm: Comm, node_of: Sequence[int], ring: Callable, folder: Path, nbytes: int, turns: int = 5
) -> np.ndarray | None:
    """Times of `ring`, MPI, gloo and a backward pass of torch's DDP, one rank a node; by turn."""
    few = comm.split(0 if node_of.index(node_of[comm.rank]) == comm.rank else None)
    if few is None:
        return None
    import torch

    torch.set_num_threads(1)
    with gloo.meeting(few, folder) as few.attributes["gloo"]:
        numbers = torch.nn.Linear(nbytes // 1024 - 1, 256)
        network, backward = gloo.data_parallel(few, numbers)

        def pass_back(comm: Comm, x: np.ndarray) -> None:
            backward(network(torch.ones(1, numbers.in_features)).sum())

        def own(comm: Comm, x: np.ndarray) -> None:
            ring(comm, x, list(range(comm.size)))

        ways = [own, native.allreduce, gloo.allreduce, pass_back]
        return stopwatch(few, [nbytes], ways, turns)[:, :, 0]
