"""The usual mistakes of unit 20, and words of the message that must name each."""

import numpy as np

from ddl_class.notebook import among_nodes
from ddl_runtime.core.arrays import split_evenly
from ddl_teach.theory import many_nodes as theory


def crossings(node_of, order):
    """For each rank in the ring, whether the hop to it comes from another node."""
    return [node_of[rank] != node_of[order[place - 1]] for place, rank in enumerate(order)]


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


def step(wrong):
    """A step of which one part is another one: `wrong(right, work, case)`."""

    def function(cluster, nbytes, work):
        sizes = cluster.nodes, cluster.ranks_per_node, cluster.cards, nbytes
        case = *sizes, cluster.inside, cluster.between
        return wrong(theory.step(cluster, nbytes, work), work, case)

    return function


def in_step(right, work, case):
    nodes, each, _, nbytes, inside, between = case
    link = between if nodes > 1 else inside
    hop = link.latency + nbytes / (nodes * each) * link.per_byte
    return work + 2 * (nodes * each - 1) * hop, right[1]


def hops_of(case):
    nodes, each, _, nbytes, inside, between = case
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


def parts_of(case, vector=None, share=None):
    """The two parts of an exchange: inside a node, and across."""
    nodes, each, cards, nbytes, inside, between = case
    within = 2 * (each - 1) * (inside.latency + (vector or nbytes / each) * inside.per_byte)
    hop = between.latency + nbytes / (nodes * (share or cards)) * between.per_byte
    return within, 2 * (nodes - 1) * hop


def only_across(right, work, case):
    return right[0], work + parts_of(case)[1]


def one_way_inside(right, work, case):
    return right[0], right[1] - parts_of(case)[0] / 2


def whole_vectors_inside(right, work, case):
    return right[0], work + sum(parts_of(case, vector=case[3]))


def one_card(right, work, case):
    return right[0], work + sum(parts_of(case, share=1))


def a_card_for_each(right, work, case):
    return right[0], work + sum(parts_of(case, share=case[1]))


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
    among_nodes.ring(comm, x, among_nodes.mates_and_peers(comm.rank, node_of)[0])


def only_peers_meet(comm, x, node_of):
    among_nodes.ring(comm, x, among_nodes.mates_and_peers(comm.rank, node_of)[1])


def nobody_gathers(comm, x, node_of):
    mates, peers = among_nodes.mates_and_peers(comm.rank, node_of)
    parts, place = split_evenly(x, len(mates)), mates.index(comm.rank)
    arriving = np.empty_like(parts[place])
    for away in range(1, len(mates)):
        to, source = (place + away) % len(mates), place - away
        comm.sendrecv(parts[to], mates[to], arriving, mates[source])
        parts[place] += arriving
    among_nodes.ring(comm, parts[place], peers)


def by_leaders(comm, x, node_of):
    mates, _ = among_nodes.mates_and_peers(comm.rank, node_of)
    if comm.rank != mates[0]:
        comm.send(x, mates[0])
        comm.recv(x, mates[0])
        return
    arriving = np.empty_like(x)
    for mate in mates[1:]:
        comm.recv(arriving, mate)
        x += arriving
    among_nodes.ring(comm, x, [node_of.index(node) for node in dict.fromkeys(node_of)])
    for mate in mates[1:]:
        comm.send(x, mate)


def whole_vectors_to_mates(comm, x, node_of):
    mates, peers = among_nodes.mates_and_peers(comm.rank, node_of)
    place, mine, arriving = mates.index(comm.rank), x.copy(), np.empty_like(x)
    for away in range(1, len(mates)):
        to, source = mates[(place + away) % len(mates)], mates[place - away]
        comm.sendrecv(mine, to, arriving, source)
        x += arriving
    parts = split_evenly(x, len(mates))
    among_nodes.ring(comm, parts[place], peers)
    for away in range(1, len(mates)):
        to, source = mates[(place + away) % len(mates)], place - away
        comm.sendrecv(parts[place], to, parts[source], mates[source])


def whole_vectors_across(comm, x, node_of):
    """Each rank of a node has the sum of the node, and sends all of it."""
    each_node_for_itself(comm, x, node_of)
    only_peers_meet(comm, x, node_of)


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
    ("20.crossings", lambda *given: crossings(*given)[1:], "return the number of hops"),
    ("20.crossings", lambda *given: sum(crossings(*given)[1:]), "a ring is closed"),
    ("20.crossings", lambda node_of, order: 0, "compared with itself"),
    ("20.crossings", lambda node_of, order: len(order), "These are all hops"),
    ("20.levels", lambda n, p: levels(n, p, middle=np.mean), "take the median"),
    ("20.levels", lambda n, p: levels(n, p, swapped=True), "These two are exchanged"),
    ("20.levels", one_level, "Both levels have the same numbers"),
    ("20.levels", lambda n, p: levels(n, p, subtract=False), "subtract it before you divide"),
    ("20.levels", lambda n, p: levels(n, p, gap=False), "asked for are seconds a byte"),
    ("20.levels", forgets_to_return, "Is a `return` missing?"),
    ("20.ring", to_all_at_once, "rank that is not in the list must do nothing"),
    ("20.ring", as_in_unit_06, "is not in the list, so it sends nothing"),
    ("20.ring", among_the_listed_in_their_order, "its right neighbour in the list is"),
    ("20.exchange", everybody_in_one_ring, "bytes went from node to node"),
    ("20.exchange", each_node_for_itself, "Each node has its own sum only"),
    ("20.exchange", only_peers_meet, "mates must sum their parts"),
    ("20.exchange", nobody_gathers, "give your part to each mate"),
    ("20.exchange", by_leaders, "its share is"),
    ("20.exchange", whole_vectors_to_mates, "Send each mate one part"),
    ("20.exchange", whole_vectors_across, "whole vectors never"),
    ("20.step", step(lambda right, work, case: right[::-1]), "The two times are exchanged"),
    ("20.step", step(lambda right, work, case: (right[0] - work, right[1] - work)), "add it"),
    ("20.step", step(in_step), "do not all take as long as the slowest"),
    ("20.step", step(only_hops), "lets one chunk pass every c G'"),
    ("20.step", step(only_cables), "hops take time as well"),
    ("20.step", step(one_node_is_no_case), "With one node all messages stay inside it"),
    ("20.step", step(only_across), "at the end given to all its ranks"),
    ("20.step", step(one_way_inside), "Inside a node there are two phases"),
    ("20.step", step(whole_vectors_inside), "no whole vectors"),
    ("20.step", step(one_card), "All C cards of a node send"),
    ("20.step", step(a_card_for_each), "share its C cards"),
    ("20.agree", by_edges(min), "the least of the newest is not enough"),
    ("20.agree", by_edges(max), "only some have a checkpoint of that step"),
    ("20.agree", everybody_its_own, "each takes another one"),
    ("20.agree", the_oldest, "there is a newer one"),
    ("20.agree", only_who_has_some, "All ranks must call the exchange"),
    ("20.agree", forgets_to_return, "Is a `return` missing?"),
]
