"""What no algorithm can beat: lower bounds on latency, on bytes and on combining.

*Latency.* No rank has another rank's data before L. Let a rank wait for one message before it
starts the next. In each L the number of ranks whose data it has can at most double. That takes
ceil(log2 P) L, the `stepwise` bound of the textbooks. `linear`, whose messages overlap on the
wire, undercuts it.

*Bytes.* Some port must pass, in multiples of n: 2 (P-1)/P for an all-reduce, as every element
needs P-1 messages to be summed and P-1 to be spread; (P-1)/P where each rank must receive or send
all but its own block; 1 where some rank must receive a whole vector.

*Combining.* P vectors become one by P-1 additions of n bytes; one of P ranks does 1/P of them.

Chan, Heimlich, Purkayastha & van de Geijn, CCPE 19(13), 2007; Patarasuk & Yuan, JPDC 69(2), 2009.
"""

from ddl_runtime.core.checks import one_of
from ddl_teach.theory.inputs import Bytes, Seconds, ceil_log2, checked, larger
from ddl_teach.theory.machine import Link

PORT_VOLUME = {
    "allreduce": (2, 2), "reduce_scatter": (1, 1), "allgather": (1, 1), "alltoall": (1, 1),
    "gather": (1, 1), "scatter": (1, 1), "broadcast": (1, 0), "reduce": (1, 0), "scan": (1, 0),
    "barrier": (0, 0),
}  # fmt: skip
"""Per operation (a, b): some port must carry (a - b/P) n bytes."""

COMBINING = frozenset({"allreduce", "reduce_scatter", "reduce", "scan"})
"""The operations that add vectors up."""


def lower_bound(
    operation: str, ranks: int, nbytes: Bytes, link: Link, *, stepwise: bool = False
) -> Seconds:
    """max(latencies, L + max(bytes, combining)): a rank may combine one piece while the next
    arrives. No algorithm is known that meets it at all sizes."""
    one_of(operation, "operation with a bound", PORT_VOLUME)
    n, (whole, kept) = checked(ranks, nbytes), PORT_VOLUME[operation]
    if ranks == 1:
        return 0.0 * n
    moving = (whole - kept / ranks) * n * link.per_byte
    combining = (operation in COMBINING) * (ranks - 1) / ranks * n * link.per_byte_reduced
    latencies = (ceil_log2(ranks) if stepwise else 1) * link.latency
    return larger(latencies, link.latency + larger(moving, combining))


def bus_bandwidth(operation: str, ranks: int, nbytes: Bytes, seconds: Seconds) -> Seconds:
    """Bytes a second that must have gone through the busiest port, if no more went than must.

    So nccl-tests prints it beside nbytes / seconds: whatever the number of ranks, it can be held
    against what a link carries. `nbytes` is the whole vector's.
    """
    n, (whole, kept) = checked(ranks, nbytes), PORT_VOLUME[operation]
    return (whole - kept / ranks) * n / seconds
