"""Our networks in SimGrid's language, link by link and route by route."""

from ddl_runtime.topologies.shared_links import Topology
from ddl_teach.comm import Uniform

# CM02 is SimGrid's plain fluid model. The other options take away what it would add for TCP, so
# that a message alone takes latency + bytes / bandwidth, and messages share links max-min fairly:
# no window that bounds the rate by the round-trip time (TCP-gamma), no acknowledgements on the way
# back (crosstraffic), no correction factors, no weight by round-trip time (weight-S). The last
# option is the step below which two virtual times count as the same.
MODEL = (
    "--cfg=network/model:CM02",
    "--cfg=network/TCP-gamma:0",
    "--cfg=network/crosstraffic:0",
    "--cfg=network/latency-factor:1",
    "--cfg=network/bandwidth-factor:1",
    "--cfg=network/weight-S:0",
    "--cfg=surf/precision:1e-12",
)

# Stacks as small as the patterns allow and no guard pages, or 65,536 actors would not fit.
SPEED = (
    "--cfg=contexts/stack-size:32",
    "--cfg=contexts/guard-size:0",
    "--log=root.thresh:error",
)

FRAME = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
{body}
</platform>
"""


def describe(network: Uniform | Topology, ranks: int) -> str:
    """The platform file for `ranks` hosts named rank-0, rank-1 and so on."""
    return FRAME.format(
        body=_star(network, ranks) if not network.shared else _links(network, ranks)
    )


def _star(network: Uniform, ranks: int) -> str:
    """Every host with a link up and a link down: our two ports. Each has half of the latency."""
    return (
        f'  <cluster id="star" prefix="rank-" radical="0-{ranks - 1}" suffix="" speed="1Gf"\n'
        f'    bw="{network.bandwidth!r}Bps" lat="{network.latency / 2!r}s"'
        ' sharing_policy="SPLITDUPLEX"/>'
    )


def _links(network: Topology, ranks: int) -> str:
    """One host for each rank, and our route for every pair.

    Links are ours, each direction a link of its own. The first and the last of a route carry half
    of the base latency each, those between switches a hop's.
    """
    paths = {
        (source, dest): network.path(source, dest)
        for source in range(ranks)
        for dest in range(ranks)
        if source != dest
    }
    ends = {path[0] for path in paths.values()} | {path[-1] for path in paths.values()}
    capacities = network.capacities()
    lines = ['  <zone id="network" routing="Full">']
    lines += [f'    <host id="rank-{rank}" speed="1Gf"/>' for rank in range(ranks)]
    for link in sorted({link for path in paths.values() for link in path}):
        latency = network.base_latency / 2 if link in ends else network.hop_latency
        if link < 2 * network.most_ranks:  # inside a node
            latency = network.latency(0, 0) / 2
        lines.append(
            f'    <link id="{link}" bandwidth="{float(capacities[link])!r}Bps"'
            f' latency="{latency!r}s" sharing_policy="SHARED"/>'
        )
    for (source, dest), path in paths.items():
        crossed = "".join(f'<link_ctn id="{link}"/>' for link in path)
        lines.append(
            f'    <route src="rank-{source}" dst="rank-{dest}" symmetrical="NO">{crossed}</route>'
        )
    return "\n".join([*lines, "  </zone>"])
