"""Between what the numbered links of a topology run, told apart from the routes over them."""

from functools import singledispatch

import numpy as np

from ddl_runtime.topologies.dragonfly import Dragonfly
from ddl_runtime.topologies.fat_tree import FatTree
from ddl_runtime.topologies.shared_links import SharedBus, Star
from ddl_runtime.topologies.torus import Torus


def link_loads(topology, messages):
    """The bytes on every link if all the messages (source, dest, bytes) are sent."""
    loads = np.zeros(len(topology.capacities()))
    for source, dest, nbytes in messages:
        for link in topology.path(source, dest):
            loads[link] += nbytes
    return loads


def link_ends(topology, link):
    """Where a link starts and where it ends."""
    ports, hosts = 2 * topology.most_ranks, 2 * topology.hosts
    if link < ports:
        rank, inward = divmod(link, 2)
        ends = f"rank {rank}", f"memory of host {topology.node(rank)}"
    elif link < ports + hosts:
        host, inward = divmod(link - ports, 2)
        ends = f"host {host}", switch(topology, host)
    else:
        return switch_link_ends(topology, link - ports - hosts)
    return ends[::-1] if inward else ends


@singledispatch
def switch(topology, host):
    """The name of the switch that a host hangs on."""


@singledispatch
def switch_link_ends(topology, link):
    """From which switch to which a link between switches runs."""


@singledispatch
def bisection_bandwidth(topology):
    """Bytes per second from one half of the hosts to the other, by the formula in its file."""


@switch.register
def _(topology: Star, host):
    return "switch"


@bisection_bandwidth.register
def _(topology: Star):
    return topology.hosts // 2 * topology.bandwidth


@switch.register
def _(topology: SharedBus, host):
    return "bus"


@switch_link_ends.register
def _(topology: SharedBus, link):
    return "bus", "bus"


@switch.register
def _(topology: FatTree, host):
    return f"leaf {host // topology.down}"


@switch_link_ends.register
def _(topology: FatTree, link):
    cable, falling = divmod(link, 2)
    if cable < topology.leaves * topology.up:
        leaf, middle = divmod(cable, topology.up)
        above = f"spine {middle}"
        if topology.levels == 3:
            above = f"middle {middle} of pod {leaf // topology.pod_leaves}"
        ends = f"leaf {leaf}", above
    else:
        middle, core = divmod(cable - topology.leaves * topology.up, topology.pod_leaves)
        pod, middle = divmod(middle, topology.up)
        ends = f"middle {middle} of pod {pod}", f"core {middle * topology.pod_leaves + core}"
    return ends[::-1] if falling else ends


@bisection_bandwidth.register
def _(topology: FatTree):
    return topology.hosts / 2 * topology.bandwidth / topology.oversubscription


def coordinates(torus, host):
    """Where in the grid a host stands."""
    return tuple(int(place) for place in np.unravel_index(host, torus.sizes))


@switch.register
def _(topology: Torus, host):
    return f"router {coordinates(topology, host)}"


@switch_link_ends.register
def _(topology: Torus, link):
    port, downwards = divmod(link, 2)
    host, dimension = divmod(port, len(topology.sizes))
    place = list(coordinates(topology, host))
    place[dimension] += -1 if downwards else 1
    place[dimension] %= topology.sizes[dimension]
    return switch(topology, host), f"router {tuple(place)}"


@bisection_bandwidth.register
def _(topology: Torus):
    largest = max(topology.sizes)
    return (2 if largest > 2 else 1) * topology.hosts // largest * topology.bandwidth


@switch.register
def _(topology: Dragonfly, host):
    return _router_name(*divmod(host // topology.hosts_per_router, topology.routers))


@switch_link_ends.register
def _(topology: Dragonfly, link):
    if link < topology.local_links:
        router, end = divmod(link, topology.routers - 1)
        group, start = divmod(router, topology.routers)
        return _router_name(group, start), _router_name(group, end + (end >= start))
    group, ahead = divmod(link - topology.local_links, topology.groups - 1)
    other = (group + 1 + ahead) % topology.groups
    cables = -(-(topology.groups - 1) // topology.routers)  # of a router that has the most
    return (
        _router_name(group, (other - group - 1) % topology.groups // cables),
        _router_name(other, (group - other - 1) % topology.groups // cables),
    )


@bisection_bandwidth.register
def _(topology: Dragonfly):
    half = topology.groups // 2
    return half * (topology.groups - half) * topology.bandwidth


def _router_name(group, router):
    return f"router {router} of group {group}"
