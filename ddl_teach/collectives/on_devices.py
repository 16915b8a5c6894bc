"""All-reduce of arrays on devices by the table of decisions: copy once, in steps, or NCCL.

    comm.device_table = {"message": ..., "allreduce": (Reach(0, "once"), Reach(1 << 24, "steps"))}

"once" is `staged_once`; "steps" is a ring whose messages go as the table says of "message", each
at its own size n/P; "nccl" is `nccl`. The table is the communicator's, else the one that was
measured on the device. One that says nothing of "allreduce" means steps.
Cost: `theory.staging.allreduce_once` and `allreduce_in_steps`. Where they cross is measured:
`python -m benchmarks.device_messages` makes the table (Thakur, Rabenseifner & Gropp 2005).
What to look at: the ledger, whose messages are "host" after copying once.
"""

from ddl_runtime.core.arrays import Array, Operation, describe
from ddl_runtime.devices import device_of
from ddl_runtime.devices.choice import chosen
from ddl_teach.collectives import nccl, ring, staged_once
from ddl_teach.comm import Comm

ONCE, STEPS, NCCL = "once", "steps", "nccl"
WAYS = {ONCE: staged_once.allreduce, STEPS: ring.allreduce, NCCL: nccl.allreduce}


def allreduce(comm: Comm, x: Array, op: Operation = "sum") -> None:
    """Combine the `x` of all ranks, in place; in host memory it is the ring."""
    device, path = device_of(x), STEPS
    if device is not None:
        table = comm.device_table or device.table or {}
        if "allreduce" in table:
            path = chosen(table, "allreduce", describe(x)[0]).path
    if path not in WAYS:
        raise ValueError(
            f'device_table: "allreduce" must be {ONCE!r}, {STEPS!r} or {NCCL!r}, not {path!r}; '
            'the paths of the messages of its steps stand under "message"'
        )
    WAYS[path](comm, x, op)
