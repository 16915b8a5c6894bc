"""The usual mistakes of unit 20, and words of the message that must name each."""

import numpy as np

from ddl_class.notebook import among_nodes
from ddl_teach.theory import many_nodes as theory
from ddl_teach.theory.many_nodes import Link


def pairs_by(middle, pings, near, subtract=True, gap=True):
    """Latency and time a byte by any kind of middle of the times that `near` chooses."""
    sizes = sorted({ping[2] for ping in pings})
    quick, slow = (
        middle([seconds for a, b, n, seconds in pings if n == size and near(a, b)])
        for size in sizes
    )
    per_byte = (slow - quick * subtract) / (sizes[1] - sizes[0])
    return quick, per_byte if gap else 1 / per_byte


def levels(node_of, pings, middle=np.median, swapped=False, **how):
    both = [
        pairs_by(middle, pings, lambda a, b, far=far: (node_of[a] != node_of[b]) == far, **how)
        for far in (swapped, not swapped)
    ]
    return tuple(both)


def one_level(node_of, pings):
    return (pairs_by(np.median, pings, lambda a, b: True),) * 2


def forgets_to_return(*_):
    """Works in vain."""


def right_step(nodes, each, nbytes, work, inside, between):
    return theory.step(nodes, each, nbytes, work, Link(*inside), Link(*between))


def step(wrong):
    """A step of which one part is another one: `wrong(right, work, case)`."""

    def function(nodes, each, nbytes, work, inside, between):
        right = right_step(nodes, each, nbytes, work, inside, between)
        return wrong(right, work, (nodes, each, nbytes, Link(*inside), Link(*between)))

    return function


def in_step(right, work, case):
    nodes, each, nbytes, inside, between = case
    link = between if nodes > 1 else inside
    hop = link.latency + nbytes / (nodes * each) * link.per_byte
    return work + 2 * (nodes * each - 1) * hop, right[1]


def hops_of(case):
    nodes, each, nbytes, inside, between = case
    chunk = nbytes / (nodes * each)
    near, far = (link.latency + chunk * link.per_byte for link in (inside, between))
    return 2 * (nodes * each - 1), (far + (each - 1) * near) / each, chunk * between.per_byte


def only_hops(right, work, case):
    hops, mean, _ = hops_of(case)
    return work + hops * mean, right[1]


def only_cables(right, work, case):
    hops, _, cable = hops_of(case)
    return work + hops * cable, right[1]


def one_node_is_no_case(right, work, case):
    hops, mean, cable = hops_of(case)
    return work + hops * max(mean, cable), right[1]


def leaders_only(right, work, case):
    nodes, _, nbytes, _, between = case
    return right[0], work + 2 * (nodes - 1) * (between.latency + nbytes / nodes * between.per_byte)


def one_way_inside(right, work, case):
    _, ring = leaders_only(right, work, case)
    return right[0], (ring + right[1]) / 2


def alone_collects(right, work, case):
    _, each, *_, inside, _ = case
    return right[0], right[1] + (2 * inside.latency if each == 1 else 0.0)


def to_all_at_once(comm, x, ranks):
    """Does not look whether it is in the list."""
    place = ranks.index(comm.rank)
    among_nodes.ring(comm, x, ranks)
    return place


def as_in_unit_06(comm, x, ranks):
    among_nodes.ring(comm, x, list(range(comm.size)))


def among_the_listed_in_their_order(comm, x, ranks):
    among_nodes.ring(comm, x, sorted(ranks))


def everybody_in_one_ring(comm, x, node_of):
    among_nodes.ring(comm, x, list(range(comm.size)))


def each_node_for_itself(comm, x, node_of):
    mates = [rank for rank, node in enumerate(node_of) if node == node_of[comm.rank]]
    among_nodes.ring(comm, x, mates)


def only_leaders_learn(comm, x, node_of):
    kept = x.copy()
    among_nodes.allreduce(comm, x, node_of)
    if node_of.index(node_of[comm.rank]) != comm.rank:
        x[...] = kept


