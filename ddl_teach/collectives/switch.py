"""An all-reduce that a switch adds up: the last rank is the switch, and has no vector of its own.

Cost: 2 latency + (1 + 1/K) n per_byte with K pieces that take longer than a latency. A host sends
n bytes and receives n, where a ring of P ranks sends and receives 2 (P-1)/P n. No bound is broken:
that bound counts the bytes of ranks that must add by themselves.
Graham et al., "Scalable hierarchical aggregation protocol (SHArP): a hardware architecture for
efficient data reduction", COMHPC 2016.
What to look at: the network needs a cable from each host to the switch, as in `star`.
"""

from ddl_runtime.core.arrays import Array, Operation, copy_into, empty_like, split_evenly
from ddl_runtime.topologies.direct_links import DirectLinks
from ddl_teach.comm import Comm, collective


def star(hosts: int, latency: float, bandwidth: float) -> DirectLinks:
    """Hosts 0, 1, ... with a cable each to the switch, which is the rank after them."""
    cables = tuple((host, hosts, 1) for host in range(hosts))
    return DirectLinks(cables, base_latency=latency, bandwidth=bandwidth)


@collective
def allreduce(comm: Comm, x: Array, op: Operation = "sum", pieces: int = 16) -> None:
    """Combine the `x` of all hosts, in place. The `x` of the last rank, the switch, is ignored."""
    hosts = range(comm.size - 1)
    requests = []
    parts = split_evenly(x, pieces)
    if comm.rank in hosts:
        totals = split_evenly(empty_like(x), pieces)
        requests = [comm.irecv(total, comm.size - 1) for total in totals]
        for part in parts:
            comm.send(part, comm.size - 1)  # one after another, so that the first arrives early
        for part, total, request in zip(parts, totals, requests, strict=True):
            request.wait()
            copy_into(part, total)
        return
    for part in parts:
        arriving = [empty_like(part) for _ in hosts]
        waiting = [comm.irecv(room, host) for host, room in zip(hosts, arriving, strict=True)]
        for host, request in enumerate(waiting):
            request.wait()
            if host:
                comm.combine(arriving[0], arriving[host], out=arriving[0], op=op)
        requests += [comm.isend(arriving[0], host) for host in hosts]
    for request in requests:
        request.wait()
