"""All-reduce of arrays on devices with one copy each way: out, summed by the hosts, and in again.

Cost: n bytes copied out, an all-reduce of host memory, n bytes copied in, one after another. A
ring that stages every message copies 2 (P-1)/P n bytes each way, but while messages travel. The
device then makes the sums (`theory.staging`).
What to look at: it wins for middling sizes, where copies pay for their starts.
"""

from collections.abc import Callable

from ddl_runtime.core.arrays import Array, Operation, describe, on_host
from ddl_runtime.devices import device_of
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm, collective

AllReduce = Callable[[Comm, Array, Operation], None]


@collective
def allreduce(
    comm: Comm, x: Array, op: Operation = "sum", between: AllReduce = ring.allreduce
) -> None:
    """Combine the `x` of all ranks, in place, by `between` on copies in host memory. An `x` that
    is in host memory already is not copied."""
    with on_host(x) as host:
        _pass_the_link(comm, x, "copy out")
        between(comm, host, op)
        _pass_the_link(comm, x, "copy in")


def _pass_the_link(comm: Comm, x: Array, what: str) -> None:
    """Let a simulated rank wait as long as a copy takes; on real ranks the copy itself took that
    time."""
    if comm.host_link is not None and device_of(x) is not None:
        with comm.span(what, kind=what):
            comm.work(seconds=comm.host_link.seconds(describe(x)[0]))