def nobody_hands_back(comm, x, node_of):
    leader = node_of.index(node_of[comm.rank])
    if comm.rank != leader:
        comm.send(x, leader)
        comm.recv(x, leader)
        return
    arriving = np.empty_like(x)
    for rank, node in enumerate(node_of):
        if node == node_of[leader] and rank != leader:
            comm.recv(arriving, rank)
            x += arriving


def leaders_tell_everybody(comm, x, node_of):
    """Each leader sends its sum to all other leaders, whole."""
    leaders = [node_of.index(node) for node in dict.fromkeys(node_of)]
    each_node_for_itself(comm, x, node_of)
    if comm.rank in leaders:
        mine, arriving = x.copy(), np.empty_like(x)
        for other in leaders:
            if other != comm.rank:
                comm.sendrecv(mine, other, arriving, other)
                x += arriving
    mates = [rank for rank, node in enumerate(node_of) if node == node_of[comm.rank]]
    for mate in mates[1:]:
        if comm.rank == mates[0]:
            comm.send(x, mate)
        elif comm.rank == mate:
            comm.recv(x, mates[0])


def by_edges(edge):
    """All take the greatest or the least of everybody's newest."""

    def function(comm, whole, steps):
        newest = np.zeros(comm.size)
        newest[comm.rank] = max(whole, default=0)
        among_nodes.ring(comm, newest, list(range(comm.size)))
        return int(edge(newest))

    return function


def everybody_its_own(comm, whole, steps):
    return max(whole, default=0)


def the_oldest(comm, whole, steps):
    have = np.zeros(steps + 1)
    have[[0, *whole]] = 1
    among_nodes.ring(comm, have, list(range(comm.size)))
    return int(np.flatnonzero(have == comm.size)[0])


def only_who_has_some(comm, whole, steps):
    if not whole:
        return 0
    return among_nodes.agree(comm, whole, steps)


MISTAKES = [
    ("20.levels", lambda n, p: levels(n, p, middle=np.mean), "take the median"),
    ("20.levels", lambda n, p: levels(n, p, swapped=True), "These two are exchanged"),
    ("20.levels", one_level, "Both levels have the same numbers"),
    ("20.levels", lambda n, p: levels(n, p, subtract=False), "subtract it before you divide"),
    ("20.levels", lambda n, p: levels(n, p, gap=False), "asked for are seconds a byte"),
    ("20.levels", forgets_to_return, "Is a `return` missing?"),
    ("20.ring", to_all_at_once, "rank that is not in the list must do nothing"),
    ("20.ring", as_in_unit_06, "is not in the list, so it sends nothing"),
    ("20.ring", among_the_listed_in_their_order, "its right neighbour in the list is"),
    ("20.exchange", everybody_in_one_ring, "Let only one rank of each node enter the ring"),
    ("20.exchange", each_node_for_itself, "Each node has its own sum only"),
    ("20.exchange", only_leaders_learn, "Only the leaders have the sum"),
    ("20.exchange", nobody_hands_back, "receives once from it"),
    ("20.exchange", leaders_tell_everybody, "bytes went from node to node"),
    ("20.step", step(lambda right, work, case: right[::-1]), "The two times are exchanged"),
    ("20.step", step(lambda right, work, case: (right[0] - work, right[1] - work)), "add it"),
    ("20.step", step(in_step), "A ring is no march in step"),
    ("20.step", step(only_hops), "lets one chunk pass every c G'"),
    ("20.step", step(only_cables), "its hops take time as well"),
    ("20.step", step(one_node_is_no_case), "With one node all messages stay inside it"),
    ("20.step", step(leaders_only), "the sum goes back to them"),
    ("20.step", step(one_way_inside), "two ways, in and out again"),
    ("20.step", step(alone_collects), "has nobody to collect from"),
    ("20.agree", by_edges(min), "the least of the newest is not enough"),
    ("20.agree", by_edges(max), "only some have a checkpoint of that step"),
    ("20.agree", everybody_its_own, "each takes another one"),
    ("20.agree", the_oldest, "there is a newer one"),
    ("20.agree", only_who_has_some, "All ranks must call the exchange"),
    ("20.agree", forgets_to_return, "Is a `return` missing?"),
]
