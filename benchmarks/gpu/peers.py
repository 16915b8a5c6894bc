"""Counterparts of our messages: the MPI library's own all-reduce, torch's gloo, NCCL.

Each takes turns with ours on arrays in the same memory, if it will: what refuses is told with its
reason in the run's provenance, and never left out in silence. NCCL refuses two ranks on one GPU
(its ranks are GPUs), and without a GPU there is no NCCL. The MPI library's own all-reduce goes by
the host (`collectives.native` says why). Where there is no GPU, torch's peers play in host memory.
What to look at: MPI can win point-to-point where NCCL wins the all-reduce.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.gpu import first_line
from ddl_measure.device_messages import (
    ALLREDUCE,
    IN_HOST_MEMORY,
    LATENCY,
    SHORT,
    TURNS,
    ArrayHome,
    Peer,
)
from ddl_measure.device_run import GPU, TransferPath
from ddl_teach import Comm
from ddl_teach.collectives import native

TRIAL = np.ones(256, np.float32)
GLOO_SENDS = "gloo has no send and recv for tensors on a GPU (torch's table of backends)"


def peers_of(comm: Comm, place: ArrayHome, device: str, folder: str) -> tuple[list[Peer], dict]:
    """Those that play here, and why the others do not; all ranks ask together."""
    import torch
    from torch import distributed

    if not distributed.is_initialized():
        store = distributed.FileStore(f"{folder}/peers", comm.size)
        distributed.init_process_group("gloo", store=store, rank=comm.rank, world_size=comm.size)
    where = place if device == GPU else IN_HOST_MEMORY
    tensor = (lambda x: x) if device == GPU else torch.from_numpy
    found = [Peer(ALLREDUCE, TransferPath("native"), place, partial(_native, comm))]
    notes = {}
    for name in ("gloo", "NCCL"):
        refused = _nccl_refuses(comm, device) if name == "NCCL" else ""
        group = None if refused else distributed.new_group(backend=name.lower())
        for test, play in (
            (ALLREDUCE, partial(_reduce, tensor, group)),
            (LATENCY, partial(_to_and_fro, comm, tensor, group)),
        ):
            alone = device == GPU and (name, test) == ("gloo", LATENCY)
            why = refused or (GLOO_SENDS if alone else _tried(where, play))
            if why:
                notes[f"{name}, {test}"] = f"not measured: {why}"
            else:
                found.append(Peer(test, TransferPath(name), where, play))
    return found, notes


def _nccl_refuses(comm: Comm, device: str) -> str:
    import torch

    if device != GPU:
        return "NCCL needs GPUs, and there is none"
    if not torch.distributed.is_nccl_available():
        return "this torch is built without NCCL"
    if torch.cuda.device_count() < comm.size:
        return (
            f"{comm.size} ranks share {torch.cuda.device_count()} GPU(s), and NCCL refuses two "
            "ranks on one"
        )
    return ""


def _tried(place: ArrayHome, play: Callable[[Any, Any], None]) -> str:
    """Once before anything is timed: who cannot says so here, on every rank alike."""
    try:
        play(place.make(TRIAL), place.make(TRIAL))
        place.settle()
    except (RuntimeError, ValueError, NotImplementedError) as error:
        return first_line(error)
    return ""


def _native(comm: Comm, x: Any, _: Any) -> None:
    native.allreduce(comm, x, "max")


def _reduce(tensor: Callable[[Any], Any], group: Any, x: Any, _: Any) -> None:
    from torch import distributed

    distributed.all_reduce(tensor(x), op=distributed.ReduceOp.MAX, group=group)


def _to_and_fro(comm: Comm, tensor: Callable[[Any], Any], group: Any, x: Any, _: Any) -> None:
    """As many turns as `measure.ping_pong.play` plays in the same test."""
    from torch import distributed

    if comm.rank > 1:
        return
    ball, other = tensor(x), 1 - comm.rank
    for _ in range(TURNS if x.nbytes <= SHORT else 1):
        for sender in (0, 1):
            if comm.rank == sender:
                distributed.send(ball, other, group=group)
            else:
                distributed.recv(ball, other, group=group)
