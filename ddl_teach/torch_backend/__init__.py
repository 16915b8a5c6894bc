"""torch.distributed on our ranks, simulated and real: a backend for programs of torch's.

    import torch.distributed as dist
    from ddl_teach import simulate, torch_backend

    def program(comm):
        dist.init_process_group("ddl_teach", rank=comm.rank, world_size=comm.size)
        torch_backend.use(allreduce="rabenseifner")       # or a function of your own
        model = DistributedDataParallel(model)            # and so on, as everywhere
        ...
        dist.destroy_process_group()

    run = simulate(program, 8, threads=True)              # or launch(program, 4), or join

Each call of torch's process groups goes over the rank's communicator: so programs of torch's have
virtual time, a ledger, a timeline, and explanations when they hang.

    internals     torch's private names
    algorithms    which algorithm carries out which collective
    work          what torch waits for
    group         a process group, in torch's words
    compute_time  how long a simulated rank computes
    memory        what tensors hold
    streams       what FSDP2 waits on
    sizes         tensors without data, faster than torch has them
    script        a script as torchrun takes it (`ddl-teach run train.py --torch`)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from ddl_runtime.core.running import running_comm
from ddl_teach.comm import Comm
from ddl_teach.theory.machine import Roofline
from ddl_teach.torch_backend import internals, sizes, streams
from ddl_teach.torch_backend.algorithms import Collectives
from ddl_teach.torch_backend.compute_time import Computing
from ddl_teach.torch_backend.group import RankGroup
from ddl_teach.torch_backend.internals import NAME
from ddl_teach.torch_backend.memory import TensorMemory

__all__ = [
    "NAME", "Computing", "RankGroup", "Roofline", "TensorMemory", "computing", "count_memory",
    "use",
]  # fmt: skip


def use(**algorithms: str | Callable[..., Any]) -> None:
    """Which algorithms carry out this rank's collectives from now on: `use(allreduce="tree")`, or
    a function of your own, called as those of `ddl_teach.collectives` are.

    The names are allreduce, reduce_scatter, allgather, broadcast, reduce, gather, scatter,
    alltoall and barrier. All ranks must use the same.
    """
    _collectives_of(_running()).choose(algorithms)


def computing(how: Roofline | str) -> Computing:
    """`with computing(Roofline(flops=1e14, bandwidth=1e12)):` operations take virtual time."""
    return Computing(_running(), how)


def count_memory(*modules: torch.nn.Module) -> TensorMemory:
    """`with count_memory(model):` the rank holds what its tensors do, the weights and what
    operations make (`Run.memory`). Fake tensors count as true ones."""
    return TensorMemory(_running(), modules)


def _running() -> Comm:
    comm = running_comm()
    if comm is None:
        raise RuntimeError(
            "the backend ddl_teach works inside a rank program only: "
            "simulate(program, ranks, threads=True), launch(program, ranks) or join(program)"
        )
    return comm


def _collectives_of(comm: Comm) -> Collectives:
    collectives: Collectives = comm.attributes.setdefault(Collectives, Collectives())
    return collectives


def _create(store: Any, rank: int, size: int, timeout: Any) -> RankGroup:
    """The group of all ranks, as torch asks for it."""
    comm = _running()
    if not comm.own_thread:
        raise RuntimeError(
            "these simulated ranks share one thread, and torch.distributed keeps things for each "
            "thread: use simulate(..., threads=True)"
        )
    if (rank, size) != (comm.rank, comm.size):
        raise ValueError(
            f"init_process_group was given rank {rank} of {size}, but this is rank {comm.rank} "
            f"of {comm.size}: pass rank=comm.rank, world_size=comm.size, or neither"
        )
    return RankGroup(comm, _collectives_of(comm))


internals.check_version()
internals.install()
streams.install()
sizes.install()
dist.Backend.register_backend(NAME, _create, devices=["cpu"])
