"""What passes the port of a parameter server, and how long a step takes because of it.

Let there be P workers, S servers and n bytes of weights. Each clock brings every server P updates
of n/S bytes and sends P answers of as many: its port is busy for P n/S / bandwidth, first inwards,
then outwards. In a ring each port takes in 2 (P-1)/P n: so one server takes in P/2 times as much.
Li et al., "Scaling distributed machine learning with the parameter server", OSDI 2014; Patarasuk
and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.
What to look at: every number here is in the ledger, to the byte.
"""

from ddl_teach.theory.machine import Link

REQUEST = 24  # bytes: what is asked for, a version, a length
ANSWER = 16  # bytes: a version and a clock, in front of the weights


def server_ingress(workers: int, nbytes: float, servers: int = 1) -> float:
    """Bytes that come in at one of the servers in a clock: from each worker a push and a pull."""
    return workers * (nbytes / servers + 2 * REQUEST)


def ring_ingress(ranks: int, nbytes: float) -> float:
    """Bytes that come in at any rank of a ring in a step."""
    return 2 * (ranks - 1) / ranks * nbytes


def server_step(workers: int, nbytes: float, link: Link, servers: int = 1) -> float:
    """Seconds from the moment when all workers push until the last of them has new weights.

    The updates pass a server's port one after the other, then the answers do; where there are more
    servers than workers, a worker's own port is the narrow one.
    """
    busiest = max(workers / servers, 1) * 2 * nbytes
    return 2 * link.latency + (busiest + workers * (2 * REQUEST + ANSWER)) * link.per_byte
