"""Message-driven: no order at all. A rank runs whatever has arrived, up to a limit in flight.

Rank 0 lets in a micro-batch whenever fewer than `in_flight` are on their way; every other rank
does what its neighbours send it, first come, first served. Cost: the round trip of a micro-batch
is P (F + B) + 2 (P-1) L with latency L. A limit of k lets k of them through in that time, but at
most one in F + B. So it takes the naive way's time for k = 1, and GPipe's or a little more from k
= P on; a limit above P pays where messages take long. It keeps the activations of at most k
micro-batches: on most ranks more than 1F1B with as many in flight, which takes about the same
time. Singh and Bhatele, "AxoNN", 2022 (their limit is P unless told otherwise).
What to look at: the order that came out, in `Passed.computed`.
"""

from ddl_runtime.core.checks import whole_number
from ddl_teach.networks.pipelines.instructions import ApplyUpdate, RunArrived
from ddl_teach.networks.pipelines.schedule import Schedule, in_a_row


def message_driven(ranks: int, micro_batches: int, in_flight: int | None = None) -> Schedule:
    """The schedule in which a rank runs the work that has arrived, with at most `in_flight`
    micro-batches at once, or one for each rank."""
    limit = whole_number(ranks if in_flight is None else in_flight, "in_flight", 1)
    orders = tuple((RunArrived(rank, limit), ApplyUpdate()) for rank in range(ranks))
    return Schedule("message-driven", micro_batches, in_a_row(ranks), orders)
