"""All-reduce of arrays on devices by the table of decisions: copy once, or stage every step.

    comm.device_table = {"message": ..., "allreduce": (Reach(0, "once"), Reach(1 << 24, "steps"))}

"once" is `staged_once`; "steps" is a ring whose messages each take the path that the table says of
"message", at their own size n/P. A table that says nothing of "allreduce" means steps.
Cost: `theory.staging.allreduce_once` and `allreduce_in_steps`. Where they cross is measured:
`python -m benchmarks.device_messages` makes the table (Thakur, Rabenseifner & Gropp 2005).
What to look at: the ledger, whose messages are "host" after copying once.
"""

from ddl_runtime.core.arrays import Array, Operation, describe
from ddl_runtime.devices import device_of
from ddl_runtime.devices.choice import chosen
from ddl_teach.collectives import ring, staged_once
from ddl_teach.comm import Comm, collective

ONCE, STEPS = "once", "steps"


@collective
def allreduce(comm: Comm, x: Array, op: Operation = "sum") -> None:
    """Combine the `x` of all ranks, in place; in host memory there is nothing to choose."""
    table = comm.device_table or {}
    path = STEPS
    if device_of(x) is not None and "allreduce" in table:
        path = chosen(table, "allreduce", describe(x)[0]).path
    if path not in (ONCE, STEPS):
        raise ValueError(
            f'device_table: "allreduce" goes {ONCE!r} or in {STEPS!r}, not {path!r}; the paths of '
            'the messages of its steps stand under "message"'
        )
    (staged_once if path == ONCE else ring).allreduce(comm, x, op)
