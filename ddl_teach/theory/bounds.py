"""What no algorithm can beat: lower bounds on latency, on bytes and on combining.

*Latency.* Nobody knows another rank's data before L. In LogGP messages overlap on the wire, so L
is all one can say: a rank may send to everybody at once. Algorithms in which a rank waits for one
message before it starts the next (tree, ring, recursive doubling, Rabenseifner) at most double in
each L what a rank knows, hence ceil(log2 P) L: the `stepwise` bound of the textbooks. `linear`
undercuts it for tiny vectors.

*Bytes.* Through some port must pass, in multiples of n: 2 (P-1)/P for an all-reduce (every element
needs P-1 messages to be summed and P-1 to be spread), (P-1)/P where each rank must receive or send
all but its own block, 1 where some rank must receive a whole vector. Nothing comes in before L,
and what goes out last arrives L later, so this adds to one latency.

*Combining.* P vectors become one by P-1 additions of n bytes; one of P ranks does 1/P of them.

Chan, Heimlich, Purkayastha & van de Geijn, CCPE 19(13), 2007; Patarasuk & Yuan, JPDC 69(2), 2009.
"""

from ddl_teach.theory.inputs import Bytes, Seconds, ceil_log2, checked, larger

PORT_VOLUME = {
    "allreduce": (2, 2), "reduce_scatter": (1, 1), "allgather": (1, 1), "alltoall": (1, 1),
    "gather": (1, 1), "scatter": (1, 1), "broadcast": (1, 0), "reduce": (1, 0), "scan": (1, 0),
    "barrier": (0, 0),
}  # fmt: skip
"""Per operation (a, b): some port must carry (a - b/P) n bytes."""

COMBINING = frozenset({"allreduce", "reduce_scatter", "reduce", "scan"})
"""The operations that add vectors up."""


def latency_bound(
    operation: str, ranks: int, latency: float, *, stepwise: bool = False
) -> Seconds:
    """L, or ceil(log2 P) L for algorithms that wait for one message before starting the next."""
    _known(operation)
    checked(ranks, 0.0, latency=latency)
    if ranks == 1:
        return 0.0
    return (ceil_log2(ranks) if stepwise else 1) * latency


def bandwidth_bound(operation: str, ranks: int, nbytes: Bytes, per_byte: float) -> Seconds:
    """The time the busiest port needs for the bytes that must pass through it."""
    whole, kept = PORT_VOLUME[_known(operation)]
    size = checked(ranks, nbytes, per_byte=per_byte)
    return 0.0 * size if ranks == 1 else (whole - kept / ranks) * size * per_byte


def combining_bound(operation: str, ranks: int, nbytes: Bytes, per_byte_reduced: float) -> Seconds:
    """The time of the busiest rank when P-1 additions are spread evenly over P ranks."""
    size = checked(ranks, nbytes, per_byte_reduced=per_byte_reduced)
    share = (ranks - 1) / ranks if _known(operation) in COMBINING else 0.0
    return share * size * per_byte_reduced


def lower_bound(
    operation: str,
    ranks: int,
    nbytes: Bytes,
    latency: float,
    per_byte: float,
    *,
    per_byte_reduced: float = 0.0,
    stepwise: bool = False,
) -> Seconds:
    """The largest of what can be proven: max(latency, L + bytes, L + combining).

    Bytes and combining are not added up, because a rank may combine one piece while the next
    arrives. No algorithm is known that meets the latency and the bandwidth bound at all sizes.
    """
    moving = bandwidth_bound(operation, ranks, nbytes, per_byte)
    combining = combining_bound(operation, ranks, nbytes, per_byte_reduced)
    busiest = latency_bound(operation, ranks, latency) + larger(moving, combining)
    return larger(latency_bound(operation, ranks, latency, stepwise=stepwise), busiest)


def _known(operation: str) -> str:
    if operation not in PORT_VOLUME:
        raise ValueError(f"no bound for {operation!r}; there is one for {', '.join(PORT_VOLUME)}")
    return operation
